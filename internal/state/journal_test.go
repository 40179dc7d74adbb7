package state

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/beneath"
)

// removeHere is RemoveLeftover without the resolver, for tests of the journal alone.
func removeHere(_ context.Context, l Leftover) error {
	path := filepath.Join(l.Root, l.Dir, l.Name)
	id, ok := idOf(os.Lstat, path)
	if !ok || id != l.ID {
		return fs.ErrNotExist
	}
	return os.Remove(path)
}

func TestRecoverAfterKill(t *testing.T) {
	for name, remove := range map[string]func(context.Context, Leftover) error{"journal": removeHere, "resolver": RemoveLeftover} {
		t.Run(name, func(t *testing.T) {
			d, dir := open(t), t.TempDir()
			stay, odd, gone, other := filepath.Join(dir, "stay"), filepath.Join(dir, "bad\xff \"\n name"), filepath.Join(dir, "gone"), filepath.Join(dir, "other")
			c := start(t, "stage", d.Path(), stay, odd, gone, other)
			c.expect(t, "staged")

			if n, err := d.Recover(t.Context(), remove); n != 0 || err != nil {
				t.Fatalf("while the process lives: removed %d, %v", n, err)
			}
			c.kill(t)
			os.Remove(gone)
			keep := filepath.Join(dir, "keep") // so that the new file has another inode
			os.Rename(other, keep)
			if err := os.WriteFile(other, []byte("somebody's"), 0o600); err != nil {
				t.Fatal(err)
			}
			if n, err := d.Recover(t.Context(), remove); n != 2 || err != nil {
				t.Fatalf("removed %d, %v; want 2", n, err)
			}
			for path, want := range map[string]bool{stay: false, odd: false, gone: false, other: true, keep: true} {
				if _, err := os.Lstat(path); (err == nil) != want {
					t.Errorf("%q: %v", path, err)
				}
			}
			if left, _ := os.ReadDir(filepath.Join(d.Path(), "journal")); len(left) != 0 {
				t.Errorf("journals left: %v", left)
			}
		})
	}
}

