//go:build unix

package guard_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
)

func (h *house) copy(r guard.Request) (fileop.Copied, error) {
	h.t.Helper()
	return h.copyWith(r, nil)
}

// copyWith does something on the way.
func (h *house) copyWith(r guard.Request, prepare func(*slow)) (c fileop.Copied, err error) {
	h.t.Helper()
	r.Op = rootbound.OpCopy
	err = h.do(r, func(ctx context.Context, t *guard.Target) (err error) {
		s := &slow{Target: t}
		if prepare != nil {
			prepare(s)
		}
		c, err = fileop.Copy(ctx, s, fileop.Expected{})
		return err
	})
	return c, err
}

func TestCopy(t *testing.T) {
	l := &register{}
	h := build(t, guard.Options{Journal: l, NoSlow: true}, nil, one(rootbound.ReadWrite))
	h.file("p/f", "in")
	h.file("p/old", "old")
	h.file("p/d/e/g", "g")
	h.file("p/d/x", "x")
	h.mkdirs("p/d/empty")
	h.file("out/x", "OUT")
	h.link("p/link", "f")
	h.link("p/dirlink", "d")
	h.link("p/outlink", "../out/x")
	h.link("p/out", "../out")
	h.link("p/dangling", "none")
	h.link("p/linked/l", "../f")
	h.file("p/linked/a", "a")
	h.file("p/sub/.git/HEAD", "ref")
	h.mkdirs("p/pipes")
	mkfifo(t, filepath.Join(h.dir, "p/pipes/fifo"))
	must(t, os.Chmod(filepath.Join(h.dir, "p/f"), 0o755|os.ModeSetuid))
	before := h.everything("p")
	for _, c := range []struct {
		from, to  string
		overwrite bool
		want      rootbound.Reason
	}{
		{"none", "c", false, rootbound.NotFound}, {"f", "none/c", false, rootbound.ParentMissing}, {"f", "old", false, rootbound.Exists},
		{"f", "f", false, rootbound.Exists}, {"f", "f", true, rootbound.PathInvalid}, {"f", "link", false, rootbound.Exists},
		{"f", "link", true, rootbound.SpecialFile}, {"f", "dangling", true, rootbound.SpecialFile}, {"f", "outlink", true, rootbound.SpecialFile},
		{"f", "d", true, rootbound.IsADirectory}, {"d", "f", true, rootbound.NotADirectory}, {"f", "pipes/fifo", true, rootbound.SpecialFile},
		{"d", "d/new", false, rootbound.PathInvalid}, {"d", "d/e/new", false, rootbound.PathInvalid}, {"d", "dirlink/new", false, rootbound.PathInvalid},
		{".", "c", false, rootbound.PathInvalid}, {"f", ".", false, rootbound.PathInvalid}, {"..", "c", false, rootbound.OutsideRoot},
		{"outlink", "c", false, rootbound.OutsideRoot}, {"out/x", "c", false, rootbound.OutsideRoot}, {"f", "out/c", false, rootbound.OutsideRoot},
		{h.dir + "/out/x", "c", false, rootbound.OutsideRoot}, {"f", h.dir + "/out/c", false, rootbound.OutsideRoot}, {"f", "../out/c", false, rootbound.OutsideRoot},
		{"dangling", "c", false, rootbound.PathUnresolvable}, {"linked", "c", false, rootbound.SpecialFile}, {"pipes", "c", false, rootbound.SpecialFile},
		{"pipes/fifo", "c", false, rootbound.SpecialFile}, {"f/x", "c", false, rootbound.NotADirectory},
	} {
		_, err := h.copy(guard.Request{Path: c.from, Dest: c.to, Overwrite: c.overwrite})
		refused(t, c.from+" → "+c.to, err, c.want)
	}
	if now := h.everything("p"); now != before {
		t.Errorf("refused copies left something: %s\nbefore %s", now, before)
	}
	h.has("out/x", "OUT")
	for _, c := range []struct {
		from, to  string
		overwrite bool
		files     int
		check     string
		text      string
	}{
		{"f", "c", false, 1, "c", "in"}, {"f", "c", true, 1, "c", "in"}, {"f", "old", true, 1, "old", "in"}, {"link", "c2", false, 1, "c2", "in"},
		{"d", "t", false, 2, "t/e/g", "g"}, {"dirlink", "t2", false, 2, "t2/x", "x"}, {"d/e", "d/f", false, 1, "d/f/g", "g"},
	} {
		got, err := h.copy(guard.Request{Path: c.from, Dest: c.to, Overwrite: c.overwrite})
		if err != nil || got.Files != c.files || got.Warnings != nil {
			t.Errorf("%s → %s: %+v, %v", c.from, c.to, got, err)
		}
		h.has("p/"+c.check, c.text)
	}
	for _, p := range []string{"c2", "t2"} {
		if st, err := os.Lstat(filepath.Join(h.dir, "p", p)); err != nil || st.Mode()&os.ModeSymlink != 0 {
			t.Errorf("%s: %v, %v", p, st.Mode(), err)
		}
	}
	if st, err := os.Stat(filepath.Join(h.dir, "p/t/empty")); err != nil || !st.IsDir() {
		t.Errorf("an empty directory is missing: %v", err)
	}
	if st, err := os.Stat(filepath.Join(h.dir, "p/c")); err != nil || st.Mode() != 0o755 {
		t.Errorf("the copy's mode: %v, %v", st.Mode(), err)
	}
	h.has("p/f", "in")
	h.has("p/d/e/g", "g")
	if l.told == 0 || l.live != 0 || strings.Contains(h.everything("p"), ".rootbound-") {
		t.Errorf("left over: %+v %s", l, h.everything("p"))
	}
}

