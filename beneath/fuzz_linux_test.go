package beneath

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// FuzzResolve asks both resolvers for a path through a tree whose two links have fuzzed texts. They must agree, on where
// they arrived too, and what is served must be what realpath reaches, inside the root.
func FuzzResolve(f *testing.F) {
	for _, seed := range [][3]string{
		{"l/f", "d", "../d/f"}, {"l", "../ws/d/f", "l"}, {"d/m/../f", "$ROOT", "../l"}, {"l/../alive", "../out", "/etc/passwd"},
		{"d/m/", "d/m", "./../l//"}, {"l/m", "$ROOT/d/", "../../ws/alive"}, {"../ws/d/f", "..", "../.."}, {"l/l/l/f", ".", "m"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, p, one, two string) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		w := &world{t, dir}
		w.do("file ws/alive alive", "file ws/d/f "+inside, "file out/f "+secret, "mkdir ws/d/e")
		for at, text := range map[string]string{"ws/l": one, "ws/d/m": two} {
			text = strings.ReplaceAll(text, "$ROOT", w.path("ws"))
			_ = os.Symlink(text, w.path(at)) // some texts are not possible: then there is no link
		}
		s := w.set(false)
		for _, how := range []How{Any, File, Dir, Handle} {
			s.walkOnly = false
			kernel, a := read(s, Ref{0, p}, how)
			s.walkOnly = true
			walk, b := read(s, Ref{0, p}, how)
			if kernel != walk || a != nil && (b == nil || a.At() != b.At() || a.Linked() != b.Linked() || a.Info().ID != b.Info().ID) {
				t.Fatalf("%q as %d: by kernel %s, by walk %s", p, how, kernel, walk)
			}
			if a == nil {
				continue
			}
			real, err := filepath.EvalSymlinks(w.path("ws") + "/" + p)
			if err != nil {
				t.Fatalf("%q is served, realpath says %v", p, err)
			}
			if want := filepath.Join(w.path("ws"), a.At().Path); real != want {
				t.Fatalf("%q arrived at %q, realpath says %q", p, want, real)
			}
			i, err := os.Lstat(real)
			if err != nil || i.Mode()&fs.ModeSymlink != 0 || !sameAsInfo(i, a.Info()) {
				t.Fatalf("%q gave another object than realpath: %v", p, err)
			}
		}
		for _, follow := range []bool{false, true} {
			s.walkOnly = false
			e1, err1 := s.Entry(Ref{0, p}, follow)
			s.walkOnly = true
			e2, err2 := s.Entry(Ref{0, p}, follow)
			if outcome(err1) != outcome(err2) || err1 == nil && (e1.At() != e2.At() || e1.Key() != e2.Key()) {
				t.Fatalf("entry %q: by kernel %v, by walk %v", p, err1, err2)
			}
			if err1 == nil {
				must(t, e1.Inside())
				e1.Close()
				e2.Close()
			}
		}
	})
}

func sameAsInfo(fi os.FileInfo, i Info) bool {
	st := fi.Sys().(*syscall.Stat_t)
	return st.Ino == i.ID.Ino && st.Dev == i.ID.Dev
}