func TestRecoverFollowsNoLink(t *testing.T) {
	d, dir, outside := open(t), t.TempDir(), t.TempDir()
	victim := filepath.Join(outside, "tmp")
	if err := os.WriteFile(victim, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	id, _ := idOf(os.Lstat, victim)
	j, err := d.Journal()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Staged(dir, "sub", "tmp", id, nil); err != nil {
		t.Fatal(err)
	}
	j.file.Close() // as if it had died
	if err := os.Symlink(outside, filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if n, err := d.Recover(t.Context(), RemoveLeftover); n != 0 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	if _, err := os.Lstat(victim); err != nil {
		t.Errorf("a file outside the root was removed through a link")
	}
}

// TestRecoverRemovesAnUnfinishedTree removes by identity, follows no link in it, and leaves other directories alone.
func TestRecoverRemovesAnUnfinishedTree(t *testing.T) {
	d, dir, outside := open(t), t.TempDir(), t.TempDir()
	j, err := d.Journal()
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(outside, "kept")
	for _, err := range []error{
		os.WriteFile(kept, []byte("x"), 0o600),
		os.MkdirAll(filepath.Join(dir, beneath.TempPrefix+"tree", "d", "e"), 0o700),
		os.WriteFile(filepath.Join(dir, beneath.TempPrefix+"tree", "d", "f"), []byte("x"), 0o600),
		os.Symlink(outside, filepath.Join(dir, beneath.TempPrefix+"tree", "d", "l")),
		os.Chmod(filepath.Join(dir, beneath.TempPrefix+"tree", "d"), 0o500),
		os.MkdirAll(filepath.Join(dir, beneath.TempPrefix+"other", "d"), 0o700),
		os.MkdirAll(filepath.Join(dir, "plain", "d"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, wrong := range map[string]uint64{beneath.TempPrefix + "tree": 0, beneath.TempPrefix + "other": 1, "plain": 0} {
		id, _ := idOf(os.Lstat, filepath.Join(dir, name))
		id.Ino += wrong
		if _, err := j.Staged(dir, "", name, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	j.file.Close() // as if it had died
	if n, err := d.Recover(t.Context(), RemoveLeftover); n != 1 || err != nil {
		t.Errorf("removed %d, %v; want 1", n, err)
	}
	for path, want := range map[string]bool{beneath.TempPrefix + "tree": false, beneath.TempPrefix + "other/d": true, "plain/d": true} {
		if _, err := os.Lstat(filepath.Join(dir, path)); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Error("something outside was removed through a link")
	}
}

func TestRecoverKeepsWhatItCannotReach(t *testing.T) {
	d := open(t)
	j, err := d.Journal()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Staged("/no/such/root", "", "tmp", beneath.ObjectID{Dev: 1, Ino: 1}, nil); err != nil {
		t.Fatal(err)
	}
	j.file.Close()
	for range 2 { // the entry is still there at the second try
		if _, err := d.Recover(t.Context(), RemoveLeftover); err == nil || !strings.Contains(err.Error(), "cannot be opened now") {
			t.Errorf("%v", err)
		}
	}
}

func TestJournalForgets(t *testing.T) {
	d := open(t)
	j, err := d.Journal()
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("n", 200)
	for range 1000 {
		done, err := j.Staged("/root", "dir", name, beneath.ObjectID{Dev: 1, Ino: 2}, nil)
		if err != nil {
			t.Fatal(err)
		}
		done()
		done()
	}
	if st, err := os.Stat(j.path); err != nil || st.Size() > 2*journalTrim {
		t.Errorf("size %d, %v", st.Size(), err)
	}
	if _, err := j.Staged("/root", "", "last", beneath.ObjectID{Dev: 1, Ino: 3}, nil); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(j.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if l := leftovers(f); len(l) != 1 || l[0].Name != "last" || !l[0].Boot {
		t.Errorf("%+v", l)
	}
	j.live--
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(j.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the journal stays: %v", err)
	}
}

func TestOwn(t *testing.T) {
	tmp := t.TempDir()
	d, err := Open(env("ROOTBOUND_STATE_DIR", filepath.Join(tmp, "a", "state")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Key("token"); err != nil {
		t.Fatal(err)
	}
	config, log := filepath.Join(tmp, "b", "config.yaml"), filepath.Join(tmp, "c", "audit.jsonl")
	for _, p := range []string{config, log, log + ".20261129T101112.000000000Z.7"} {
		os.MkdirAll(filepath.Dir(p), 0o700)
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(tmp, "link.yaml")
	if err := os.Symlink(config, link); err != nil {
		t.Fatal(err)
	}
	own := d.Own(link)
	own.AddLog(log)
	has := func(path string) bool {
		want, ok := idOf(os.Lstat, path)
		return ok && slices.ContainsFunc(own.Files(), func(f File) bool { return f.ID == want })
	}
	for _, p := range []string{d.Path(), filepath.Join(d.Path(), "keys"), filepath.Join(d.Path(), "keys", "token"), link, config, log, log + ".20261129T101112.000000000Z.7"} {
		if !has(p) {
			t.Errorf("own file not known: %s", p)
		}
	}
	for _, p := range []string{tmp, filepath.Join(tmp, "a"), filepath.Join(tmp, "b"), filepath.Join(tmp, "c"), "/"} {
		if has(p) {
			t.Errorf("%s is no file of ours", p)
		}
	}
	os.Remove(config)
	os.WriteFile(config, []byte("new"), 0o600)
	own.Refresh()
	if !has(config) {
		t.Error("the replaced configuration is not known")
	}
}

// TestRecoverAfterExchange: a process died between exchanging the new file with the old one and removing the old one.
func TestRecoverAfterExchange(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(temp string) error
		removed   int
	}{
		"nothing else happened": {func(string) error { return nil }, 1},
		"somebody wrote to it":  {func(temp string) error { return os.WriteFile(temp, []byte("theirs"), 0o600) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d, dir := open(t), t.TempDir()
			file, temp := filepath.Join(dir, "f"), filepath.Join(dir, "tmp")
			for path, text := range map[string]string{file: "old bytes", temp: "new bytes"} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			st, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			was, _ := idOf(os.Lstat, file)
			staged, _ := idOf(os.Lstat, temp)
			j, err := d.Journal()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := j.Staged(dir, "", "tmp", staged, &beneath.Info{ID: was, Size: st.Size(), MTime: st.ModTime()}); err != nil {
				t.Fatal(err)
			}
			for _, move := range [][2]string{{file, file + ".x"}, {temp, file}, {file + ".x", temp}} {
				if err := os.Rename(move[0], move[1]); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.meanwhile(temp); err != nil {
				t.Fatal(err)
			}
			j.file.Close() // as if it had died
			if n, err := d.Recover(t.Context(), RemoveLeftover); n != c.removed || err != nil {
				t.Errorf("removed %d, %v; want %d", n, err, c.removed)
			}
			if b, _ := os.ReadFile(file); string(b) != "new bytes" {
				t.Errorf("the published file holds %q", b)
			}
		})
	}
}

// FuzzLeftovers: no journal ends the program, and what Staged writes reads back.
func FuzzLeftovers(f *testing.F) {
	f.Add("+ 0 1 2 3 4 5 \"/r\" \"d\" \"n\"\n- 0\n", "/root", "a/b", "tmp\xff\n")
	f.Add("+ 0 1 2\n+ x\n-\n", "", "", "\"")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text, root, sub, name string) {
		path := filepath.Join(dir, "journal")
		os.Remove(path)
		j, err := newJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		defer j.file.Close()
		if _, err := j.Staged(root, sub, name, beneath.ObjectID{Dev: 1, Ino: 2}, nil); err != nil {
			t.Fatal(err)
		}
		read := func() []Leftover {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			return leftovers(f)
		}
		l := read()
		if len(l) != 1 || l[0].Root != root || l[0].Dir != sub || l[0].Name != name || l[0].ID.Ino != 2 {
			t.Fatalf("%+v", l)
		}
		if err := j.write(text); err != nil {
			t.Fatal(err)
		}
		read()
	})
}
