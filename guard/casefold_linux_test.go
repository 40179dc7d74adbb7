package guard_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
)

// On a file system for which .GIT is .git, no spelling of it gets past the rules, and none that the kernel folds otherwise.
func TestRulesOnACaseFoldingFileSystem(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("environment: needs root to mount an image")
	}
	if !rig.OwnMounts(t) {
		return
	}
	at, err := rig.Mount("ext4-casefold", t.TempDir())
	if errors.Is(err, rig.ErrLacking) {
		t.Skip("environment: ", err)
	}
	must(t, err)
	h := build(t, guard.Options{NoSlow: true}, func(dir string) {
		must(t, os.Remove(filepath.Join(dir, "p")))
		must(t, os.Symlink(at, filepath.Join(dir, "p")))
	}, one(rootbound.Full))
	h.file("p/repo/.git/hooks/x", "#!old")
	h.file("p/ready/hooks/x", "#!new")
	h.file("p/f", "f")
	for _, p := range []string{"repo/.GIT/hooks/x", "REPO/.Git/HOOKS/X", "repo/.g\u0131t/hooks/x", "repo/.gi\u200ct/hooks/x", "repo/.\uff47it/hooks/x"} {
		if h.missing("p/" + p) {
			continue // another name for this kernel too
		}
		refused(t, "write "+p, h.write("", p, "X"), rootbound.RuleDenied)
		_, err := h.delete(guard.Request{Path: p})
		refused(t, "delete "+p, err, rootbound.RuleDenied)
		_, err = h.copy(guard.Request{Path: "f", Dest: p, Overwrite: true})
		refused(t, "copy over "+p, err, rootbound.RuleDenied)
	}
	for _, p := range []string{".GIT", "new/.GIT", "Repo/.GIT/HOOKS/y"} {
		_, err := h.copy(guard.Request{Path: "ready", Dest: p, Parents: true})
		refused(t, "copy to "+p, err, rootbound.RuleDenied)
		refused(t, "move to "+p, h.move(guard.Request{Path: "ready", Dest: p, Parents: true}), rootbound.RuleDenied)
	}
	h.has("p/repo/.git/hooks/x", "#!old")
}
