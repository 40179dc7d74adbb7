package guard_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
	"golang.org/x/sys/unix"
)

func TestCopyAcrossFile(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("environment: needs root to give a file to another user")
	}
	if !rig.OwnMounts(t) {
		return
	}
	l := &ledger{}
	p := one(rootbound.Full)
	p.CopyAcross = true
	h := build(t, guard.Options{Journal: l}, func(dir string) { rig.Tmpfs(t, filepath.Join(dir, "p/t"), 64<<20) }, p)
	big := strings.Repeat("0123456789abcdef", 20<<16) // 20 MiB: synced on the way too
	h.file("p/big", big)
	at := filepath.Join(h.dir, "p/big")
	must(t, os.Chown(at, 1234, 2345))
	must(t, os.Chmod(at, 0o640|os.ModeSetuid))
	_ = unix.Setxattr(at, "user.kept", []byte("v"), 0)
	then := time.Unix(1_500_000_000, 123_000_000)
	must(t, os.Chtimes(at, then, then))
	if m, err := h.moveWith(guard.Request{Root: "p", DestRoot: "p", Path: "big", Dest: "t/big"}, nil); err != nil || len(m.Warnings) > 0 {
		t.Fatal(m, err)
	}
	h.gone("p/big")
	h.has("p/t/big", big)
	h.holds("p", fmt.Sprintf("t/ t/big=%d bytes", len(big)))
	i, err := os.Stat(filepath.Join(h.dir, "p/t/big"))
	must(t, err)
	st := i.Sys().(*syscall.Stat_t)
	if i.Mode() != 0o640 || st.Uid != 1234 || st.Gid != 2345 || !i.ModTime().Equal(then) {
		t.Errorf("%v %d:%d %v", i.Mode(), st.Uid, st.Gid, i.ModTime())
	}
	if l.told != 2 || l.live != 0 {
		t.Errorf("%+v", *l)
	}
	// and back, over what is there
	h.file("p/old", "old")
	back := guard.Request{Root: "p", DestRoot: "p", Path: "t/big", Dest: "old"}
	refused(t, "exists", h.move(back), rootbound.Exists)
	back.Overwrite = true
	must(t, h.move(back))
	h.has("p/old", big)
	h.holds("p", fmt.Sprintf("old=%d bytes t/", len(big)))
	// a hard link stays behind, and the caller is told
	h.file("p/a", "x")
	must(t, os.Link(filepath.Join(h.dir, "p/a"), filepath.Join(h.dir, "p/b")))
	if m, err := h.moveWith(guard.Request{Root: "p", DestRoot: "p", Path: "a", Dest: "t/a"}, nil); err != nil || len(m.Warnings) != 1 {
		t.Error(m, err)
	}
	h.has("p/b", "x")
	h.has("p/t/a", "x")
}

// TestCopyAcrossIsAsked: both projects must say it, and the destination's limit holds.
func TestCopyAcrossIsAsked(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	for _, on := range []string{"", "a", "b", "ab"} {
		var two []rootbound.Project
		for _, id := range []string{"a", "b"} {
			two = append(two, rootbound.Project{ID: rootbound.RootID(id), Dir: id, Rights: rootbound.Full, MovesAcross: true, CopyAcross: strings.Contains(on, id), MaxWrite: 10})
		}
		two[0].MaxWrite = 0
		h := build(t, guard.Options{}, func(dir string) { rig.Tmpfs(t, filepath.Join(dir, "b"), 1<<20) }, two...)
		h.file("a/f", "text")
		h.file("a/d/f", "text")
		h.file("a/large", "more than ten bytes")
		want := rootbound.CrossDevice
		if on == "ab" {
			want = ""
		}
		for _, f := range []string{"f", "d"} {
			refused(t, "copying on "+on, h.move(guard.Request{Root: "a", DestRoot: "b", Path: f, Dest: f}), want)
		}
		if on != "ab" {
			h.holds("a", "d/ d/f=text f=text large=more than ten bytes")
			h.holds("b", "")
			continue
		}
		h.file("a/d/large", "more than ten bytes")
		for _, f := range []string{"large", "d"} {
			refused(t, f, h.move(guard.Request{Root: "a", DestRoot: "b", Path: f, Dest: "new"}), rootbound.TooLarge)
		}
		h.holds("a", "d/ d/large=more than ten bytes large=more than ten bytes")
		h.holds("b", "d/ d/f=text f=text")
	}
}

