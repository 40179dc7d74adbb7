package ignore

// Bounds of what the patterns of one walk may take beyond those of a question.
const (
	Free   = 1 << 12 // steps of one file for one entry that are not counted: a thousand patterns of the usual kind
	Asked  = 1 << 15 // steps of all such files for one entry: a deep tree may have one in each directory
	Walked = 1 << 26 // steps of a walk that are: well below a second
)

// Purse bounds what the patterns of hostile files take of one walk. When it is empty, a file that would take more than Free
// of it counts no longer, so that the entries it leaves out rather show; so does one that would take more than what Asked leaves of an
// entry, and a file that takes all of Steps for one. Not safe for concurrent use. Nil has no bound.
type Purse struct {
	left int
	out  map[*List]bool
	tell func(dir, file string)
}

// NewPurse gives a full one. tell is told of each file that counts no longer: its directory, and Own or Git.
func NewPurse(tell func(dir, file string)) *Purse { return &Purse{left: Walked, tell: tell} }

// without reports that l counts no longer.
func (p *Purse) without(l *List) bool { return p != nil && len(p.out) > 0 && p.out[l] }

// may is how many steps one file may take, of a question that has so many left; in a walk each file has its own.
func (p *Purse) may(left int) int {
	switch {
	case p == nil:
		return left
	case p.left <= 0:
		return Free
	}
	return Steps
}

// pay takes what l used for an entry, all of what it might if short; false if it counts no longer.
func (p *Purse) pay(l *List, e *entry, used int, short bool, dir, file string) bool {
	if p == nil {
		return true
	}
	if !short && used <= Free && e.free+used <= Asked {
		e.free += used
		return true
	}
	p.left -= used
	if !short && p.left > 0 {
		return true
	}
	if p.out == nil {
		p.out = map[*List]bool{}
	}
	p.out[l] = true
	p.tell(dir, file)
	return false
}
