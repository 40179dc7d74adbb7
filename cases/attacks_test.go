//go:build linux

package cases

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// attack is one case of attacks.yaml.
type attack struct {
	ID         string           `yaml:"id"`
	Kind       string           `yaml:"kind"`
	Operation  string           `yaml:"operation"`
	Path       string           `yaml:"path"`
	Want       string           `yaml:"want"`
	API        string           `yaml:"api"`
	Why        string           `yaml:"why"`
	Source     string           `yaml:"source"`
	AppliesTo  []string         `yaml:"applies_to"`
	NeedsRoot  bool             `yaml:"needs_root"`
	Setup      [][]any          `yaml:"setup"`
	Args       map[string]any   `yaml:"args"`
	Roots      []string         `yaml:"roots"`
	Policy     policy           `yaml:"policy"`
	LimitMS    int              `yaml:"limit_ms"`
	LoopMS     int              `yaml:"loop_ms"`
	ShowSecret bool             `yaml:"may_show_secret"`
	Tolerate   []string         `yaml:"tolerate"`
	After      []map[string]any `yaml:"after"`
}

type policy struct {
	Hardlinks string   `yaml:"hardlinks"`
	Mounts    string   `yaml:"mounts"`
	Deny      []string `yaml:"deny"`
}

// listed reads the list once.
var listed = sync.OnceValues(func() ([]attack, error) {
	raw, err := os.ReadFile("testdata/attacks.yaml")
	if err != nil {
		return nil, err
	}
	var list struct {
		Cases []attack `yaml:"cases"`
	}
	err = yaml.Unmarshal(raw, &list)
	return list.Cases, err
})

func attacks(t *testing.T) []attack {
	t.Helper()
	list, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 270 {
		t.Fatalf("only %d cases were read", len(list))
	}
	return list
}

// surroundings are the conditions a whole list is run under.
type surroundings struct {
	name    string
	dir     string // where worlds are made
	version string // protocol revision
	confine string // --confine; empty: off
	chown   int    // the world belongs to this user, as whom the server runs
	launch  launch // beyond what a case wants
	project bool   // the project form of the tools
	only    func(attack) bool
	part    *part // of the cases, in the ordinary run; nil: all
}

func TestAttacks(t *testing.T) {
	runAttacks(t, surroundings{name: "attacks", dir: base, version: rawmcp.Legacy})
}

// TestAttacksModern puts cases that need no client roots to the other era. In the ordinary run those that TestSuites puts
// to it on the walk are left to that.
func TestAttacksModern(t *testing.T) {
	runAttacks(t, surroundings{name: "attacks", dir: base, version: rawmcp.Modern, only: func(a attack) bool {
		return (a.Kind == "static" || a.Kind == "name") && (long() || !quiet(a))
	}})
}

// TestAttacksProject puts the same inputs to the project form of the tools. What that form does not take as a path has to
// be refused there, whatever the classic form makes of it. One guard judges both, so a few races are enough, and those
// of searches, which have no classic twin.
func TestAttacksProject(t *testing.T) {
	races := []string{"race-parent-read", "race-parent-create", "race-relink-dir", "race-parent-rename-source"}
	runAttacks(t, surroundings{name: "attacks", dir: base, version: rawmcp.Legacy, project: true, only: func(a attack) bool {
		return a.API != "absolute" && a.ID != "abslink-revoked-root" && (a.Kind == "static" || a.Kind == "name" || a.Operation == "search" || slices.Contains(races, a.ID))
	}})
}

// runAttacks runs quick cases side by side and races by twos: they need a core for the attacker.
func runAttacks(t *testing.T, s surroundings) {
	quick, races := make(chan struct{}, 4), make(chan struct{}, 2)
	for _, a := range attacks(t) {
		if s.only != nil && !s.only(a) {
			continue
		}
		s := s
		if s.part != nil && !long() {
			version, ok := s.part.takes(a)
			if !ok {
				continue
			}
			s.version = version
		}
		t.Run(a.ID, func(t *testing.T) {
			a.skipUnlessHere(t, s)
			t.Parallel()
			gate := quick
			if a.Kind == "race" {
				gate = races
			}
			gate <- struct{}{}
			defer func() { <-gate }()
			runAttack(t, a, s)
		})
	}
}

func (a attack) skipUnlessHere(t *testing.T, s surroundings) {
	name := s.name + "/" + a.ID
	switch {
	case !slices.Contains(a.AppliesTo, "linux"):
		skip(t, name, "not a case of this platform")
	case a.API == "relative" && !s.project:
		skip(t, name, "only the project form takes relative_path")
	case a.NeedsRoot && os.Getuid() != 0:
		skip(t, name, "needs administrator rights")
	}
	for _, st := range steps(a.Setup) {
		if st.name == "runtime" {
			skip(t, name, "only under "+st.str(0))
		}
	}
}

// run is one case under way.
type run struct {
	*world
	a     attack
	s     surroundings
	p     *product
	start start
	roots published
	loops []*loop
	calls []answered
	held  picture // outside, before
	all   picture // everything, before
	fds   map[string]int
	fdAll int
	rss   int64
	timed []step // done inside or beside each call
	each  []step // steps with $N
}

func runAttack(t *testing.T, a attack, s surroundings) {
	if s.project {
		a = a.inProject()
	}
	if a.hasStep("at-syscall", "each") && !a.undoable() {
		for at := 1; ; at++ {
			if n := oneAttack(t, a, s, at); at > n || t.Failed() {
				t.Logf("stopped before each of %d calls", n)
				return
			}
		}
	}
	oneAttack(t, a, s, 0)
}

func (a attack) hasStep(name, arg string) bool {
	return slices.ContainsFunc(steps(a.Setup), func(s step) bool { return s.name == name && (arg == "" || s.str(0) == arg) })
}

// undoable reports whether doing the timed step again takes it back, so that one server can be stopped at all positions.
func (a attack) undoable() bool {
	return slices.ContainsFunc(a.Setup, func(s []any) bool {
		nested, ok := s[len(s)-1].([]any)
		return ok && nested[0] == "exchange"
	})
}

// oneAttack makes the world, performs the case and judges it. at is the position for cases that stop before each call;
// the result is how many calls there were.
func oneAttack(t *testing.T, a attack, s surroundings, at int) int {
	name := a.ID
	if at > 0 {
		name = fmt.Sprintf("%s.%d", a.ID, at)
	}
	form := ""
	if s.project {
		form = "-project"
	}
	r := &run{world: newWorld(t, s.dir+"/"+s.name+"-"+s.version[:4]+form, name), a: a, s: s}
	defer r.close()
	r.prepare()
	for _, st := range steps(a.Setup) {
		if r.p == nil && st.live() {
			r.serve(at > 0)
		}
		if err := r.perform(st); err != nil {
			var no errNoEffect
			if errors.As(err, &no) {
				skip(t, s.name+"/"+a.ID, no.why)
			}
			t.Fatalf("setup %s %v: %v", st.name, st.args, err)
		}
		if t.Failed() {
			return 0
		}
	}
	if r.p == nil {
		r.serve(at > 0)
	}
	n := r.attack(at)
	r.judge()
	return n
}
