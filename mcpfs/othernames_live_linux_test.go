package mcpfs_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// Other names of our own files, by hard links and by mounts, show nothing of them and change nothing, whatever tool is asked
// and whatever links lead there.
func TestOtherNamesOfOwnFilesShowNothing(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	for _, form := range []mcpfs.Tools{mcpfs.Classic, mcpfs.Project} {
		base, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		at := func(p string) string { return filepath.Join(base, p) }
		for name, text := range map[string]string{
			"state/key": "MARK needle", "state/sub/MARK-name": "MARK needle", "state/.gitignore": "MARK", "p/open/f": "inside needle", "p/bound/x": "under", "p/file": "under",
			"config": "MARK needle", "p/own/log": "MARK needle",
		} {
			must(t, os.MkdirAll(filepath.Dir(at(name)), 0o755))
			must(t, os.WriteFile(at(name), []byte(text+"\n"), 0o644))
		}
		must(t, os.Link(at("config"), at("p/open/hard")))
		must(t, os.Link(at("config"), at("p/hard.txt")))
		must(t, unix.Mount(at("state"), at("p/bound"), "", unix.MS_BIND, ""))
		must(t, unix.Mount(at("config"), at("p/file"), "", unix.MS_BIND, ""))
		for name, to := range map[string]string{"l1": "bound", "l2": "bound/sub", "l3": "open/hard", "l4": base + "/p/bound/../open", "l5": "file", "l6": "own/../open/f"} {
			must(t, os.Symlink(to, at("p/"+name)))
		}
		l := start(t, serve.Options{
			Projects: []rootbound.Project{{ID: "p", Dir: at("p"), Rights: rootbound.Full}}, Tools: form,
			Own: func() (all []guard.Own) {
				for _, p := range []string{"state", "config", "p/own"} {
					all = append(all, guard.Own{Path: at(p), ID: objectAt(t, at(p))})
				}
				return all
			},
		}, clientOptions{})
		defer unix.Unmount(at("p/bound"), unix.MNT_DETACH)
		defer unix.Unmount(at("p/file"), unix.MNT_DETACH)
		before := rig.Inventory(t, at("state"), at("config"), at("p/own"))
		r := rand.New(rand.NewPCG(1, 1))
		allowed, refused := 0, map[string]int{}
		draw := func(bool) string {
			return pick(r, ".", "open", "hard.txt", "open/hard", "file", "l3", "l5", pick(r, "bound", "l1", "l2", "own", "bound/sub", "l4")+pick(r, "", "/", "/key", "/sub", "/sub/MARK-name", "/MARK-name", "/new", "/..", "/../open/f", "/f"), "l6", "open/f", "new")
		}
		lot := lot{r: r, tools: toolsOf(t, l), path: draw, root: func() string { return "p" }, patterns: []string{"**", "*", "needle", "**/f"}}
		for range 600 {
			tool, a := lot.call(true)
			sent, _ := json.Marshal(a)
			res, err := l.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: a})
			must(t, err)
			b, err := json.Marshal(res)
			must(t, err)
			if got := string(b); strings.Contains(got, "MARK needle") || strings.Contains(got, "MARK") && !strings.Contains(string(sent), "MARK") {
				t.Errorf("%s %s: %s", tool, sent, got)
			}
			if res.IsError {
				refused[reasonIn(res)]++
			} else {
				allowed++
			}
			for _, keep := range []string{"p/bound", "p/file", "p/own", "p/hard.txt", "p/open/hard"} {
				if _, err := os.Lstat(at(keep)); err != nil {
					t.Fatalf("%s %s took %s away", tool, sent, keep)
				}
			}
			for _, link := range []string{"p/l1", "p/l2", "p/l4"} {
				if st, err := os.Lstat(at(link)); err == nil && st.IsDir() { // made in the link's place: the names in it were sent
					must(t, os.RemoveAll(at(link)))
				}
			}
			must(t, os.MkdirAll(at("p/open"), 0o755))
			if _, err := os.Lstat(at("p/open/f")); err != nil {
				must(t, os.WriteFile(at("p/open/f"), []byte("inside needle\n"), 0o644))
			}
		}
		if now := rig.Inventory(t, at("state"), at("config"), at("p/own")); now != before {
			t.Errorf("own files became\n%s\nfrom\n%s", now, before)
		}
		t.Logf("%v: %d allowed, refused %v", form, allowed, refused)
	}
}

func objectAt(t *testing.T, p string) beneath.ObjectID {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Stat(p, &st))
	return beneath.ObjectID{Dev: st.Dev, Ino: st.Ino}
}
