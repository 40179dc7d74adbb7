package roots

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWidth: what an operator should be told of, by every spelling; and nothing is said of an ordinary directory.
func TestWidth(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"people/me/app", "data"} {
		if err := os.MkdirAll(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"me": "people/me", "home-in-data": "data"} {
		if err := os.Symlink(filepath.Join(top, to), filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	at := func(p string) string { return filepath.Join(top, p) }
	home := func(p string) { t.Setenv("HOME", p); t.Setenv("USERPROFILE", p) }
	home(at("people/me"))
	const whole, own, around = "the whole file system", "a home directory", "a directory that holds home directories"
	root := filepath.VolumeName(top) + string(filepath.Separator)
	for dir, want := range map[string]string{root: whole, at("people/me"): own, at("me"): own, at("people/me") + "/": own, at("people"): around, top: around,
		at("people/me/app"): "", at("data"): "", at("missing"): "", filepath.Join(root, "home"): around, filepath.Join(root, "home", "nobody-here"): own} {
		if got := Width(dir); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
	home(at("home-in-data"))
	if got := Width(at("data")); got != own {
		t.Errorf("where a link as home leads: %q", got)
	}
	home(root) // of a process that has none
	if got := Width(at("data")); got != "" {
		t.Errorf("with / as home: %q", got)
	}
}
