package beneath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig"
	"golang.org/x/sys/unix"
)

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
			rig.Later(t, w.path("ws/d/f"))
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
		err := unix.Setxattr(f, "security.capability", []byte("\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), 0)
		if err != unix.ENOTSUP { // where there are no attributes
			must(t, err)
		}
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
