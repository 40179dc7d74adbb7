package beneath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
)

const (
	inside = "inside-canary"
	secret = "OUTSIDE-CANARY-91c7"
)

// world is a fresh directory with a root ws and something outside of it.
type world struct {
	t   testing.TB
	dir string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := &world{t, dir}
	w.do("file ws/alive alive", "file ws/d/f "+inside, "file out/secret "+secret, "file out/f "+secret,
		"file out/sub/inner "+secret)
	return w
}

func (w *world) path(p string) string {
	p = strings.NewReplacer("$ROOT", w.dir+"/ws", "$OUT", w.dir+"/out", "$W", w.dir).Replace(p)
	if !filepath.IsAbs(p) {
		p = w.dir + "/" + p
	}
	return p
}

// do performs steps: "mkdir P", "file P TEXT", "link P TARGET", "hard P EXISTING", "rm P", "mv A B". Parents are made.
func (w *world) do(steps ...string) {
	w.t.Helper()
	for _, s := range steps {
		f := strings.SplitN(s, " ", 3)
		p := w.path(f[1])
		must(w.t, os.MkdirAll(filepath.Dir(p), 0o755))
		switch f[0] {
		case "mkdir":
			must(w.t, os.MkdirAll(p, 0o755))
		case "file":
			must(w.t, os.WriteFile(p, []byte(f[2]), 0o644))
		case "link":
			must(w.t, os.Symlink(strings.NewReplacer("$ROOT", w.dir+"/ws", "$OUT", w.dir+"/out", "$W", w.dir).Replace(f[2]), p))
		case "hard":
			must(w.t, os.Link(w.path(f[2]), p))
		case "rm":
			must(w.t, os.RemoveAll(p))
		case "mv":
			must(w.t, os.Rename(p, w.path(f[2])))
		default:
			w.t.Fatalf("no step %q", s)
		}
	}
}

func (w *world) text(p string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.path(p))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(b)
}

func (w *world) names(p string) string {
	w.t.Helper()
	list, err := os.ReadDir(w.path(p))
	must(w.t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// root opens a directory as a root for the length of the test.
func (w *world) root(p string) *Root {
	w.t.Helper()
	r, err := OpenRoot(w.path(p))
	must(w.t, err)
	w.t.Cleanup(r.Release)
	return r
}

func (w *world) set(walkOnly bool, roots ...string) *Set {
	w.t.Helper()
	if len(roots) == 0 {
		roots = []string{"ws"}
	}
	var members []Member
	for _, p := range roots {
		p, deny := strings.CutSuffix(p, ":nomounts")
		members = append(members, Member{Root: w.root(p), DenyMounts: deny})
	}
	s := NewSet(members, nil)
	s.walkOnly = walkOnly
	return s
}

// eachTier runs a test on both resolvers, each in a world of its own.
func eachTier(t *testing.T, f func(t *testing.T, walkOnly bool)) {
	t.Run("kernel", func(t *testing.T) { f(t, false) })
	t.Run("walk", func(t *testing.T) { f(t, true) })
}

// read gives the text of a file, the names of a directory, or the reason of the refusal.
func read(s *Set, at Ref, how How) (answer string, o *Object) {
	o, err := s.Open(at, how)
	if err != nil {
		return outcome(err), nil
	}
	defer o.Close()
	if o.IsDir() {
		var names []string
		err := o.List(ctx(), "", func(n *Node) (Step, error) { names = append(names, n.Name()); return Into, nil })
		if err != nil {
			return outcome(err), nil
		}
		return "dir:" + strings.Join(names, " "), o
	}
	if how == Handle {
		return "handle", o
	}
	b := make([]byte, 256)
	n, err := o.ReadAt(b, 0)
	if err != nil && n == 0 && rootbound.ReasonOf(err) != "" {
		return outcome(err), nil
	}
	return "text:" + string(b[:n]), o
}

// outcome is "ok" or reason and, in brackets, detail.
func outcome(err error) string {
	var e *rootbound.Error
	switch {
	case err == nil:
		return "ok"
	case !errors.As(err, &e):
		return fmt.Sprintf("not a refusal: %v", err)
	case e.Detail == "":
		return string(e.Reason)
	}
	return fmt.Sprintf("%s [%s]", e.Reason, e.Detail)
}

func repeat(n int, s string) string { return strings.Repeat(s, n) }
