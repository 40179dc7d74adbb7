package beneath

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/rig"
	"golang.org/x/sys/unix"
)

// TestRemoveTemporary removes a tree of ours by identity, wherever it went, and nothing else.
func TestRemoveTemporary(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	w := newWorld(t)
	s := w.set(false)
	at, err := s.Entry(Ref{0, "d/new"}, false)
	must(t, err)
	defer at.Close()
	tmp, err := at.Beside()
	must(t, err)
	defer tmp.Close()
	name := "ws/d/" + tmp.Key().Name
	if !strings.HasPrefix(tmp.Key().Name, TempPrefix) || tmp.At().Path != "d/"+tmp.Key().Name {
		t.Fatal(tmp.At())
	}
	top, err := tmp.MkdirPrivate()
	must(t, err)
	defer top.Close()
	id := top.Info().ID
	if got := outcome(at.RemoveTemporary(id)); got != "internal_error" {
		t.Error("a name that is not temporary:", got)
	}
	if got := outcome(tmp.RemoveTemporary(ObjectID{Dev: id.Dev, Ino: id.Ino + 1})); got != "version_conflict" {
		t.Error("another identity:", got)
	}
	for _, bad := range []string{"", ".", "..", "a/b", "a\x00b", repeat(256, "n")} {
		if _, err := top.Entry(bad); outcome(err) != "path_invalid" {
			t.Errorf("%q: %v", bad, err)
		}
	}
	w.do("file "+name+"/d/e/f x", "link "+name+"/d/out $OUT", "link "+name+"/file $OUT/secret")
	must(t, os.Chmod(w.path(name+"/d"), 0o500))
	w.mount("none", name+"/m", "tmpfs", 0, "")
	w.do("file " + name + "/m/kept x")
	if got := outcome(tmp.RemoveTemporary(id)); got != "exists [not_empty]" {
		t.Error("with a mount in it:", got)
	}
	if w.text(name+"/m/kept") != "x" {
		t.Error("removed across a mount")
	}
	must(t, unix.Unmount(w.path(name+"/m"), 0))
	w.do("mv ws/d elsewhere")
	must(t, tmp.RemoveTemporary(id))
	if w.names("elsewhere") != "f" || w.text("out/secret") != secret || w.names("out") != "f secret sub" {
		t.Error(w.names("elsewhere"), w.names("out"))
	}
}

// TestResemble hands on bits, owner and times of a directory, and never set-id bits.
func TestResemble(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to give files away")
	}
	if !rig.OwnMounts(t) {
		return
	}
	w := newWorld(t)
	w.do("mkdir ws/a", "mkdir ws/b")
	must(t, os.Chown(w.path("ws/a"), 1234, 1235))
	must(t, os.Chmod(w.path("ws/a"), 0o751|os.ModeSetgid|os.ModeSticky))
	then := time.Unix(1_400_000_000, 5000)
	must(t, os.Chtimes(w.path("ws/a"), then, then))
	s := w.set(false)
	a, err := s.Open(Ref{0, "a"}, Dir)
	must(t, err)
	defer a.Close()
	b, err := s.Open(Ref{0, "b"}, Dir)
	must(t, err)
	defer b.Close()
	must(t, b.Resemble(a))
	now, err := b.Stat()
	must(t, err)
	if now.Mode != os.ModeDir|0o751 || now.UID != 1234 || now.GID != 1235 || !now.MTime.Equal(then) {
		t.Errorf("%v %d:%d %v", now.Mode, now.UID, now.GID, now.MTime)
	}
}

// TestDeepTreeHoldsFewDescriptors: a tree is judged as deep as a path may lead, and what is deeper is refused by its limit; one
// that may go goes without a descriptor for each of its levels.
func TestDeepTreeHoldsFewDescriptors(t *testing.T) {
	w := newWorld(t)
	const depth = 2100
	unix.Close(makeDeep(t, w.path("ws"), "t/"+strings.TrimSuffix(repeat(depth, "e/"), "/")))
	s := w.set(false)
	o, err := s.Open(Ref{0, "t"}, Dir)
	must(t, err)
	defer o.Close()
	entries, why := 0, []string{}
	must(t, o.Walk(ctx(), func(*Node) (Step, error) { entries++; return Into, nil }, func(_ string, err error) { why = append(why, outcome(err)) }))
	if entries != maxDepth-1 || !slices.Equal(why, []string{"limit_reached [too_deep]"}) {
		t.Errorf("%d entries, %q", entries, why)
	}
	n, err := NewNotifier()
	must(t, err)
	defer n.Close()
	err = n.AddTree(ctx(), o, func(WatchID, ObjectID, string, int) (bool, error) { return false, nil }, func(*Node) (Step, error) { return Into, nil }, nil)
	if outcome(err) != "limit_reached [too_deep]" {
		t.Error(err)
	}

	e, err := s.Entry(Ref{0, "t"}, false)
	must(t, err)
	defer e.Close()
	aside, err := e.Beside()
	must(t, err)
	defer aside.Close()
	must(t, e.Rename(aside, o.Info().ID, false))
	before, most := openFDs(t), 0
	gone := 0
	must(t, aside.RemoveTree(o.Info().ID, func() {
		if gone++; gone%100 == 1 {
			most = max(most, openFDs(t)-before)
		}
	}))
	if after := openFDs(t); gone != depth+1 || most > heldLevels+2 || after != before {
		t.Errorf("%d gone, %d descriptors at once, %d of %d after", gone, most, after, before)
	}
}