func TestCopyAsksBothEnds(t *testing.T) {
	two := func(a, b rootbound.Project) *house {
		a.ID, a.Dir, b.ID, b.Dir = "a", "a", "b", "b"
		h := build(t, guard.Options{NoSlow: true}, nil, a, b)
		h.file("a/f", "A")
		h.file("a/d/f", "A")
		h.file("a/big/f", "much more")
		h.file("b/old", "old")
		h.file("b/secret", "S")
		return h
	}
	create := rootbound.List | rootbound.Create
	for _, c := range []struct {
		name      string
		a, b      rootbound.Project
		from, to  string
		overwrite bool
		want      rootbound.Reason
	}{
		{"no policy", rootbound.Project{Rights: rootbound.Full}, rootbound.Project{Rights: rootbound.Full}, "f", "f", false, rootbound.CrossRootMove},
		{"policy of one", rootbound.Project{Rights: rootbound.Full, MovesAcross: true}, rootbound.Project{Rights: rootbound.Full}, "f", "f", false, rootbound.CrossRootMove},
		{"reading is enough here, creating there", rootbound.Project{Rights: rootbound.Read, MovesAcross: true}, rootbound.Project{Rights: create, MovesAcross: true}, "f", "f", false, ""},
		{"not even reading", rootbound.Project{Rights: rootbound.List, MovesAcross: true}, rootbound.Project{Rights: create, MovesAcross: true}, "f", "f", false, rootbound.RightMissing},
		{"a tree is listed too", rootbound.Project{Rights: rootbound.Read, MovesAcross: true}, rootbound.Project{Rights: create, MovesAcross: true}, "d", "d", false, rootbound.RightMissing},
		{"a tree", rootbound.Project{Rights: rootbound.ReadOnly, MovesAcross: true}, rootbound.Project{Rights: create, MovesAcross: true}, "d", "d", false, ""},
		{"no create", rootbound.Project{Rights: rootbound.ReadOnly, MovesAcross: true}, rootbound.Project{Rights: rootbound.ReadOnly | rootbound.Write, MovesAcross: true}, "f", "f", false, rootbound.RightMissing},
		{"overwriting needs write", rootbound.Project{Rights: rootbound.ReadOnly, MovesAcross: true}, rootbound.Project{Rights: create, MovesAcross: true}, "f", "old", true, rootbound.RightMissing},
		{"overwriting", rootbound.Project{Rights: rootbound.ReadOnly, MovesAcross: true}, rootbound.Project{Rights: rootbound.Write, MovesAcross: true}, "f", "old", true, ""},
		{"a rule there", rootbound.Project{Rights: rootbound.ReadOnly, MovesAcross: true}, rootbound.Project{Rights: create, MovesAcross: true, Deny: []string{"**/f"}}, "d", "d", false, rootbound.RuleDenied},
		{"a rule here", rootbound.Project{Rights: rootbound.ReadOnly, MovesAcross: true, Deny: []string{"d/f"}}, rootbound.Project{Rights: create, MovesAcross: true}, "d", "d", false, rootbound.RuleDenied},
		{"max_read here", rootbound.Project{Rights: rootbound.ReadOnly, MovesAcross: true, MaxRead: 3}, rootbound.Project{Rights: create, MovesAcross: true}, "big", "big", false, rootbound.TooLarge},
		{"max_write there", rootbound.Project{Rights: rootbound.ReadOnly, MovesAcross: true}, rootbound.Project{Rights: create, MovesAcross: true, MaxWrite: 3}, "big", "big", false, rootbound.TooLarge},
		{"max_write there, one file", rootbound.Project{Rights: rootbound.ReadOnly, MovesAcross: true}, rootbound.Project{Rights: create, MovesAcross: true, MaxWrite: 3}, "big/f", "big", false, rootbound.TooLarge},
	} {
		h := two(c.a, c.b)
		before := h.everything("b")
		_, err := h.copy(guard.Request{Root: "a", Path: c.from, DestRoot: "b", Dest: c.to, Overwrite: c.overwrite})
		refused(t, c.name, err, c.want)
		if now := h.everything("b"); c.want != "" && now != before {
			t.Errorf("%s: %s, before %s", c.name, now, before)
		}
		if c.want == "" && c.overwrite {
			h.has("b/old", "A")
		}
	}
	h := build(t, guard.Options{NoSlow: true}, nil,
		rootbound.Project{ID: "outer", Dir: "o", Rights: rootbound.Full}, rootbound.Project{ID: "inner", Dir: "o/d/inner", Rights: rootbound.Full})
	h.file("o/d/inner/x", "x")
	for _, p := range []string{"d", "d/inner"} {
		_, err := h.copy(guard.Request{Root: "outer", Path: p, DestRoot: "outer", Dest: "c"})
		refused(t, "a project is inside "+p, err, rootbound.ProjectInside)
	}
	h.gone("o/c")
	h = build(t, guard.Options{NoSlow: true, TreeLimit: 2}, nil, one(rootbound.Full))
	for _, f := range []string{"a", "b", "c"} {
		h.file("p/d/"+f, f)
	}
	_, err := h.copy(guard.Request{Path: "d", Dest: "c"})
	refused(t, "over the bound", err, rootbound.LimitReached)
	h.gone("p/c")
}

