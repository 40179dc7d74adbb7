package beneath

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig"
)

func (w *world) mount(source, p, kind string, flags uintptr, data string) {
	w.t.Helper()
	must(w.t, os.MkdirAll(w.path(p), 0o755))
	if source != "none" {
		source = w.path(source)
	}
	must(w.t, unix.Mount(source, w.path(p), kind, flags, data))
	w.t.Cleanup(func() { _ = unix.Unmount(w.path(p), unix.MNT_DETACH) })
}

func (w *world) bind(p, source string) {
	w.t.Helper()
	if i, err := os.Stat(w.path(source)); err == nil && !i.IsDir() {
		must(w.t, unix.Mount(w.path(source), w.path(p), "", unix.MS_BIND, ""))
		w.t.Cleanup(func() { _ = unix.Unmount(w.path(p), unix.MNT_DETACH) })
		return
	}
	w.mount(source, p, "", unix.MS_BIND, "")
}

func TestKernelFileSystems(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to mount /proc")
	}
	if !rig.OwnMounts(t) {
		return
	}
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		w.mount("none", "ws/proc", "proc", 0, "")
		w.mount("none", "ws/sys", "sysfs", 0, "")
		w.mount("none", "ws/pts", "devpts", 0, "")
		w.do("link ws/env proc/self/environ", "link ws/exe proc/self/exe", "link ws/cwd proc/self/cwd", "link ws/abs $ROOT/proc/self/root$OUT/secret")
		files := []string{"proc/self/environ", "proc/version", "proc/1/mem", "proc", "proc/sys/kernel/hostname", "sys/kernel", "sys", "pts", "pts/ptmx", "env",
			"proc/self/exe", "exe", "cwd", "abs", "proc/self/root" + w.dir + "/out/secret", "proc/self/fd/0", "cwd/etc/passwd"}
		for _, s := range []*Set{w.set(walkOnly), w.set(walkOnly, "ws:nomounts")} {
			for _, p := range files {
				for _, how := range []How{Any, File, Dir, Handle} {
					got, _ := read(s, Ref{0, p}, how)
					word, _, _ := strings.Cut(got, " ")
					if !slices.Contains([]string{"special_file", "path_unresolvable", "rule_denied"}, word) {
						t.Errorf("%s as %d: %s", p, how, got)
					}
				}
			}
			if _, err := s.Entry(Ref{0, "proc/new"}, false); rootbound.ReasonOf(err) != "special_file" && rootbound.ReasonOf(err) != "rule_denied" {
				t.Error(err)
			}
			if _, _, err := s.MkdirAll(Ref{0, "proc/new/x"}, allow, direct); rootbound.ReasonOf(err) != "special_file" && rootbound.ReasonOf(err) != "rule_denied" {
				t.Error(err)
			}
			got, failed := walkAll(t, s, "")
			if len(got) != 10 || len(failed) != 3 {
				t.Errorf("%q failed %q", got, failed)
			}
		}
		if got, _ := read(w.set(walkOnly), Ref{0, "proc/self/exe"}, Any); got != "path_unresolvable [magic_link]" {
			t.Error(got)
		}
		for _, p := range []string{"ws/proc", "ws/sys", "ws/pts"} {
			if _, err := OpenRoot(w.path(p)); outcome(err) != "root_unusable [special]" {
				t.Error(err)
			}
		}
	})
}

