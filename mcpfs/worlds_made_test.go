//go:build unix

package mcpfs_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

func (p plot) build(t *testing.T, base string) {
	t.Helper()
	for _, at := range sortedKeys(p) {
		full := filepath.Join(base, at)
		switch what := p[at]; what[0] {
		case '/':
			must(t, os.MkdirAll(full, 0o755))
		case '=':
			must(t, os.WriteFile(full, []byte(what[1:]), 0o644))
		case '>':
			must(t, os.Symlink(strings.ReplaceAll(what[1:], "BASE", base), full))
		case '|':
			must(t, syscall.Mkfifo(full, 0o644))
		}
	}
}

var past = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (w *worlds) open(t *testing.T, i int, form mcpfs.Tools, sink decision.Sink, c clientOptions) (*live, string) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w.plots[i].build(t, base)
	must(t, filepath.WalkDir(base, func(p string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			err = os.Chtimes(p, past, past)
		}
		return err
	}))
	projects := slices.Clone(w.projects)
	for i := range projects {
		projects[i].Dir = filepath.Join(base, projects[i].Dir)
	}
	var own []guard.Own
	for _, o := range w.own {
		own = append(own, guard.Own{Path: filepath.Join(base, o)})
	}
	for _, d := range w.roots {
		c.roots = append(c.roots, uri(filepath.Join(base, d)))
	}
	l := start(t, serve.Options{Projects: projects, Tools: form, Sink: sink, Own: func() []guard.Own { return own }, Limits: mcpfs.Limits{List: 3, Hits: 2}}, c)
	return l, base
}

// draws are the pairs of worlds of a test: the seed of the first, how many, and the calls in each; and whether they are the
// ordinary ones, of which it is known what they meet.
type draws struct {
	seed          uint64
	worlds, calls int
	ordinary      bool
}

// drawing gives the ordinary form of a test the same worlds in every run, so that what it meets is certain, and the long one
// worlds that nobody has seen. RB_SEED="SEED WORLDS CALLS" shows some again.
func drawing(worlds, calls int) draws {
	d := draws{1, worlds, calls, true}
	if os.Getenv("RB_LONG") != "" {
		d = draws{seed: uint64(time.Now().UnixNano()), worlds: 200, calls: 300}
	}
	if s := os.Getenv("RB_SEED"); s != "" {
		d.ordinary = false
		fmt.Sscan(s, &d.seed, &d.worlds, &d.calls)
	}
	return d
}

// pair is two worlds and a server on each.
type pair struct {
	*worlds
	t        *testing.T
	r        *rand.Rand
	form     mcpfs.Tools
	revision string
	live     [2]*live
	base     [2]string
	audit    [2]*audit
}

// each draws the worlds, opens them in the i-th way and hands them to f. salt tells the draws of one test from another's.
func (d draws) each(t *testing.T, salt uint64, way func(i int) (mcpfs.Tools, string), f func(*pair)) {
	for i := range d.worlds {
		form, revision := way(i)
		seed := d.seed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := &pair{t: t, r: rand.New(rand.NewPCG(seed, salt)), form: form, revision: revision}
			p.worlds = newWorlds(p.r)
			for k := range p.live {
				p.audit[k] = newAudit(t)
				p.live[k], p.base[k] = p.open(t, k, form, p.audit[k].sink(), clientOptions{revision: revision})
			}
			f(p)
			if t.Failed() {
				p.show()
			}
		})
	}
}

// show logs how the worlds are and where they differ.
func (p *pair) show() {
	p.t.Helper()
	p.t.Logf("%+v roots %v", p.projects, p.roots)
	for _, at := range sortedKeys(p.plots[0], p.plots[1]) {
		x, y := p.plots[0][at], p.plots[1][at]
		if x == y {
			y = "same"
		}
		p.t.Logf("%-20s %-30q %q", at, x, y)
	}
}

// twice is what both worlds give, which must be the same but for what is masked.
func (p *pair) twice(what string, ask func(k int) (any, error), masked func(k int, v any, err error) string) (ok, same bool) {
	p.t.Helper()
	var got [2]string
	for k := range p.live {
		v, err := ask(k)
		p.audit[k].called()
		got[k] = masked(k, v, err)
		ok = err == nil
	}
	if got[0] == got[1] {
		return ok, true
	}
	x, y := short(got[0]), short(got[1])
	if x == y {
		x, y = got[0], got[1]
	}
	p.t.Errorf("%s\n0: %s\n1: %s", what, x, y)
	return ok, false
}

// everyWay is each form of the tools in each era, in turn.
func everyWay(i int) (mcpfs.Tools, string) {
	return []mcpfs.Tools{mcpfs.Classic, mcpfs.Project}[i%2], []string{"", legacy}[i/2%2]
}

// visible is what is not hidden below base.
func (w *worlds) visible(t *testing.T, base string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(base, func(p string, e os.DirEntry, err error) error {
		if err != nil || p == base {
			return err
		}
		rel := p[len(base)+1:]
		if w.hides(rel, e.IsDir()) {
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		text := ""
		switch {
		case e.Type().IsRegular():
			raw, err := os.ReadFile(p)
			must(t, err)
			text = string(raw)
		case e.Type()&os.ModeSymlink != 0:
			text, err = os.Readlink(p)
			must(t, err)
			text = strings.ReplaceAll(text, base, "BASE")
		}
		fmt.Fprintf(&b, "%s %s %q\n", rel, e.Type(), text)
		return nil
	}))
	return b.String()
}
