//go:build linux

package cases

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// TestEntriesThatCannotBeLookedAt: where a directory does not tell the types of its entries and they cannot be looked at,
// a tree says that it left them out, but for those that a rule denies.
func TestEntriesThatCannotBeLookedAt(t *testing.T) {
	w := newWorld(t, base, "untyped")
	defer w.close()
	nodes := []fuseNode{{}, {name: "a.txt", parent: 1, text: []byte("x")}, {name: "broken.txt", parent: 1, lost: true}, {name: ".env", parent: 1, lost: true}}
	_, err := w.mountFUSE(w.dir+"/ws/m", nodes, func(uint32, uint64) bool { return false })
	var no errNoEffect
	if errors.As(err, &no) {
		skip(t, "untyped", no.why)
	} else if err != nil {
		t.Fatal(err)
	}
	p, err := w.begin(start{version: rawmcp.Legacy, argv: []string{"--confine=off", "--no-slow", w.dir + "/ws"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"directory_tree", "search_files", "search_content", "list_directory"} {
		args := rawmcp.Args{"path": w.dir + "/ws/m"}
		if strings.HasPrefix(tool, "search") {
			args["pattern"] = "x"
		}
		r, _, err := p.call(time.Minute, tool, args)
		if err != nil || !r.OK() {
			t.Fatalf("%s: %v %s", tool, err, r.Short())
		}
		if all := string(r.Raw); strings.Contains(all, ".env") {
			t.Errorf("%s tells a denied name: %s", tool, all)
		} else if tool == "directory_tree" && (!strings.Contains(all, "broken.txt") || !strings.Contains(all, "a.txt")) {
			t.Errorf("%s does not say what it left out: %s", tool, all)
		}
	}
}
