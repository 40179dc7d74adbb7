package fileop

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/effect"
	"github.com/rootbound/rootbound/fileop/text"
	"github.com/rootbound/rootbound/internal/rig"
)

var bg = context.Background()

func TestWriteCreatesAndReplaces(t *testing.T) {
	dir := t.TempDir()
	w, err := Write(bg, open(t, dir, "f"), []byte("one"), Expected{})
	if err != nil || !w.Created || w.Bytes != 3 || get(t, dir+"/f") != "one" {
		t.Fatalf("%+v %v", w, err)
	}
	if err := os.Chmod(dir+"/f", 0o750); err != nil {
		t.Fatal(err)
	}
	w2, err := Write(bg, open(t, dir, "f"), []byte("second"), Expected{})
	if err != nil || w2.Created || get(t, dir+"/f") != "second" || w2.Version == w.Version {
		t.Fatalf("%+v %v", w2, err)
	}
	if i, _ := os.Stat(dir + "/f"); i.Mode().Perm() != 0o750 {
		t.Errorf("mode %v", i.Mode())
	}
	// the version that came back is the one a later stat gives
	if v := open(t, dir, "f").object.Info().Version(); v != w2.Version {
		t.Errorf("version %s, then %s", w2.Version, v)
	}
	if l := leftovers(t, dir); len(l) > 0 {
		t.Errorf("left over: %v", l)
	}
}

func TestWriteThroughALinkKeepsTheLink(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/t.txt", "t")
	if err := os.Symlink("t.txt", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(bg, open(t, dir, "link"), []byte("via"), Expected{}); err != nil {
		t.Fatal(err)
	}
	if i, _ := os.Lstat(dir + "/link"); i.Mode()&os.ModeSymlink == 0 || get(t, dir+"/t.txt") != "via" {
		t.Error("the link was replaced")
	}
}

func TestWriteKeepsOtherNamesOfTheFile(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/a", "old")
	if err := os.Link(dir+"/a", dir+"/b"); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(bg, open(t, dir, "a"), []byte("new"), Expected{}); err != nil {
		t.Fatal(err)
	}
	if get(t, dir+"/a") != "new" || get(t, dir+"/b") != "old" {
		t.Error("a hard link was written in place")
	}
}

func TestExpectedVersion(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/f", "one\n")
	v := open(t, dir, "f").object.Info().Version()
	write := func(name, expect string) error {
		_, err := Write(bg, open(t, dir, name), []byte("two\n"), ParseVersion(expect))
		return err
	}
	wantReason(t, write("f", AbsentVersion), rootbound.Exists)
	wantReason(t, write("f", PartialVersion(v)), rootbound.VersionPartial)
	wantReason(t, write("f", "AAAAAAAAAAAAAAAAAAAAAA"), rootbound.VersionConflict)
	wantReason(t, write("none", v), rootbound.VersionConflict)
	wantReason(t, write("none", PartialVersion(v)), rootbound.VersionPartial)
	if get(t, dir+"/f") != "one\n" {
		t.Fatal("changed")
	}
	edit := func(expect string) error {
		_, err := EditFile(bg, open(t, dir, "f"), []text.Edit{{Old: "one", New: "1"}}, EditOptions{Expect: ParseVersion(expect), DryRun: true})
		return err
	}
	wantReason(t, edit("AAAAAAAAAAAAAAAAAAAAAA"), rootbound.VersionConflict)
	if err := edit(PartialVersion(v)); err != nil {
		t.Errorf("an edit may rest on a part: %v", err)
	}
	if err := write("f", v); err != nil {
		t.Error(err)
	}
	wantReason(t, write("f", v), rootbound.VersionConflict)
	if err := write("new", AbsentVersion); err != nil {
		t.Error(err)
	}
	if ParseVersion("") != (Expected{}) || ParseVersion(AbsentVersion) == (Expected{}) || PartialVersion(PartialVersion("x")) != PartialVersion("x") {
		t.Error("versions")
	}
}

func TestWhatAnotherProgramWroteIsNotLost(t *testing.T) {
	for name, disturb := range map[string]func(path string) error{
		"replaced": func(p string) error {
			return errors.Join(os.WriteFile(p+"2", []byte("theirs"), 0o644), os.Rename(p+"2", p))
		},
		"in place":  func(p string) error { return os.WriteFile(p, []byte("theirs"), 0o644) },
		"same size": func(p string) error { return os.WriteFile(p, []byte("THEIRS\n"), 0o644) },
		"removed":   os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			for _, op := range []string{"write", "edit"} {
				dir := t.TempDir()
				path := dir + "/f"
				put(t, path, "before\n")
				p := open(t, dir, "f")
				p.staged = func() {
					rig.Later(t, path)
					if err := disturb(path); err != nil {
						t.Error(err)
					}
				}
				var err error
				if op == "write" {
					_, err = Write(bg, p, []byte("ours"), Expected{})
				} else {
					_, err = EditFile(bg, p, []text.Edit{{Old: "before", New: "ours"}}, EditOptions{})
				}
				wantReason(t, err, rootbound.VersionConflict)
				if name == "removed" {
					if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
						t.Error("it is back")
					}
				} else if got := get(t, path); !strings.EqualFold(strings.TrimSpace(got), "theirs") {
					t.Errorf("%s: theirs was lost: %q", op, got)
				}
				if l := leftovers(t, dir); len(l) > 0 {
					t.Errorf("left over: %v", l)
				}
			}
		})
	}
	t.Run("appeared", func(t *testing.T) {
		dir := t.TempDir()
		p := open(t, dir, "f")
		p.staged = func() { put(t, dir+"/f", "theirs") }
		_, err := Write(bg, p, []byte("ours"), Expected{})
		wantReason(t, err, rootbound.Exists)
		if get(t, dir+"/f") != "theirs" || len(leftovers(t, dir)) > 0 {
			t.Error("theirs was lost, or something is left over")
		}
	})
}