func TestCopyAcrossTree(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	h := apart(t, 1<<20)
	h.tree()
	then := time.Unix(1_500_000_000, 0)
	must(t, os.Chmod(filepath.Join(h.dir, "p/d/e"), 0o510|os.ModeSetgid))
	must(t, os.Chmod(filepath.Join(h.dir, "p/d"), 0o750))
	must(t, os.Chtimes(filepath.Join(h.dir, "p/d/e"), then, then))
	private := false
	m, err := h.moveWith(guard.Request{Root: "p", DestRoot: "p", Path: "d", Dest: "t/d"}, func(_ context.CancelFunc, s *stepping) {
		s.copied = func(int) {
			list, err := filepath.Glob(filepath.Join(h.dir, "p/t", beneath.TempPrefix+"*"))
			must(t, err)
			if len(list) != 1 {
				t.Fatal(list)
			}
			i, err := os.Stat(list[0])
			must(t, err)
			if private = i.Mode().Perm() == 0o700; !private {
				t.Error("the unfinished tree is open:", i.Mode())
			}
		}
	})
	if err != nil || len(m.Warnings) > 0 || !private {
		t.Fatal(m, err, private)
	}
	h.holds("p", "t/ t/"+strings.ReplaceAll(treeText, " d/", " t/d/"))
	for p, want := range map[string]os.FileMode{"p/t/d": 0o750, "p/t/d/e": 0o510, "p/t/d/empty": 0o755} {
		i, err := os.Stat(filepath.Join(h.dir, p))
		must(t, err)
		if i.Mode().Perm() != want || i.Mode()&os.ModeSetgid != 0 || strings.HasSuffix(p, "/e") && !i.ModTime().Equal(then) {
			t.Error(p, i.Mode(), i.ModTime())
		}
	}
	refused(t, "exists", h.move(guard.Request{Root: "p", DestRoot: "p", Path: "t/d/e", Dest: "t/d/z"}), rootbound.Exists)
	h.file("p/x", "file")
	over := guard.Request{Root: "p", DestRoot: "p", Path: "t/d", Dest: "x", Overwrite: true}
	refused(t, "directory over file", h.move(over), rootbound.NotADirectory)
	h.has("p/x", "file")
	// the rules of the destination hold for each entry
	h.file("p/t/s/.env", "secret")
	refused(t, "rule", h.move(guard.Request{Root: "p", DestRoot: "p", Path: "t/s", Dest: "s"}), rootbound.RuleDenied)
	h.has("p/t/s/.env", "secret")
}

// TestCopyAcrossRefusesBeforeAnythingIsMade: what a copy cannot bring over stays, whole.
func TestCopyAcrossRefusesBeforeAnythingIsMade(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	h := apart(t, 1<<20)
	h.tree()
	h.link("p/l", filepath.Join(h.dir, "p/d/z"))
	h.link("p/linked/l", "../d/z")
	h.file("p/linked/f", "x")
	must(t, unix.Mkfifo(filepath.Join(h.dir, "p/d/pipe"), 0o600))
	rig.Tmpfs(t, filepath.Join(h.dir, "p/m/inner"), 1<<16)
	h.file("p/m/inner/f", "x")
	must(t, os.MkdirAll(filepath.Join(h.dir, "p/t/sub"), 0o755))
	must(t, os.MkdirAll(filepath.Join(h.dir, "p/again"), 0o755))
	must(t, unix.Mount(filepath.Join(h.dir, "p/d/e"), filepath.Join(h.dir, "p/again"), "", unix.MS_BIND, ""))
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(h.dir, "p/again"), unix.MNT_DETACH) })
	before := h.all("p")
	for _, c := range []struct {
		from, to string
		want     rootbound.Reason
		says     string
	}{
		{"l", "t/l", rootbound.CrossDevice, "a copy never makes links"},
		{"linked", "t/linked", rootbound.CrossDevice, "Leave links where they are"},
		{"d", "t/d", rootbound.SpecialFile, ""},
		{"m", "t/m", rootbound.CrossDevice, "mount point"},
		{"m/inner", "t/m", rootbound.CrossDevice, "mount point"},
		{"d", "again/d", rootbound.PathInvalid, ""}, // into itself, by another mount
	} {
		made := 0
		_, err := h.moveWith(guard.Request{Root: "p", DestRoot: "p", Path: c.from, Dest: c.to}, func(_ context.CancelFunc, s *stepping) {
			s.copied = func(int) { made++ }
		})
		refused(t, c.from+" to "+c.to, err, c.want)
		says(t, err, c.says)
		if made > 0 {
			t.Error(c.from, "something was copied")
		}
		if now := h.all("p"); now != before {
			t.Errorf("%s: %s\nbefore %s", c.from, now, before)
		}
	}
}