func TestMounts(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		w.do("file ws/one x", "link ws/l m/sub", "link ws/abs $ROOT/m/f")
		w.bind("ws/m", "out")
		w.bind("ws/one", "out/f")
		w.mount("none", "ws/t", "tmpfs", 0, "size=1m")
		w.do("file ws/t/x " + inside)

		s := w.set(walkOnly)
		for p, crossed := range map[string]bool{"m/f": true, "one": true, "t/x": true, "m": true, "d/f": false, "l/inner": true, "abs": true, "m/../d/f": false} {
			o, err := s.Open(Ref{0, p}, Any)
			must(t, err)
			if o.Crossed() != crossed {
				t.Errorf("%s: crossed %v", p, o.Crossed())
			}
			if fs := o.FS(); strings.HasPrefix(p, "t/") && fs != "tmpfs" {
				t.Errorf("%s: %s", p, fs)
			}
			o.Close()
		}
		for p, crossed := range map[string]bool{"m/new": true, "new": false, "l/new": true} {
			e, err := s.Entry(Ref{0, p}, false)
			must(t, err)
			if e.Crossed() != crossed || e.Inside() != nil {
				t.Errorf("%s: crossed %v %v", p, e.Crossed(), e.Inside())
			}
			e.Close()
		}
		put(t, s, "t/new", "x")
		// The two ends are on different file systems, or on two mounts of one.
		for _, to := range []string{"t/f", "m/g"} {
			from, err := s.Entry(Ref{0, "d/f"}, false)
			must(t, err)
			dest, err := s.Entry(Ref{0, to}, false)
			must(t, err)
			if got := outcome(from.Rename(dest, ObjectID{}, false)); got != "cross_device" {
				t.Errorf("%s: %s", to, got)
			}
			from.Close()
			dest.Close()
		}

		const denied = "rule_denied [mounts]"
		s = w.set(walkOnly, "ws:nomounts")
		for _, p := range []string{"m/f", "m", "one", "t/x", "l/inner", "l", "abs", "m/../d/f", "m/nothing"} {
			for _, how := range []How{Any, Handle} {
				if got, _ := read(s, Ref{0, p}, how); got != denied {
					t.Errorf("%s: %s", p, got)
				}
			}
		}
		if got, _ := read(s, Ref{0, "d/f"}, File); got != "text:"+inside {
			t.Error(got)
		}
		for _, p := range []string{"m/new", "l/new", "t/a/b"} {
			if _, err := s.Entry(Ref{0, p}, false); outcome(err) != denied {
				t.Errorf("%s: %v", p, err)
			}
		}
		if _, _, err := s.MkdirAll(Ref{0, "t/a/b"}, allow, direct); outcome(err) != denied {
			t.Error(err)
		}
		got, failed := walkAll(t, s, "")
		if slices.Contains(got, "2 m/f") || !slices.Equal(failed, []string{"m: " + denied, "t: " + denied}) {
			t.Errorf("%q failed %q", got, failed)
		}
		top, err := s.Open(Ref{}, Dir)
		must(t, err)
		defer top.Close()
		must(t, top.List(ctx(), "", func(n *Node) (Step, error) {
			if o, err := n.Open(); (n.Name() == "m" || n.Name() == "t" || n.Name() == "one") && outcome(err) != denied {
				t.Errorf("%s: %v", n.Name(), err)
			} else if err == nil {
				o.Close()
			}
			// Nor are size and times of what is mounted told.
			if i, err := n.Info(); (n.Name() == "m" || n.Name() == "t" || n.Name() == "one") != (outcome(err) == denied) || err != nil && i != (Info{}) {
				t.Errorf("%s: %+v %v", n.Name(), i, err)
			}
			return Into, nil
		}))
		// A mount that is itself granted may be entered.
		s = w.set(walkOnly, "ws:nomounts", "ws/m")
		if got, _ := read(s, Ref{0, "m/f"}, File); got != "text:"+secret {
			t.Error(got)
		}
		if got, _ := read(s, Ref{0, "one"}, File); got != denied {
			t.Error(got)
		}
	})
}

func TestMountOverRoot(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	w := newWorld(t)
	r := w.root("ws")
	s := NewSet([]Member{{Root: r}}, nil)
	w.mount("none", "ws", "tmpfs", 0, "")
	if err := r.Unmoved(); outcome(err) != "root_replaced" {
		t.Error(err)
	}
	if got, _ := read(s, Ref{0, "d/f"}, File); got != "text:"+inside {
		t.Error(got)
	}
}

func TestFullAndReadOnly(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		w.mount("none", "ws/small", "tmpfs", 0, "size=65536")
		old := repeat(40_000, "o")
		w.do("file ws/small/t " + old)
		s := w.set(walkOnly)
		if got := outcome(write(s, "small/t", repeat(200_000, "n"))); got != "io_error [no space left on device]" {
			t.Error(got)
		}
		if w.text("ws/small/t") != old || w.names("ws/small") != "t" {
			t.Error("the old file did not survive:", w.names("ws/small"))
		}
		must(t, unix.Mount("", w.path("ws/small"), "", unix.MS_REMOUNT|unix.MS_RDONLY, "size=65536"))
		if got := outcome(write(s, "small/t", "n")); got != "io_error [read-only file system]" {
			t.Error(got)
		}
	})
}

// TestOverlayLower replaces and moves what comes from the lower layer of an overlay, where the first change copies up.
func TestOverlayLower(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	for _, kind := range []string{"one file system", "two file systems"} {
		t.Run(kind, func(t *testing.T) {
			eachTier(t, func(t *testing.T, walkOnly bool) {
				w := newWorld(t)
				w.do("file low/d/f "+inside, "file low/alive alive", "link low/l d/f", "file low/g x")
				if kind == "two file systems" {
					w.mount("none", "upper", "tmpfs", 0, "")
				}
				w.do("mkdir upper/u", "mkdir upper/w")
				data := "lowerdir=" + w.path("low") + ",upperdir=" + w.path("upper/u") + ",workdir=" + w.path("upper/w")
				w.mount("none", "over", "overlay", 0, data)
				s := w.set(walkOnly, "over")
				put(t, s, "d/f", "new")
				put(t, s, "l", "newer")
				put(t, s, "created", "x")
				if w.text("over/d/f") != "newer" || w.text("low/d/f") != inside || w.names("over/d") != "f" {
					t.Error(w.text("over/d/f"), w.names("over/d"))
				}
				from, err := s.Entry(Ref{0, "g"}, false)
				must(t, err)
				defer from.Close()
				to, err := s.Entry(Ref{0, "d/g"}, false)
				must(t, err)
				defer to.Close()
				i, err := from.Lstat()
				must(t, err)
				must(t, from.Rename(to, i.ID, false))
				i, err = to.Lstat()
				must(t, err)
				must(t, to.Remove(i.ID))
				if got, _ := read(s, Ref{0, "l"}, File); got != "text:newer" {
					t.Error(got)
				}
			})
		})
	}
}