// TestBytesAreComparedToo changes the file in place between the read and the commit: the bytes tell before anything is
// published, however coarse the times of the file system are.
func TestBytesAreComparedToo(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/f", "before\n")
	p := open(t, dir, "f")
	c := change{
		stage:   func() (effect.Staged, error) { return p.Stage() },
		commit:  func(func() error) error { t.Error("committed"); return nil },
		syncDir: p.entry.SyncDir,
	}
	p.staged = func() { put(t, dir+"/f", "BEFORE\n") }
	_, err := editFile(bg, p, c, p.object.Info(), []text.Edit{{Old: "before", New: "after"}}, EditOptions{Limit: 100})
	wantReason(t, err, rootbound.VersionConflict)
}

func TestRefusedCommitHasNoEffect(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/f", "old")
	stale := &rootbound.Error{Reason: rootbound.GenerationStale}
	for _, name := range []string{"f", "new"} {
		p := open(t, dir, name)
		p.around = func(func() error) error { return stale }
		_, err := Write(bg, p, []byte("new"), Expected{})
		wantReason(t, err, rootbound.GenerationStale)
	}
	if _, err := os.Stat(dir + "/new"); err == nil || get(t, dir+"/f") != "old" || len(leftovers(t, dir)) > 0 {
		t.Error("there was an effect")
	}
}

func TestWriteIsCancelledBeforeTheCommitOnly(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(bg)
	p := open(t, dir, "a")
	p.staged = cancel
	_, err := Write(ctx, p, []byte("x"), Expected{})
	wantReason(t, err, rootbound.Cancelled)
	if _, err := os.Stat(dir + "/a"); err == nil || len(leftovers(t, dir)) > 0 {
		t.Error("there was an effect")
	}
	ctx, cancel = context.WithCancel(bg)
	p = open(t, dir, "b")
	p.around = func(publish func() error) error {
		err := publish()
		cancel()
		return err
	}
	if _, err := Write(ctx, p, []byte("x"), Expected{}); err != nil || get(t, dir+"/b") != "x" {
		t.Errorf("done and reported as %v", err)
	}
}

// TestG32CommittedIsNeverReportedRefused lets everything fail that can fail behind the effect.
func TestG32CommittedIsNeverReportedRefused(t *testing.T) {
	bad := errors.New("the disk is gone")
	stale := &rootbound.Error{Reason: rootbound.GenerationStale}
	for name, c := range map[string]struct {
		after   error // what Commit says although the effect is in force
		syncDir error
	}{
		"directory not synced":       {syncDir: bad},
		"generation ended":           {after: stale},
		"record not written":         {after: &rootbound.Error{Reason: rootbound.AuditUnavailable}},
		"both":                       {after: stale, syncDir: bad},
		"cancelled after the commit": {after: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			for _, op := range []string{"create", "replace", "edit"} {
				dir := t.TempDir()
				if op != "create" {
					put(t, dir+"/f", "old")
				}
				p := open(t, dir, "f")
				ch := change{
					stage: func() (effect.Staged, error) { return p.Stage() },
					commit: func(publish func() error) error {
						if err := publish(); err != nil {
							return err
						}
						return c.after
					},
					syncDir: func() error { return c.syncDir },
				}
				var w Written
				var err error
				switch op {
				case "edit":
					var e Edited
					e, err = editFile(bg, p, ch, p.object.Info(), []text.Edit{{Old: "old", New: "new"}}, EditOptions{Limit: 100})
					if e.Written != nil {
						w = *e.Written
					}
				case "replace":
					old := p.object.Info()
					w, err = replaceWith(bg, ch, &old, []byte("new"), nil)
				default:
					w, err = replaceWith(bg, ch, nil, []byte("new"), nil)
				}
				if get(t, dir+"/f") != "new" {
					t.Fatalf("%s: no effect", op)
				}
				if err != nil {
					t.Errorf("%s: done, but reported as %v", op, err)
				}
				if len(w.Warnings) == 0 {
					t.Errorf("%s: nobody is told", op)
				}
			}
		})
	}
	t.Run("undone", func(t *testing.T) {
		out := &rootbound.Error{Reason: rootbound.MovedOut}
		_, err := effect.Commit(func(effect func() error) error { return errors.Join(effect(), out) }, func() error { return nil })
		wantReason(t, err, rootbound.MovedOut)
	})
}

