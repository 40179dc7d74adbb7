package glob

// Bounds of all patterns of one list, braces written out. With them a list is compiled in milliseconds, and one path asked of it
// costs no more than some ten.
const (
	maxExpansions = 1000
	maxExpanded   = 256 << 10 // bytes
	maxParts      = 8 << 10   // names of paths, and what names with more than one "*" or a class consist of
	maxReading    = 8 << 20   // bytes looked at while braces and classes are looked for
)

// budget is what the patterns of one list may still take.
type budget struct {
	expansions, bytes, parts, reading int
	over                              bool
}

// newBudget gives the budget of a list of which each pattern stands for so many.
func newBudget(forms int) *budget {
	return &budget{expansions: forms * maxExpansions, bytes: forms * maxExpanded, parts: forms * maxParts, reading: forms * maxReading}
}

func (b *budget) take(left *int, n int) bool {
	if *left -= n; *left < 0 {
		b.over = true
	}
	return !b.over
}

func (b *budget) read(n int) bool { return b.take(&b.reading, n) }
