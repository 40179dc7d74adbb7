//go:build linux

package cases

import (
	"cmp"
	"slices"
	"testing"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// sharing are the surroundings that divide the static cases among them in the ordinary run.
var sharing = []string{"tmpfs", "overlayfs", "xfs", "btrfs", "ext4-casefold", "openat2-EPERM", "user", "no-proc", "confined"}

// part is what one of them gets: which cases, and the era in which they are put.
type part struct {
	name  string
	cases []attack // that are divided, those of one operation in a row
}

// shared is the part of that name.
func shared(t *testing.T, name string) *part {
	t.Helper()
	if !slices.Contains(sharing, name) {
		t.Fatalf("%s is not among those that share", name)
	}
	var cases []attack
	for _, a := range attacks(t) {
		if quiet(a) {
			cases = append(cases, a)
		}
	}
	slices.SortStableFunc(cases, func(a, b attack) int { return cmp.Compare(a.Operation, b.Operation) })
	return &part{name, cases}
}

// takes deals the cases out in turn and the eras turn about, so that each of those that share gets cases of every
// operation that has enough of them, and cases in both eras. What cannot be confined goes to the next.
func (p *part) takes(a attack) (version string, ok bool) {
	i := slices.IndexFunc(p.cases, func(b attack) bool { return b.ID == a.ID })
	if i < 0 {
		return "", false
	}
	to := sharing[i%len(sharing)]
	if to == "confined" && !confinable(a) {
		to = sharing[(i+1)%len(sharing)]
	}
	return [...]string{rawmcp.Legacy, rawmcp.Modern}[i%2], to == p.name
}

// TestOrdinaryRunCoversEachPair: the parts of the ordinary run hold every static case once, and pair each of the surroundings
// with both eras and with each operation that has cases enough to go round.
func TestOrdinaryRunCoversEachPair(t *testing.T) {
	of, operations := map[string]int{}, map[string]int{}
	pairs := map[[2]string]int{}
	for _, name := range sharing {
		p := shared(t, name)
		for _, a := range p.cases {
			if name == sharing[0] {
				operations[a.Operation]++
			}
			version, ok := p.takes(a)
			if !ok {
				continue
			}
			if of[a.ID]++; name == "confined" && !confinable(a) {
				t.Errorf("%s cannot be confined", a.ID)
			}
			pairs[[2]string{name, version}]++
			pairs[[2]string{name, a.Operation}]++
		}
	}
	for _, a := range attacks(t) {
		if want := map[bool]int{true: 1}[quiet(a)]; of[a.ID] != want {
			t.Errorf("%s is in %d parts, want %d", a.ID, of[a.ID], want)
		}
	}
	for _, name := range sharing {
		for _, version := range []string{rawmcp.Legacy, rawmcp.Modern} {
			if n := pairs[[2]string{name, version}]; n < 5 {
				t.Errorf("%s speaks %s in %d cases", name, version, n)
			}
		}
		for op, n := range operations {
			if n > len(sharing) && (name != "confined" || op != "search") && pairs[[2]string{name, op}] == 0 {
				t.Errorf("%s has no case of %s, of %d", name, op, n)
			}
		}
	}
}
