package beneath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
)

func allow(Ref, int) error { return nil }

func direct(f func() error) error { return f() }

// put writes a file as a tool does: entry, stage, sync, publish, sync of the directory.
func put(t testing.TB, s *Set, p, text string) {
	t.Helper()
	if err := write(s, p, text); err != nil {
		t.Fatal(err)
	}
}

func write(s *Set, p, text string) error {
	e, err := s.Entry(Ref{0, p}, true)
	if err != nil {
		return err
	}
	defer e.Close()
	var old *Info
	o, err := e.Open(File)
	switch {
	case err == nil:
		defer o.Close()
		i := o.Info()
		old = &i
	case !errors.Is(err, fs.ErrNotExist):
		return err
	default:
		o = nil
	}
	st, err := e.Stage(o, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	if _, err := st.Write([]byte(text)); err != nil {
		return err
	}
	if err := st.Sync(); err != nil {
		return err
	}
	if _, err := st.Publish(old); err != nil {
		return err
	}
	return e.SyncDir()
}

func TestEntry(t *testing.T) {
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		w.do("link ws/l d/f", "link ws/ld d", "link ws/dangling d/none", "link ws/out ../out/secret", "link ws/outdir ../out",
			"link ws/outnew ../out/new", "link ws/up d/..", "link ws/abs $ROOT/d/f", "link ws/toroot $ROOT", "file ws2/x y", "link ws/two $W/ws2/x")
		s := w.set(walkOnly, "ws", "ws2")
		for _, c := range []struct {
			path   string
			follow bool
			want   string
		}{
			{"new", false, "0:new"}, {"d/new", true, "0:d/new"}, {"./d//new", false, "0:d/new"}, {"d/../new", false, "0:new"},
			{"", false, "path_invalid [root]"}, {".", false, "path_invalid [root]"}, {"./", true, "path_invalid [root]"},
			{"d/.", false, "path_invalid [no_name]"}, {"d/..", false, "path_invalid [no_name]"}, {"new/", false, "path_invalid [trailing_slash]"},
			{"d/", false, "path_invalid [trailing_slash]"}, {"/d", false, "path_invalid [absolute]"}, {"d\x00", false, "path_invalid [nul]"},
			{"..", false, "outside_root"}, {"../out/new", false, "outside_root"}, {"a/../../x", false, "outside_root"},
			{"x/y/new", false, "parent_missing [x]"}, {"d/x/y/new", true, "parent_missing [d/x]"}, {"./d//x/y/new", true, "parent_missing [./d//x]"},
			{"ld/x/y", false, "parent_missing"}, {"nope/../new", false, "parent_missing [nope]"},
			{"alive/new", false, "not_a_directory"}, {"l/new", false, "not_a_directory"},
			{"l", false, "0:l"}, {"l", true, "0:d/f"}, {"abs", true, "0:d/f"}, {"abs", false, "0:abs"}, {"ld/new", false, "0:d/new"},
			{"dangling", false, "0:dangling"}, {"dangling", true, "path_unresolvable [dangling_link]"},
			{"out", false, "0:out"}, {"out", true, "outside_root"}, {"outnew", true, "outside_root"}, {"outdir/new", false, "outside_root"},
			{"up", true, "path_invalid [no_name]"}, {"toroot", true, "path_invalid [no_name]"}, {"toroot/new", true, "0:new"},
			{"two", true, "1:x"}, {repeat(256, "n"), false, "path_invalid [name_too_long]"},
		} {
			e, err := s.Entry(Ref{0, c.path}, c.follow)
			got := outcome(err)
			if err == nil {
				got = fmt.Sprintf("%d:%s", e.At().Root, e.At().Path)
				if want := e.At().Path[strings.LastIndexByte(e.At().Path, '/')+1:]; e.Key().Name != want || e.Key().Dir.Ino == 0 {
					t.Errorf("%q: key %v", c.path, e.Key())
				}
				must(t, e.Inside())
				must(t, e.Close())
			}
			if got != c.want {
				t.Errorf("%q follow %v: %s, want %s", c.path, c.follow, got, c.want)
			}
		}
		for p, want := range map[string]string{"l": "0:d/f", "dangling": "", "out": "", "abs": "0:d/f", "two": "1:x"} {
			e, err := s.Entry(Ref{0, p}, false)
			must(t, err)
			i, err := e.Lstat()
			if err != nil || i.Mode&fs.ModeSymlink == 0 {
				t.Errorf("%s: %v %v", p, i.Mode, err)
			}
			if _, err := e.Open(Any); outcome(err) != "path_unresolvable [link]" {
				t.Errorf("%s was opened: %v", p, err)
			}
			if _, err := e.Open(Handle); outcome(err) != "path_unresolvable [link]" {
				t.Errorf("%s was opened: %v", p, err)
			}
			got := ""
			if o, err := s.Open(e.At(), Handle); err == nil {
				got = fmt.Sprintf("%d:%s", o.At().Root, o.At().Path)
				o.Close()
			}
			if got != want {
				t.Errorf("%s leads to %q, want %q", p, got, want)
			}
			e.Close()
		}
	})
}

