package state

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestOpenPlaces(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(tmp, "tmp"))
	for name, c := range map[string]struct {
		env  []string
		want string
	}{
		"override":                           {[]string{"ROOTBOUND_STATE_DIR", tmp + "/own", "HOME", tmp}, tmp + "/own"},
		"xdg":                                {[]string{"XDG_STATE_HOME", tmp + "/xdg", "HOME", tmp}, tmp + "/xdg/rootbound"},
		"xdg not absolute":                   {[]string{"XDG_STATE_HOME", "xdg", "HOME", tmp}, tmp + "/.local/state/rootbound"},
		"home":                               {[]string{"HOME", tmp}, tmp + "/.local/state/rootbound"},
		"home is no directory":               {[]string{"HOME", "/dev/null"}, tmp + "/tmp/rootbound-" + strconv.Itoa(os.Getuid())},
		"runtime directory does not move it": {[]string{"HOME", tmp, "XDG_RUNTIME_DIR", tmp + "/run"}, tmp + "/.local/state/rootbound"},
	} {
		d, err := Open(env(c.env...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.Path() != c.want {
			t.Errorf("%s: %s, want %s", name, d.Path(), c.want)
		}
		if st, err := os.Stat(d.Path()); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v, %v", name, st.Mode(), err)
		}
	}
}

func TestOpenWithoutHome(t *testing.T) {
	// Somebody without an entry in the user database and without HOME still gets a directory.
	places := places(env())
	if last := places[len(places)-1]; last != filepath.Join(os.TempDir(), "rootbound-"+strconv.Itoa(os.Getuid())) {
		t.Errorf("last resort is %s", last)
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(path string) error
		want  string
	}{
		"writable by others": {func(p string) error { return os.Chmod(p, 0o770) }, "others may write it (mode 0770)"},
		"a file":             {func(p string) error { os.Remove(p); return os.WriteFile(p, nil, 0o600) }, "not a directory"},
		"somebody else's":    {func(p string) error { return os.Chown(p, 12345, -1) }, "belongs to user 12345"},
	} {
		if name == "somebody else's" && os.Geteuid() != 0 {
			continue // only root can give a directory away
		}
		path := filepath.Join(t.TempDir(), "state")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := c.spoil(path); err != nil {
			t.Fatal(err)
		}
		_, err := Open(env("ROOTBOUND_STATE_DIR", path))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "ROOTBOUND_STATE_DIR") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeyIsOneForAll(t *testing.T) {
	d := open(t)
	var wg sync.WaitGroup
	keys := make([][]byte, 16)
	for i := range keys {
		wg.Go(func() {
			k, err := d.Key("token")
			if err != nil {
				t.Error(err)
			}
			keys[i] = k
		})
	}
	wg.Wait()
	for _, k := range keys {
		if len(k) != KeySize || !bytes.Equal(k, keys[0]) || bytes.Equal(k, make([]byte, KeySize)) {
			t.Fatalf("keys differ: %x and %x", k, keys[0])
		}
	}
	c := start(t, "open", d.Path())
	c.expect(t, hexOf(keys[0]))
	other, err := d.Key("audit")
	if err != nil || bytes.Equal(other, keys[0]) {
		t.Errorf("two names share a key, %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(d.Path(), "keys", ".new*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var s strings.Builder
	for _, c := range b {
		s.WriteByte(digits[c>>4])
		s.WriteByte(digits[c&15])
	}
	return s.String()
}

func TestKeyRefuses(t *testing.T) {
	d := open(t)
	if _, err := d.Key("token"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.Path(), "keys", "token")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Key("token"); err == nil {
		t.Error("a key that others can read was used")
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	os.Chmod(path, 0o600)
	if _, err := d.Key("token"); err == nil {
		t.Error("a cut key was used")
	}
	if _, err := d.Key("../token"); err == nil {
		t.Error("a name that leads elsewhere was used")
	}
}

// A configuration that is found through links is ours under each spelling on the way, so that none of the links can be
// moved away and replaced.
func TestOwnKnowsEachLinkOnTheWay(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"conf": "middle", "middle": "./real", "real/rb.yaml": "own.yaml", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "real/own.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	own := &Own{}
	own.Add(filepath.Join(dir, "conf/rb.yaml"), filepath.Join(dir, "loop/x"))
	paths := map[string]bool{}
	for _, f := range own.Files() {
		paths[f.Path] = true
	}
	for _, want := range []string{"conf/rb.yaml", "middle/rb.yaml", "real/rb.yaml", "real/own.yaml", "loop/x"} {
		if !paths[filepath.Join(dir, want)] {
			t.Errorf("%s is not ours: %v", want, paths)
		}
	}
}