// TestParallelEditsAreAllApplied is the part of G16 that lies here: under a lock on the entry every acknowledged edit is
// in the file. What another program writes, which takes no lock, is the matter of beneath.Staged.
func TestParallelEditsAreAllApplied(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	const n = 20
	for i := range n {
		b.WriteString("line " + string(rune('a'+i)) + " open\n")
	}
	put(t, dir+"/f", b.String())
	var lock sync.Mutex
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			lock.Lock()
			defer lock.Unlock()
			p, err := placeAt(dir, "f")
			if err != nil {
				t.Error(err)
				return
			}
			defer p.close()
			line := "line " + string(rune('a'+i))
			if _, err = EditFile(bg, p, []text.Edit{{Old: line + " open", New: line + " done"}}, EditOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if after := get(t, dir+"/f"); strings.Count(after, " done\n") != n {
		t.Errorf("an edit is missing:\n%s", after)
	}
	if l := leftovers(t, dir); len(l) > 0 {
		t.Errorf("left over: %v", l)
	}
}

func TestEditFile(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/run.sh", "#!/bin/sh\necho a\n")
	if err := os.Chmod(dir+"/run.sh", 0o755); err != nil {
		t.Fatal(err)
	}
	edits := []text.Edit{{Old: "echo a", New: "echo b"}}
	e, err := EditFile(bg, open(t, dir, "run.sh"), edits, EditOptions{DryRun: true})
	if err != nil || e.Written != nil || get(t, dir+"/run.sh") != "#!/bin/sh\necho a\n" || string(e.After) != "#!/bin/sh\necho b\n" {
		t.Errorf("dry run: %+v %v", e, err)
	}
	e, err = EditFile(bg, open(t, dir, "run.sh"), edits, EditOptions{})
	if err != nil || e.Written == nil || get(t, dir+"/run.sh") != "#!/bin/sh\necho b\n" {
		t.Errorf("%+v %v", e, err)
	}
	if i, _ := os.Stat(dir + "/run.sh"); i.Mode().Perm() != 0o755 {
		t.Errorf("mode %v", i.Mode())
	}
	p := open(t, dir, "run.sh")
	before := p.object.Info().Version()
	if e.Version != before {
		t.Errorf("version %s, then %s", e.Version, before)
	}
	e, err = EditFile(bg, p, []text.Edit{{Old: "echo b", New: "echo b"}}, EditOptions{})
	if err != nil || e.Written != nil || open(t, dir, "run.sh").object.Info().Version() != before {
		t.Errorf("nothing to do, but %+v %v", e, err)
	}
	_, err = EditFile(bg, open(t, dir, "none"), edits, EditOptions{})
	wantReason(t, err, rootbound.NotFound)
	_, err = EditFile(bg, open(t, dir, "run.sh"), edits, EditOptions{Limit: 4})
	wantReason(t, err, rootbound.TooLarge)
}

func TestMove(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/a", "A")
	put(t, dir+"/sub/x", "X")
	move := func(from, to string, overwrite bool) error {
		p := open(t, dir, from)
		q := open(t, dir, to)
		p.dest = q.entry
		p.source, _ = p.entry.Lstat()
		_, err := Move(bg, p, overwrite)
		p.dest = nil
		return err
	}
	if err := move("a", "sub/a", false); err != nil || get(t, dir+"/sub/a") != "A" {
		t.Fatal(err)
	}
	wantReason(t, move("sub/a", "sub/x", false), rootbound.Exists)
	if get(t, dir+"/sub/x") != "X" || get(t, dir+"/sub/a") != "A" {
		t.Error("a refused move had an effect")
	}
	if err := move("sub/a", "sub/x", true); err != nil || get(t, dir+"/sub/x") != "A" {
		t.Error(err)
	}
	// another object took the name
	p, q := open(t, dir, "sub/x"), open(t, dir, "y")
	p.dest, p.source = q.entry, beneath.Info{ID: beneath.ObjectID{Dev: 1, Ino: 1}}
	_, err := Move(bg, p, false)
	p.dest = nil
	wantReason(t, err, rootbound.VersionConflict)
	if _, err := os.Stat(filepath.Join(dir, "y")); err == nil {
		t.Error("it moved")
	}
}