func TestRename(t *testing.T) {
	for _, c := range []struct {
		name      string
		setup     []string
		from, to  string
		overwrite bool
		want      string
		check     string // "path text" that must hold afterwards
	}{
		{"file", nil, "d/f", "g", false, "ok", "ws/g " + inside},
		{"directory", nil, "d", "e", false, "ok", "ws/e/f " + inside},
		{"link moves as the link", []string{"link ws/l d/f"}, "l", "k", false, "ok", "ws/k " + inside},
		{"onto a file", []string{"file ws/e keep"}, "d/f", "e", false, "exists", "ws/e keep"},
		{"onto a file, asked", []string{"file ws/e old"}, "d/f", "e", true, "ok", "ws/e " + inside},
		{"overwrite asked, nothing there", nil, "d/f", "e", true, "ok", "ws/e " + inside},
		{"onto a dangling link", []string{"link ws/l ../out/new"}, "d/f", "l", false, "exists", "ws/d/f " + inside},
		{"onto a link to a directory, asked", []string{"link ws/l ../out"}, "d/f", "l", true, "ok", "ws/l " + inside},
		{"onto itself", nil, "d/f", "d/f", false, "exists", "ws/d/f " + inside},
		{"onto itself, asked", nil, "d/f", "d/f", true, "version_conflict [same_object]", "ws/d/f " + inside},
		{"onto a hard link, asked", []string{"hard ws/h ws/d/f"}, "d/f", "h", true, "version_conflict [same_object]", "ws/d/f " + inside},
		{"below itself", []string{"mkdir ws/d/s"}, "d", "d/s/x", false, "path_invalid [into_itself]", "ws/d/f " + inside},
		{"below itself, at once", nil, "d", "d/x", false, "path_invalid [into_itself]", "ws/d/f " + inside},
		{"file onto a directory, asked", []string{"mkdir ws/e"}, "d/f", "e", true, "is_a_directory", "ws/d/f " + inside},
		{"directory onto a file, asked", nil, "d", "alive", true, "not_a_directory", "ws/alive alive"},
		{"directory onto a filled one, asked", []string{"file ws/e/x y"}, "d", "e", true, "exists [not_empty]", "ws/e/x y"},
		{"nothing", nil, "nope", "x", false, "not_found", "ws/d/f " + inside},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachTier(t, func(t *testing.T, walkOnly bool) {
				w := newWorld(t)
				w.do(c.setup...)
				s := w.set(walkOnly)
				from, err := s.Entry(Ref{0, c.from}, false)
				must(t, err)
				defer from.Close()
				to, err := s.Entry(Ref{0, c.to}, false)
				must(t, err)
				defer to.Close()
				i, _ := from.Lstat()
				if got := outcome(from.Rename(to, i.ID, c.overwrite)); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
				p, text, _ := strings.Cut(c.check, " ")
				if w.text(p) != text {
					t.Errorf("%s holds %q", p, w.text(p))
				}
				if w.names("out") != "f secret sub" {
					t.Error("outside:", w.names("out"))
				}
				if c.want == "ok" {
					if _, err := from.Lstat(); rootbound.ReasonOf(err) != rootbound.NotFound {
						t.Error("the source is still there")
					}
				}
			})
		})
	}
}

