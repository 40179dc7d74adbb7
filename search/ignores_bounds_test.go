package search

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/search/ignore"
)

// everywhere makes a chain of directories that all hold one ignore file, and gives the path of the last one.
func everywhere(t *testing.T, top string, levels int, name, text string) string {
	t.Helper()
	one := filepath.Join(t.TempDir(), "one")
	if err := os.WriteFile(one, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	rel := ""
	for range levels {
		if err := os.MkdirAll(filepath.Join(top, rel), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(one, filepath.Join(top, rel, name)); err != nil {
			t.Fatal(err)
		}
		rel = join(rel, "d")
	}
	last := strings.TrimSuffix(rel, "/d")
	put(t, filepath.Join(top, last, "f"), filepath.Join(top, last, "left"))
	return last
}

// heap is how much of it is in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestIgnoresHoldLittle: what hostile ignore files take is bounded by more than the number of their rules, in all directories
// together that lead to one. Those that go beyond do not count, and are told.
func TestIgnoresHoldLittle(t *testing.T) {
	fill := func(piece string, size int) string { return "left\n" + strings.Repeat(piece, size/len(piece)) }
	for name, c := range map[string]struct {
		text   string
		levels int
		counts bool // the first of them
	}{
		"comments":  {fill("#", ignore.MaxFile-10), 12, true},
		"wildcards": {fill("?", ignore.MaxFile-10), 4, false},
		"classes":   {fill("[ab]", ignore.MaxFile-10), 4, false},
		"stars":     {fill("*a", ignore.MaxFile-10), 4, false},
		"no rule":   {fill("?", ignore.MaxFile-10) + "[", 4, false},
		"long":      {fill("x", ignore.MaxFile-10), 12, true},
		"some":      {fill("?", 20_000), 12, true},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			last := everywhere(t, top, c.levels, ".gitignore", c.text)
			for from, above := range map[string]Above{"": nil, last: holder{t, top, last}} {
				before := heap()
				x, err := NewIgnores(context.Background(), above)
				if err != nil {
					t.Fatal(err)
				}
				shown, held := false, int64(0)
				err = open(t, top, from).Tour(context.Background(), x.Course(beneath.Course{Visit: func(n *beneath.Node) (beneath.Step, error) {
					if n.Name() == "f" {
						held = heap() - before
					}
					shown = shown || n.Name() == "left"
					return beneath.Into, nil
				}}))
				if err != nil || held == 0 {
					t.Fatalf("%v", err)
				}
				// what is read into, and a text that is being looked at, come on top
				if held > ignore.MaxHeld+4*ignore.MaxFile {
					t.Errorf("from %q: %d KiB are held", from, held>>10)
				}
				if shown == c.counts {
					t.Errorf("from %q: the first file counts: %v, want %v", from, !shown, c.counts)
				}
				if n := x.Unread().Count; n == 0 || n > c.levels {
					t.Errorf("from %q: %d of %d files are told", from, n, c.levels)
				}
			}
		})
	}
}

// TestIgnoresAboveAreBounded: however many files lie above, the walk begins when MaxAbove of them were read.
func TestIgnoresAboveAreBounded(t *testing.T) {
	top := t.TempDir()
	levels := 3 * MaxAbove / ignore.MaxFile
	last := everywhere(t, top, levels, ".ignore", "left\n"+strings.Repeat("#", ignore.MaxFile-5))
	x, err := NewIgnores(context.Background(), holder{t, top, last})
	if err != nil {
		t.Fatal(err)
	}
	if x.Read() > MaxAbove {
		t.Errorf("%d MiB were read", x.Read()>>20)
	}
	if x.above == nil || x.Unread().Count < levels*2/3-1 {
		t.Errorf("the first counts: %v; %+v", x.above != nil, x.Unread())
	}
	// the directory itself is not above
	if got, unread := kept(t, top, strings.TrimSuffix(last, "/d")); len(got) != 3 || unread.Count < levels*2/3-1 {
		t.Errorf("%q, %+v", got, unread)
	}
}

// endless is a place so deep that its search is asked to end on the way down to it.
type endless struct {
	holder
	visited func()
}

func (e endless) Above(visit func(string, func(string) (*beneath.Object, error)) error) (string, error) {
	return e.holder.Above(func(dir string, open func(string) (*beneath.Object, error)) error {
		e.visited()
		return visit(dir, open)
	})
}

// TestIgnoresAboveEndWhenAsked: a search that is cancelled opens no further file above the directory that it was for.
func TestIgnoresAboveEndWhenAsked(t *testing.T) {
	top := t.TempDir()
	last := everywhere(t, top, 20, ".ignore", "left\n")
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	x, err := NewIgnores(ctx, endless{holder{t, top, last}, func() {
		if n++; n == 5 {
			cancel()
		}
	}})
	if rootbound.ReasonOf(err) != rootbound.Cancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n != 5 || x.Read() != 4*int64(len("left\n")) {
		t.Errorf("%d directories, %d bytes", n, x.Read())
	}
}