// A copy holds what its source held at one moment, or is not made; what is put in its place meanwhile stays.
func TestCopyIsOfOneMoment(t *testing.T) {
	for _, c := range []struct {
		name, from string
		overwrite  bool
		do         func(h *house)
		want       rootbound.Reason
	}{
		{"the source is written to", "f", false, func(h *house) { h.change("p/f", "new") }, rootbound.VersionConflict},
		{"the destination is taken", "f", false, func(h *house) { h.change("p/c", "theirs") }, rootbound.Exists},
		{"the destination changes", "f", true, func(h *house) { h.change("p/c", "theirs") }, rootbound.VersionConflict},
		{"an entry of the tree is written to", "d", false, func(h *house) { h.change("p/d/x", "new") }, rootbound.VersionConflict},
		{"something comes into the tree", "d", false, func(h *house) { h.change("p/d/sub/late", "new") }, rootbound.VersionConflict},
		{"a secret comes into the tree", "d", false, func(h *house) { h.change("p/d/sub/.env", "S") }, rootbound.VersionConflict},
		{"revoked", "d", false, func(h *house) { h.auth.Revoke("p") }, rootbound.RevokedByUser},
	} {
		h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.Full))
		h.file("p/f", "in")
		h.file("p/d/x", "x")
		h.file("p/d/sub/y", "y")
		if c.overwrite {
			h.file("p/c", "old")
		}
		done := false
		_, err := h.copyWith(guard.Request{Path: c.from, Dest: "c", Overwrite: c.overwrite}, func(s *slow) {
			s.copied = func() { // something was read
				if !done {
					done = true
					c.do(h)
				}
			}
			s.copiedAfter = 1
		})
		refused(t, c.name, err, c.want)
		if strings.Contains(c.name, "destination") {
			h.has("p/c", "theirs")
		} else {
			h.gone("p/c")
		}
		if strings.Contains(h.everything("p"), ".rootbound-") {
			t.Errorf("%s: left over: %s", c.name, h.everything("p"))
		}
	}
}