func TestRenameTakesWhatWasJudged(t *testing.T) {
	w := newWorld(t)
	w.do("file ws/other x")
	s := w.set(false)
	from, err := s.Entry(Ref{0, "d/f"}, false)
	must(t, err)
	defer from.Close()
	to, err := s.Entry(Ref{0, "g"}, false)
	must(t, err)
	defer to.Close()
	i, err := from.Lstat()
	must(t, err)
	w.do("mv ws/other ws/d/f")
	if got := outcome(from.Rename(to, i.ID, false)); got != "version_conflict" {
		t.Error(got)
	}
	if w.names("ws") != "alive d" || w.text("ws/d/f") != "x" {
		t.Error(w.names("ws"))
	}
	if got := outcome(from.Remove(i.ID)); got != "version_conflict" {
		t.Error(got)
	}
}

func TestRemoveAndMkdir(t *testing.T) {
	w := newWorld(t)
	w.do("link ws/l ../out/secret", "mkdir ws/empty")
	s := w.set(false)
	for p, want := range map[string]string{"l": "ok", "alive": "ok", "empty": "ok", "d": "exists [not_empty]", "nope": "not_found"} {
		e, err := s.Entry(Ref{0, p}, false)
		must(t, err)
		i, _ := e.Lstat()
		if got := outcome(e.Remove(i.ID)); got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
		e.Close()
	}
	if w.names("ws") != "d" || w.text("out/secret") != secret {
		t.Error(w.names("ws"))
	}
	w.do("link ws/l ../out/new")
	for p, want := range map[string]string{"new": "ok", "d": "exists", "d/f": "exists", "l": "exists"} {
		e, err := s.Entry(Ref{0, p}, false)
		must(t, err)
		if got := outcome(e.Mkdir()); got != want {
			t.Errorf("mkdir %s: %s, want %s", p, got, want)
		}
		e.Close()
	}
	if w.names("out") != "f secret sub" {
		t.Error(w.names("out"))
	}
}

