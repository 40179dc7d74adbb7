package state

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
	if _, err := j.Staged(dir, "sub", "tmp", id); err != nil {
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

func TestRecoverKeepsWhatItCannotReach(t *testing.T) {
	d := open(t)
	j, err := d.Journal()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Staged("/no/such/root", "", "tmp", beneath.ObjectID{Dev: 1, Ino: 1}); err != nil {
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
		done, err := j.Staged("/root", "dir", name, beneath.ObjectID{Dev: 1, Ino: 2})
		if err != nil {
			t.Fatal(err)
		}
		done()
		done()
	}
	if st, err := os.Stat(j.path); err != nil || st.Size() > 2*journalTrim {
		t.Errorf("size %d, %v", st.Size(), err)
	}
	if _, err := j.Staged("/root", "", "last", beneath.ObjectID{Dev: 1, Ino: 3}); err != nil {
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

func TestJournalOnAFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	small := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(small, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=64k,mode=700"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(small, syscall.MNT_DETACH) })
	d, err := Open(env("ROOTBOUND_STATE_DIR", filepath.Join(small, "state")))
	if err != nil {
		t.Fatal(err)
	}
	j, err := d.Journal()
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("n", 250)
	n := 0
	for ; n < 10000; n++ {
		if _, err = j.Staged("/root", "dir", name, beneath.ObjectID{Dev: 1, Ino: uint64(n)}); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("after %d entries: %v", n, err)
	}
	b, err := os.ReadFile(j.path)
	if err != nil || b[len(b)-1] != '\n' {
		t.Errorf("a torn line was left: %q, %v", b[max(0, len(b)-40):], err)
	}
	f, _ := os.Open(j.path)
	defer f.Close()
	if l := leftovers(f); len(l) != n {
		t.Errorf("%d of %d entries can be read", len(l), n)
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
	has := func(ids []beneath.ObjectID, path string) bool {
		want, ok := idOf(os.Lstat, path)
		for _, id := range ids {
			if id == want {
				return ok
			}
		}
		return false
	}
	for _, p := range []string{d.Path(), filepath.Join(d.Path(), "keys"), filepath.Join(d.Path(), "keys", "token"), link, config, log, log + ".20261129T101112.000000000Z.7"} {
		if !has(own.IDs(), p) {
			t.Errorf("own file not known: %s", p)
		}
	}
	for _, p := range []string{tmp, filepath.Join(tmp, "a"), filepath.Join(tmp, "b"), filepath.Join(tmp, "c"), "/"} {
		if !has(own.Above(), p) {
			t.Errorf("directory above not known: %s", p)
		}
		if has(own.IDs(), p) {
			t.Errorf("%s is no file of ours", p)
		}
	}
	os.Remove(config)
	os.WriteFile(config, []byte("new"), 0o600)
	own.Refresh()
	if !has(own.IDs(), config) {
		t.Error("the replaced configuration is not known")
	}
}
