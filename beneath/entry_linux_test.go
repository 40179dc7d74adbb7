package beneath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

func allow(Ref, int) error        { return nil }
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
			if _, ref, ok := e.Target(); ok {
				got = fmt.Sprintf("%d:%s", ref.Root, ref.Path)
			}
			if got != want {
				t.Errorf("%s leads to %q, want %q", p, got, want)
			}
			e.Close()
		}
	})
}

func TestPublish(t *testing.T) {
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		w.do("link ws/l d/f", "link ws/dangling d/none")
		s := w.set(walkOnly)
		put(t, s, "new", "one")
		put(t, s, "new", "two")
		put(t, s, "l", "through the link")
		if w.text("ws/new") != "two" || w.text("ws/d/f") != "through the link" {
			t.Error(w.text("ws/new"), w.text("ws/d/f"))
		}
		if target, _ := os.Readlink(w.path("ws/l")); target != "d/f" {
			t.Error("the link was replaced:", target)
		}
		if got := outcome(write(s, "dangling", "x")); got != "path_unresolvable [dangling_link]" {
			t.Error(got)
		}
		if got := outcome(write(s, "d", "x")); got != "is_a_directory" {
			t.Error(got)
		}
		if w.names("ws")+w.names("ws/d") != "alive d dangling l new"+"f" {
			t.Error("left over:", w.names("ws"), w.names("ws/d"))
		}
	})
}

// stage makes what Publish needs. The test closes what it gets through Cleanup.
func stage(t *testing.T, s *Set, p, text string) (*Entry, *Staged, *Info) {
	t.Helper()
	e, err := s.Entry(Ref{0, p}, true)
	must(t, err)
	t.Cleanup(func() { e.Close() })
	var old *Info
	o, err := e.Open(File)
	if err == nil {
		i := o.Info()
		old = &i
		defer o.Close()
	} else {
		o = nil
	}
	st, err := e.Stage(o, nil)
	must(t, err)
	t.Cleanup(func() { st.Close() })
	_, err = st.Write([]byte(text))
	must(t, err)
	must(t, st.Sync())
	return e, st, old
}

// TestPublishNeverLoses lets another program act between the look and the publication.
func TestPublishNeverLoses(t *testing.T) {
	for _, c := range []struct {
		name  string
		other func(w *world)
		want  string // outcome
		text  string // of ws/d/f afterwards
	}{
		{"nobody", func(*world) {}, "ok", "ours"},
		{"written in place, longer", func(w *world) { w.do("file ws/d/f somebody else's text") }, "version_conflict", "somebody else's text"},
		{"written in place, equal size", func(w *world) { w.do("file ws/d/f INSIDE-canary") }, "version_conflict", "INSIDE-canary"},
		{"replaced", func(w *world) { w.do("file ws/x theirs", "mv ws/x ws/d/f") }, "version_conflict", "theirs"},
		{"removed", func(w *world) { w.do("rm ws/d/f") }, "version_conflict [gone]", "error"},
		{"made a link", func(w *world) { w.do("rm ws/d/f", "link ws/d/f ../alive") }, "version_conflict", "alive"},
		{"made a link out", func(w *world) { w.do("rm ws/d/f", "link ws/d/f ../../out/f") }, "version_conflict", secret},
		{"made a directory", func(w *world) { w.do("rm ws/d/f", "mkdir ws/d/f") }, "version_conflict", "error"},
		{"chmod", func(w *world) { must(w.t, os.Chmod(w.path("ws/d/f"), 0o600)) }, "version_conflict", inside},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			_, st, old := stage(t, w.set(false), "d/f", "ours")
			c.other(w)
			_, err := st.Publish(old)
			st.Close()
			if got := outcome(err); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if got := w.text("ws/d/f"); !strings.HasPrefix(got, c.text) {
				t.Errorf("the file holds %q, want %q", got, c.text)
			}
			if got := w.text("out/f"); got != secret {
				t.Errorf("outside: %q", got)
			}
			if n := strings.Count(w.names("ws/d"), TempPrefix); n != 0 {
				t.Error("left over:", w.names("ws/d"))
			}
		})
	}
}

// TestSwapBack looks into the window between the exchange and the verification.
func TestSwapBack(t *testing.T) {
	w := newWorld(t)
	e, st, old := stage(t, w.set(false), "d/f", "ours")
	changed := *old
	changed.Size++ // as if another program had written after the first look
	must(t, st.exchange())
	was, err := statAt(e.dir.fd, st.name)
	must(t, err)
	if was.unchanged(changed) {
		t.Fatal("a changed file passes for the old one")
	}
	// A third program replaces what we had published: it is the newest and stays, nothing else is left.
	w.do("file ws/x newest", "mv ws/x ws/d/f")
	if got := outcome(st.swapBack(was)); got != "version_conflict" {
		t.Error(got)
	}
	must(t, st.Close())
	if w.text("ws/d/f") != "newest" || w.names("ws/d") != "f" {
		t.Errorf("%q in %s", w.text("ws/d/f"), w.names("ws/d"))
	}
}