// TestCopyAcrossFailsWhole: full and read-only file systems, cancellation and an ended generation before the copy is
// published leave the source whole and nothing else.
func TestCopyAcrossFailsWhole(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	for _, what := range []string{"file", "tree"} {
		r := guard.Request{Root: "p", DestRoot: "p", Path: "d", Dest: "t/d"}
		fill := func(h *house) {
			h.tree()
			h.file("p/d/zz", strings.Repeat("x", 300_000))
			h.file("p/d/zzz", "last")
			if what == "file" {
				must(t, os.Rename(filepath.Join(h.dir, "p/d/zz"), filepath.Join(h.dir, "p/f")))
				r.Path, r.Dest = "f", "t/f"
			}
		}
		for _, c := range []struct {
			name string
			size int
			want rootbound.Reason
			says string
			do   func(*house, context.CancelFunc, *stepping)
		}{
			{"full disk", 200_000, rootbound.IOError, "no space left", nil},
			{"read-only", 1 << 20, rootbound.IOError, "read-only", func(h *house, _ context.CancelFunc, _ *stepping) {
				must(t, unix.Mount("", filepath.Join(h.dir, "p/t"), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
			}},
			{"cancelled", 1 << 20, rootbound.Cancelled, "", func(_ *house, cancel context.CancelFunc, s *stepping) {
				s.copied = func(n int) {
					if n > 1000 {
						cancel()
					}
				}
			}},
			{"the copy is damaged", 1 << 20, rootbound.IOError, "reads back differently", func(h *house, _ context.CancelFunc, s *stepping) {
				s.copied = func(n int) {
					if n > 1000 {
						h.damage("p/t")
					}
				}
			}},
			{"generation ended", 1 << 20, rootbound.RevokedByUser, "", func(h *house, _ context.CancelFunc, s *stepping) {
				s.copied = func(n int) {
					if n > 1000 {
						h.auth.Revoke("p")
					}
				}
			}},
			{"ended at the last moment", 1 << 20, rootbound.RevokedByUser, "", func(h *house, _ context.CancelFunc, s *stepping) {
				s.commit = func(n int) {
					if n == 2 { // the first is the rename that cannot work
						h.auth.Revoke("p")
					}
				}
			}},
		} {
			h := apart(t, c.size)
			fill(h)
			before := h.all("p")
			_, err := h.moveWith(r, func(cancel context.CancelFunc, s *stepping) {
				if c.do != nil {
					c.do(h, cancel, s)
				}
			})
			refused(t, what+" "+c.name, err, c.want)
			says(t, err, c.says)
			if now := h.all("p"); now != before {
				t.Errorf("%s %s: %s\nbefore %s", what, c.name, now, before)
			}
		}
	}
}

// TestCopyAcrossLosesNothing: what another program writes to the source meanwhile is neither missed nor removed.
func TestCopyAcrossLosesNothing(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	write := (*house).change
	for _, c := range []struct {
		name string
		at   int // -n: when the nth file was copied; 0: the first; else before that commit
		do   func(*house)
		path string
		want string // reason of the refusal
		p    string // what p holds afterwards
	}{
		{"file written while it is copied", 0, func(h *house) { write(h, "p/f", "new") }, "f", "version_conflict", "f=new t/"},
		{"file written before it is published", 2, func(h *house) { write(h, "p/f", "new") }, "f", "version_conflict", "f=new t/"},
		{"file written before it is removed", 3, func(h *house) { write(h, "p/f", "new") }, "f", "version_conflict", "f=new t/ t/f=old"},
		{"file written before it is removed, its size and time as before", 3, func(h *house) {
			at := filepath.Join(h.dir, "p/f")
			i, err := os.Stat(at)
			must(t, err)
			write(h, "p/f", "new")
			must(t, os.Chtimes(at, i.ModTime(), i.ModTime()))
		}, "f", "version_conflict", "f=new t/ t/f=old"},
		{"destination taken", 2, func(h *house) { write(h, "p/t/f", "theirs") }, "f", "exists", "f=old t/ t/f=theirs"},
		{"tree: file written while it is copied", 0, func(h *house) { write(h, "p/d/e/deep/f", "new") }, "d", "version_conflict",
			strings.Replace(treeText, "f=1", "f=new", 1) + " t/"},
		{"tree: file written after it was copied", -3, func(h *house) { write(h, "p/d/e/g", "new") }, "d", "version_conflict",
			strings.Replace(treeText, "g=2", "g=new", 1) + " t/"},
		{"tree: file made while it is copied", 0, func(h *house) { write(h, "p/d/late", "new") }, "d", "version_conflict",
			strings.Replace(treeText, " d/z", " d/late=new d/z", 1) + " t/"},
		{"tree: file made before it is removed", 3, func(h *house) { write(h, "p/d/late", "new") }, "d", "version_conflict",
			"d/ d/late=new t/ t/" + strings.ReplaceAll(treeText, " d/", " t/d/")},
		{"tree: file written before it is removed", 3, func(h *house) { write(h, "p/d/z", "new") }, "d", "version_conflict",
			"d/ d/z=new t/ t/" + strings.ReplaceAll(treeText, " d/", " t/d/")},
	} {
		h := apart(t, 1<<20)
		if c.path == "f" {
			h.file("p/f", "old")
		} else {
			h.tree()
		}
		done := false
		_, err := h.moveWith(guard.Request{Root: "p", DestRoot: "p", Path: c.path, Dest: "t/" + c.path}, func(_ context.CancelFunc, s *stepping) {
			files := 0
			s.copied = func(int) {
				if files++; c.at <= 0 && files == max(1, -c.at) {
					done = true
					c.do(h)
				}
			}
			s.commit = func(n int) {
				if n == c.at {
					done = true
					c.do(h)
				}
			}
		})
		refused(t, c.name, err, rootbound.Reason(c.want))
		if !done {
			t.Error(c.name, "did not happen")
		}
		if strings.Contains(c.p, "t/f=old") || strings.Contains(c.p, "t/d") {
			says(t, err, "the copy at the destination is complete", "source", "compare them")
		}
		if got := h.all("p"); got != c.p {
			t.Errorf("%s: %q, want %q", c.name, got, c.p)
		}
	}
}

// TestCopyAcrossSaysWhichStepsWereDone: the generation ends between the copy and the removal.
func TestCopyAcrossSaysWhichStepsWereDone(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	for _, c := range []struct {
		path string
		at   int
		says string
		p    string
	}{
		{"f", 3, "the source was not removed", "f=old t/ t/f=old"},
		{"d", 3, "0 of 7 entries of the source were removed", treeText + " t/ t/" + strings.ReplaceAll(treeText, " d/", " t/d/")},
		{"d", 6, "3 of 7 entries of the source were removed", "d/ d/e/ d/empty/ d/z=3 t/ t/" + strings.ReplaceAll(treeText, " d/", " t/d/")},
	} {
		h := apart(t, 1<<20)
		if c.path == "f" {
			h.file("p/f", "old")
		} else {
			h.tree()
		}
		_, err := h.moveWith(guard.Request{Root: "p", DestRoot: "p", Path: c.path, Dest: "t/" + c.path}, func(_ context.CancelFunc, s *stepping) {
			s.commit = func(n int) {
				if n == c.at {
					h.auth.Revoke("p")
				}
			}
		})
		refused(t, c.path, err, rootbound.RevokedByUser)
		says(t, err, "the copy at the destination is complete", c.says)
		h.holds("p", c.p)
	}
}

// TestCopyAcrossReadOnlySource asks before it copies whether the source can go.
func TestCopyAcrossReadOnlySource(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	h := apart(t, 1<<20)
	h.file("p/t/f", "x")
	must(t, unix.Mount("", filepath.Join(h.dir, "p/t"), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	err := h.move(guard.Request{Root: "p", DestRoot: "p", Path: "t/f", Dest: "f"})
	refused(t, "read-only", err, rootbound.IOError)
	h.holds("p", "t/ t/f=x")
}
