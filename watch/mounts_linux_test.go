package watch

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/internal/rig"
	"golang.org/x/sys/unix"
)

// What is mounted over a watched directory is watched from then on, and what it hid when it goes; of both inotify says
// nothing. A file that is mounted by itself cannot be watched, and that is said.
func TestMountsAreNoticed(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	w := newWorld(t)
	w.do("file ws/d/f 1", "file ws/d/sub/g 1", "file ws/one 1", "file ws/e/f 1", "file out/f 1", "file out/sub/g 1", "file far/f 1")
	bind := func(from, to string) {
		t.Helper()
		must(t, unix.Mount(w.dir+"/"+from, w.dir+"/"+to, "", unix.MS_BIND, ""))
		t.Cleanup(func() { _ = unix.Unmount(w.dir+"/"+to, unix.MNT_DETACH) })
	}
	in := newWatcher(t, Options{Window: -1})
	all, tree := w.watch(in, "", true, nil)
	_, file := w.watch(in, "d/f", false, nil)
	_, one := w.watch(in, "one", false, nil)
	_, other := w.watch(in, "e", true, nil)

	bind("out", "far") // of no interest to any of them
	bind("out", "ws/d")
	tree.until(Event{Kind: Overflow})
	file.until(Event{Kind: Ended, Why: rootbound.MovedOut})
	w.hears(all, tree, "out/f", "d/f")
	w.hears(all, tree, "ws/d/sub/new", "d/sub/new")

	bind("out/f", "ws/one")
	one.until(Event{Kind: Ended, Why: rootbound.IOError})
	o := w.open("one")
	defer o.Close()
	if _, err := in.Add(t.Context(), o, false, nil, one.add); rootbound.ReasonOf(err) != rootbound.IOError || !strings.Contains(err.Error(), "mounted") {
		t.Errorf("a mounted file is watched: %v", err)
	}

	err := unix.Unmount(w.dir+"/ws/d", 0)
	for ; errors.Is(err, unix.EBUSY); err = unix.Unmount(w.dir+"/ws/d", 0) {
		runtime.Gosched() // what a watch resolves anew it holds until it has judged it, and no longer
	}
	must(t, err)
	told := w.hears(all, tree, "ws/d/f", "d/f")
	w.do("file out/"+canary+" x", "file out/sub/"+canary+" x")
	nothing(t, append(told, w.hears(all, tree, "ws/d/sub/g", "d/sub/g")...))
	w.do("file ws/e/f 2")
	for _, e := range other.until(Event{Rel: "f", Kind: Changed}) {
		if e.Kind == Overflow {
			t.Error("told to read again for a mount elsewhere")
		}
	}
}

// hears changes a file until that is told by its name: an Overflow has a window of its own, in which all is told as one more.
func (w *world) hears(x *Watch, l *log, file, rel string) (told []Event) {
	w.t.Helper()
	want := Event{Rel: rel, Kind: Changed}
	for {
		w.do("file " + file + " x")
		told = append(told, l.untilAny(want, Event{Kind: Overflow})...)
		if told[len(told)-1] == want {
			return told
		}
		x.rests()
	}
}

// Without a way to hear of mounts all else is told.
func TestMountsThatCannotBeFollowed(t *testing.T) {
	m, err := beneath.NewMounts()
	must(t, err)
	m.Close()
	m.Close()
	w := newWorld(t)
	_, l := w.watch(newWatcher(t, Options{Mounts: m}), "", true, nil)
	w.do("file ws/f 1")
	l.until(Event{Rel: "f", Kind: Changed})
}
