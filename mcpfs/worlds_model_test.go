//go:build unix

package mcpfs_test

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
)

// plot is a tree by paths: "/" a directory, "|" a pipe, "=TEXT" a file, ">TEXT" a link, BASE standing for the directory of
// its world.
type plot map[string]string

// worlds are two plots that differ in what is hidden and in nothing else.
type worlds struct {
	projects []rootbound.Project // Dir below the base
	own      []string
	roots    []string
	plots    [2]plot
	hidden   func(p string) bool // whether the path below the base is hidden
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

var (
	openNames   = []string{"a", "b", "f", "g.txt", "h.go"}
	hiddenNames = []string{".env", "secret", ".ssh", "k.pem", "SECRET"}
	linkNames   = []string{"l", "m", "n", "o.go"}
)

// linkText is a text that leads somewhere near.
func linkText(r *rand.Rand, w *worlds, at string) string {
	var names []string
	for range 1 + r.IntN(4) {
		names = append(names, pick(r, pick(r, openNames...), pick(r, hiddenNames...), pick(r, linkNames...), "..", ".."))
	}
	text := strings.Join(names, "/")
	switch r.IntN(8) {
	case 0:
		return "BASE/" + pick(r, "p", "p", "q", "out") + "/" + text
	case 1:
		return "BASE/p/" + pick(r, "a", "inner", "closed", "state") + "/" + text
	case 2:
		return strings.Repeat("../", strings.Count(at, "/")-1) + pick(r, "inner", "closed", "state", "a", "secret", "l", "m") + "/" + text
	case 3:
		return strings.Repeat("../", strings.Count(at, "/")-1) + pick(r, "inner", "closed", "state", "a", ".env", "secret", "l", "m")
	case 4:
		return pick(r, "/etc/hosts", "/nowhere", "BASE/p", "BASE/q", "BASE", ".", "..", path.Base(at))
	}
	return text
}

// strange is what may be in a hidden place.
func strange(r *rand.Rand, w *worlds, p plot, at string, depth int) {
	switch r.IntN(6) {
	case 0:
	case 1:
		p[at] = "=" + strings.Repeat("x", r.IntN(50)) + "needle\n"
	case 2, 3:
		p[at] = "/"
		if depth < 3 {
			for _, n := range []string{pick(r, openNames...), pick(r, hiddenNames...), pick(r, linkNames...)} {
				strange(r, w, p, at+"/"+n, depth+1)
			}
		}
	case 4:
		p[at] = ">" + linkText(r, w, at)
	case 5:
		p[at] = "|"
	}
}

// newWorlds draws two worlds.
func newWorlds(r *rand.Rand) *worlds {
	w := &worlds{own: []string{"p/state", "p/b/f"}}
	p := rootbound.Project{ID: "p", Dir: "p", Rights: rootbound.Full, Deny: []string{"**/secret/**", "a/b/**"}}
	if r.IntN(4) == 0 {
		p.Deny = append(p.Deny, "**/l", "b/?")
	}
	inner := rootbound.Project{ID: "inner", Dir: "p/inner", Rights: rootbound.ReadOnly, Deny: []string{"**/b/**", "f"}}
	closed := rootbound.Project{ID: "closed", Dir: "p/closed", Rights: rootbound.Propose}
	q := rootbound.Project{ID: "q", Dir: "q", Rights: rootbound.Full, Deny: []string{"**/m"}}
	if r.IntN(3) == 0 {
		p.AllowExtensions = []string{".txt", ".go"}
	}
	if r.IntN(4) == 0 {
		inner.AllowExtensions = []string{".txt"}
	}
	w.projects = []rootbound.Project{p, inner, closed}
	if r.IntN(2) == 0 {
		w.projects = append(w.projects, q)
	}
	if r.IntN(5) == 0 {
		w.roots = []string{"p/a", "p/inner", "q"}[:1+r.IntN(3)]
	}
	common := plot{"p": "/", "p/inner": "/", "p/closed": "/", "q": "/", "out": "/", "out/f": "=outside\n", "p/a": "/"}
	dirs := []string{"p", "p/a", "p/inner", "q"}
	for range 3 {
		d := pick(r, dirs...) + "/" + pick(r, openNames[:2]...)
		if !slices.Contains(dirs, d) {
			common[d] = "/"
			dirs = append(dirs, d)
		}
	}
	for _, d := range dirs {
		for _, n := range openNames[2:] {
			if r.IntN(3) > 0 {
				common[d+"/"+n] = "=text of " + d + "\nneedle\n"
			}
		}
		for _, n := range linkNames {
			if r.IntN(2) == 0 {
				common[d+"/"+n] = ">" + linkText(r, w, d+"/"+n)
			}
		}
	}
	spots := []string{"p/state", "p/closed/a", "p/closed/f", "p/closed/l", "p/a/b", "p/b/f", "p/inner/f", "p/inner/b"}
	for _, d := range dirs {
		for _, n := range slices.Concat(hiddenNames, linkNames, openNames) {
			spots = append(spots, d+"/"+n)
		}
	}
	for i := range w.plots {
		w.plots[i] = plot{}
		for _, d := range dirs {
			if !w.hides(d, true) {
				w.plots[i][d] = "/"
			}
		}
		for at, what := range common {
			if !w.hides(at, what == "/") {
				w.plots[i][at] = what
			}
		}
		for _, at := range spots {
			if w.hides(at, false) && w.hides(at, true) {
				strange(r, w, w.plots[i], at, 0)
			}
		}
	}
	for i := range w.plots { // what lies where its directory is not
		for changed := true; changed; {
			changed = false
			for at := range w.plots[i] {
				if up := path.Dir(at); up != "." && w.plots[i][up] != "/" {
					delete(w.plots[i], at)
					changed = true
				}
			}
		}
	}
	return w
}

// hides is a model of the rules above, written without them.
func (w *worlds) hides(at string, dir bool) bool {
	for _, o := range w.own {
		if at == o || strings.HasPrefix(at, o+"/") {
			return true
		}
	}
	p := w.projects[0]
	for _, c := range w.projects {
		if (at == c.Dir || strings.HasPrefix(at, c.Dir+"/")) && (len(c.Dir) > len(p.Dir) || c.ID == "q") {
			p = c
		}
	}
	if at == p.Dir || !strings.HasPrefix(at, p.Dir+"/") {
		return false
	}
	if p.ID == "closed" {
		return true
	}
	rel := at[len(p.Dir)+1:]
	names := strings.Split(rel, "/")
	for i, n := range names {
		up := strings.Join(names[:i+1], "/")
		low := strings.ToLower(n)
		switch {
		case low == ".env", low == ".ssh", strings.HasSuffix(low, ".pem"):
			return true
		case p.ID == "p" && (low == "secret" || up == "a/b"):
			return true
		case p.ID == "p" && len(p.Deny) > 2 && (n == "l" || i == 1 && names[0] == "b" && len(n) == 1):
			return true
		case p.ID == "inner" && (n == "b" || up == "f"):
			return true
		case p.ID == "q" && n == "m":
			return true
		}
	}
	if len(p.AllowExtensions) > 0 && !dir {
		return !slices.Contains(p.AllowExtensions, path.Ext(rel))
	}
	return false
}

func sortedKeys(plots ...plot) (all []string) {
	for _, p := range plots {
		for k := range p {
			if !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	slices.Sort(all)
	return all
}
