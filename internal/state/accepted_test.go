package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAccepted(t *testing.T) {
	d := openIn(t, t.TempDir())
	if _, err := d.Accepted("/a/c.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before anything: %v", err)
	}
	for _, body := range []string{"first", "second, longer", ""} {
		if err := d.Accept("/a/c.yaml", []byte(body)); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Accepted("/a/c.yaml"); err != nil || string(got) != body {
			t.Errorf("%q, %v, want %q", got, err, body)
		}
	}
	if err := d.Accept("/a/c.yaml", []byte("scope")); err != nil {
		t.Fatal(err)
	}
	path := d.AcceptedPath("/a/c.yaml")
	st, err := os.Stat(path)
	if err != nil || checksModes && st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}

	// What another wrote, or moved there from another configuration, or under another key, is not taken.
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, b []byte, name string) {
		t.Helper()
		if err := os.WriteFile(d.AcceptedPath(name), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Accepted(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: taken as %q (%v)", what, got, err)
		}
	}
	for i := range whole {
		b := slices.Clone(whole)
		b[i] ^= 1
		refused("a changed byte", b, "/a/c.yaml")
	}
	refused("a shorter one", whole[:len(whole)-1], "/a/c.yaml")
	refused("a longer one", append(slices.Clone(whole), 'x'), "/a/c.yaml")
	refused("nothing", nil, "/a/c.yaml")
	refused("another file's", whole, "/a/other.yaml")
	refused("too much", []byte(strings.Repeat("x", recordMost+1)), "/a/c.yaml")
	other := openIn(t, t.TempDir())
	if _, err := other.sub("accepted"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other.AcceptedPath("/a/c.yaml"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Accepted("/a/c.yaml"); err == nil {
		t.Error("a record under another key is taken")
	}
	if err := d.Accept("/a/c.yaml", make([]byte, recordMost)); err == nil {
		t.Error("a record that could not be read back is kept")
	}

	// It is ours, so no tool reaches it.
	path = other.AcceptedPath("/a/c.yaml")
	id, _ := idOf(os.Stat, path)
	if !slices.ContainsFunc(other.Own().Files(), func(f File) bool { return f.ID == id }) {
		t.Error("what was accepted is not among the own files")
	}
}

func openIn(t *testing.T, dir string) *Dir {
	t.Helper()
	d, err := Open(func(name string) string {
		if name == "ROOTBOUND_STATE_DIR" {
			return filepath.Join(dir, "state")
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