func TestMkdirAll(t *testing.T) {
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		w.do("link ws/l d", "link ws/out ../out", "link ws/dangling d/none", "link ws/f2 d/f")
		s := w.set(walkOnly)
		for _, c := range []struct {
			path, want string
			asked      string
		}{
			{"a/b/c", "0:a/b/c made 3", "a a/b a/b/c"}, {"a/b/c", "0:a/b/c made 0", ""}, {"l/x/y/", "0:d/x/y made 2", "d/x d/x/y"},
			{"", "0: made 0", ""}, {"d/f", "exists", ""}, {"f2", "exists", ""}, {"d/f/x", "not_a_directory", ""},
			{"out/a/b", "outside_root", ""}, {"dangling", "path_unresolvable [dangling_link]", ""},
			{"dangling/a", "path_unresolvable [dangling_link]", ""}, {"q/../r", "not_found", ""}, {"../x", "outside_root", ""},
		} {
			var asked []string
			o, made, err := s.MkdirAll(Ref{0, c.path}, func(r Ref, _ int) error { asked = append(asked, r.Path); return nil }, direct)
			got := outcome(err)
			if err == nil {
				got = fmt.Sprintf("%d:%s made %d", o.At().Root, o.At().Path, made)
				o.Close()
			}
			if got != c.want || strings.Join(asked, " ") != c.asked {
				t.Errorf("%q: %s asked %v, want %s asked %s", c.path, got, asked, c.want, c.asked)
			}
		}
		if w.names("out") != "f secret sub" || w.names("ws") != "a alive d dangling f2 l out" {
			t.Error(w.names("out"), w.names("ws"))
		}
		no := refuse(rootbound.RuleDenied, "", nil)
		_, made, err := s.MkdirAll(Ref{0, "n1/n2/n3"}, func(r Ref, _ int) error {
			if r.Path == "n1/n2" {
				return no
			}
			return nil
		}, direct)
		if made != 1 || err != no {
			t.Error(made, err)
		}
		_, made, err = s.MkdirAll(Ref{0, "m1/m2"}, allow, func(func() error) error { return no })
		if made != 0 || err != no || strings.Contains(w.names("ws"), "m1") {
			t.Error(made, err, w.names("ws"))
		}
		// Another program is faster with a directory, or puts a link there.
		o, made, err := s.MkdirAll(Ref{0, "r1/r2"}, allow, func(f func() error) error {
			_ = os.Mkdir(w.path("ws/r1"), 0o755)
			return f()
		})
		if err != nil || made != 1 {
			t.Error(made, err)
		} else {
			o.Close()
		}
		if _, _, err = s.MkdirAll(Ref{0, "s1/s2"}, allow, func(f func() error) error {
			_ = os.Symlink("../out", w.path("ws/s1"))
			return f()
		}); outcome(err) != "path_unresolvable [link]" || w.names("out") != "f secret sub" {
			t.Error(err, w.names("out"))
		}
	})
}

// TestMovedOut moves the parent out of the root while an entry holds it.
func TestMovedOut(t *testing.T) {
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		w.do("file ws/d/e/g x")
		s := w.set(walkOnly)
		e, st, _ := stage(t, s, "d/e/new", "ours")
		dir, err := s.Entry(Ref{0, "d/e/dir"}, false)
		must(t, err)
		defer dir.Close()
		g, err := s.Entry(Ref{0, "d/e/g"}, false)
		must(t, err)
		defer g.Close()
		in, err := s.Entry(Ref{0, "in"}, false)
		must(t, err)
		defer in.Close()
		i, err := g.Lstat()
		must(t, err)
		w.do("mv ws/d/e ws/e")
		must(t, e.Inside()) // moved, but not out
		w.do("mv ws/e out/e")
		_, err = st.Publish(nil)
		for what, err := range map[string]error{
			"inside": e.Inside(), "publish": err, "mkdir": dir.Mkdir(), "remove": g.Remove(i.ID),
			"rename out of it": g.Rename(in, i.ID, false), "rename into it": in.Rename(dir, ObjectID{}, false),
		} {
			if rootbound.ReasonOf(err) != rootbound.MovedOut {
				t.Errorf("%s: %v", what, err)
			}
		}
		must(t, st.Close())
		if w.names("out/e") != "g" {
			t.Error(w.names("out/e"))
		}
	})
}

func TestVersion(t *testing.T) {
	i := Info{ID: ObjectID{1, 2, 3}, Size: 4, MTime: time.Unix(5, 6), CTime: time.Unix(7, 8)}
	same := i
	same.ID.Mount, same.Links, same.ATime = 9, 9, time.Unix(9, 9)
	if i.Version() != same.Version() || len(i.Version()) != 22 {
		t.Error(i.Version(), same.Version())
	}
	for n, change := range []func(*Info){
		func(i *Info) { i.ID.Dev++ }, func(i *Info) { i.ID.Ino++ }, func(i *Info) { i.Size++ },
		func(i *Info) { i.MTime = i.MTime.Add(1) }, func(i *Info) { i.CTime = i.CTime.Add(1) },
	} {
		c := i
		change(&c)
		if c.Version() == i.Version() {
			t.Error("change", n, "is not seen")
		}
	}
}