func TestCreateIsExclusive(t *testing.T) {
	for _, there := range []string{"file ws/new theirs", "link ws/new d/none", "link ws/new ../out/new", "mkdir ws/new"} {
		w := newWorld(t)
		_, st, _ := stage(t, w.set(false), "new", "ours")
		w.do(there)
		before, _ := os.Lstat(w.path("ws/new"))
		if _, err := st.Publish(nil); rootbound.ReasonOf(err) != rootbound.Exists {
			t.Errorf("%s: %v", there, err)
		}
		st.Close()
		after, _ := os.Lstat(w.path("ws/new"))
		if !os.SameFile(before, after) || w.names("ws") != "alive d new" || w.names("out") != "f secret sub" {
			t.Error(there, "was changed:", w.names("ws"), w.names("out"))
		}
	}
}

func TestStagedKeepsAttributes(t *testing.T) {
	w := newWorld(t)
	s := w.set(false)
	f := w.path("ws/d/f")
	must(t, os.Chmod(f, 0o4751|fs.ModeSetuid))
	kept := true
	if err := unix.Setxattr(f, "user.note", []byte("v"), 0); err != nil {
		t.Log("no user attributes here:", err)
		kept = false
	}
	// user::rwx user:1234:rw- group::r-x mask::rwx other::--x, as acl(5) has it
	acl := []byte("\x02\x00\x00\x00" + "\x01\x00\x07\x00\xff\xff\xff\xff" + "\x02\x00\x06\x00\xd2\x04\x00\x00" +
		"\x04\x00\x05\x00\xff\xff\xff\xff" + "\x10\x00\x07\x00\xff\xff\xff\xff" + "\x20\x00\x01\x00\xff\xff\xff\xff")
	aclKept := unix.Setxattr(f, aclName, acl, 0) == nil
	if os.Getuid() == 0 {
		must(t, os.Chown(f, 1234, 1235))
		must(t, os.Chmod(f, 0o771|fs.ModeSetuid))
		must(t, unix.Setxattr(f, "security.capability", []byte("\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), 0))
	}
	before, err := os.Lstat(f)
	must(t, err)
	put(t, s, "d/f", "new")
	after, err := os.Lstat(f)
	must(t, err)
	if after.Mode() != before.Mode().Perm() {
		t.Errorf("mode %v, was %v", after.Mode(), before.Mode())
	}
	uid := func(i os.FileInfo) string {
		st := i.Sys().(*syscall.Stat_t)
		return fmt.Sprint(st.Uid, st.Gid)
	}
	if uid(before) != uid(after) {
		t.Errorf("owner %s, was %s", uid(after), uid(before))
	}
	b := make([]byte, 100)
	if n, err := unix.Getxattr(f, "user.note", b); kept && (err != nil || string(b[:n]) != "v") {
		t.Error("user.note is gone:", err)
	}
	if n, err := unix.Getxattr(f, aclName, b); aclKept && (err != nil || string(b[:n]) != string(acl)) {
		t.Errorf("the ACL is gone: %v %q", err, b[:max(n, 0)])
	}
	if _, err := unix.Getxattr(f, "security.capability", b); err != unix.ENODATA && err != unix.ENOTSUP {
		t.Error("a capability was handed on:", err)
	}
}

func TestStagedName(t *testing.T) {
	w := newWorld(t)
	s := w.set(false)
	e, err := s.Entry(Ref{0, repeat(255, "n")}, false)
	must(t, err)
	defer e.Close()
	var name string
	var id ObjectID
	st, err := e.Stage(nil, func(n string, i ObjectID) error { name, id = n, i; return nil })
	must(t, err)
	if st.Name() != name || st.ID() != id || !strings.HasPrefix(name, TempPrefix) || len(name) != len(tempName()) || name == tempName() {
		t.Error(name, id)
	}
	must(t, st.Sync())
	i, err := st.Publish(nil)
	must(t, err)
	if i.ID != id {
		t.Error("another file was published")
	}
	if _, err := st.Publish(nil); err == nil {
		t.Error("published twice")
	}
	must(t, st.Close())
	must(t, st.Close())
	if len(w.names("ws")) < 255 {
		t.Error("a published file was removed by Close")
	}
	if _, err := e.Stage(nil, func(string, ObjectID) error { return errors.New("disk full") }); err == nil {
		t.Error("staged without a journal")
	}
	if strings.Contains(w.names("ws"), TempPrefix) {
		t.Error("left over:", w.names("ws"))
	}
	// What is discarded is our file, not whoever took its name.
	st, err = e.Stage(nil, nil)
	must(t, err)
	w.do("rm ws/"+st.Name(), "file ws/"+st.Name()+" theirs")
	must(t, st.Close())
	if w.text("ws/"+st.Name()) != "theirs" {
		t.Error("another file was removed")
	}
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
