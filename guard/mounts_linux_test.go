package guard_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
	"golang.org/x/sys/unix"
)

// What is mounted inside a project while a search or a tree is under way, at whichever entry it is then, shows nothing of itself
// where mounts are denied: no name, no text, no pattern of an ignore file. Where they are not, each of them shows it.
func TestG45DeniedMountsShowNothing(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	for _, deny := range []bool{true, false} {
		p := one(rootbound.ReadOnly)
		p.DenyMounts = deny
		h := build(t, guard.Options{NoSlow: true}, nil, p)
		for name, text := range map[string]string{
			"p/a": "needle", "p/b/c/under": "needle", "p/d/e": "needle", "p/f/.gitignore": "nothing\n", "p/f/kept": "needle", "p/g/h/under": "needle", "p/i/under": "needle",
			"outside/dir/mark-name": "needle MARK", "outside/dir/sub/mark-below": "needle MARK", "outside/file": "needle MARK", "outside/ignore": "kept\n",
		} {
			h.file(name, text)
		}
		at := func(name string) string { return filepath.Join(h.dir, name) }
		bind := func(from, to string) func() {
			return func() { must(t, unix.Mount(at("outside/"+from), at("p/"+to), "", unix.MS_BIND, "")) }
		}
		seen := func(shown string) bool { return strings.Contains(strings.ToLower(shown), "mark") }
		for name, m := range map[string]struct {
			at    string
			mount func()
			shows func(string) bool
		}{
			"tmpfs": {"g/h", func() {
				must(t, unix.Mount("none", at("p/g/h"), "tmpfs", 0, "size=65536"))
				h.file("p/g/h/mark-name", "needle MARK")
			}, seen},
			"directory":       {"b/c", bind("dir", "b/c"), seen},
			"of the project":  {"i", func() { must(t, unix.Mount(at("p/b"), at("p/i"), "", unix.MS_BIND, "")) }, func(s string) bool { return strings.Contains(s, "i/c") }},
			"file":            {"d/e", bind("file", "d/e"), seen},
			"ignore file":     {"f/.gitignore", bind("ignore", "f/.gitignore"), func(s string) bool { return !strings.Contains(s, "f/kept") }},
			"on what is held": {"g", bind("dir", "g"), seen},
		} {
			for walk, run := range walkers {
				if name == "file" && walk != "content" {
					continue // its name is there anyway
				}
				entries, shown := 0, 0
				for when := 0; when <= entries; when++ {
					mounted, count := false, 0
					mount := func() {
						mounted = true
						m.mount()
					}
					if when == 0 {
						mount()
					}
					said, err := run(h, func() {
						if count++; count == when {
							mount()
						}
					})
					if mounted {
						must(t, unix.Unmount(at("p/"+m.at), unix.MNT_DETACH))
					}
					must(t, err)
					entries = max(entries, count)
					if m.shows(said) {
						shown++
						if deny {
							t.Errorf("%s, mounted at entry %d of a walk for %s: %s", name, when, walk, said)
						}
					}
				}
				if entries < 8 || !deny && shown == 0 {
					t.Errorf("%s, walk for %s: %d entries, shown %d times", name, walk, entries, shown)
				}
			}
		}
	}
}
