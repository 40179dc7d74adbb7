//go:build unix

package guard_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/guard"
)

// blames keeps what the last refusal was recorded with.
type blames struct {
	decision.Discard
	rules string
}

func (b *blames) Decided(r *decision.Record, _ bool) error {
	b.rules = strings.Join(r.Rules, " ")
	return nil
}

// TestARefusedTreeNamesNothingHidden: that a directory cannot go, move or be copied tells that it holds something, and no
// more: whichever rule hides it, the refusal is the same, and the record has the rule. So it is with a file that is not
// changed because a rule hides another name of it.
func TestARefusedTreeNamesNothingHidden(t *testing.T) {
	var sink blames
	project := one(rootbound.Full)
	project.Deny = []string{"**/merger-2031", "**/x/**"}
	project.AllowExtensions = []string{"txt", "netrc"}
	var h *house
	h = build(t, guard.Options{Sink: &sink, NoSlow: true, Own: func() []guard.Own {
		return []guard.Own{{Path: filepath.Join(h.dir, "p/d4/deep/state")}, {ID: h.id("p/journal.txt")}}
	}}, func(dir string) { put(t, filepath.Join(dir, "p/journal.txt"), "ours") }, project)
	hidden := []struct{ path, rule string }{
		{"d0/.netrc", "credentials:**/.netrc"}, {"d1/merger-2031/a.txt", "deny:**/merger-2031"}, {"d2/x/a.txt", "deny:**/x/**"},
		{"d3/a.go", "allow_extensions"}, {"d4/deep/state/a.txt", "own_files"}, {"d5/b.txt", "own_files"}, {"d6/n/o/id_rsa", "credentials:**/id_rsa"},
	}
	for _, c := range hidden {
		if c.path == "d5/b.txt" {
			h.mkdirs("p/d5")
			must(t, os.Link(filepath.Join(h.dir, "p/journal.txt"), filepath.Join(h.dir, "p", c.path)))
			continue
		}
		h.file("p/"+c.path, "hidden")
	}
	h.mkdirs("p/to")
	told := map[string]string{}
	same := func(what, rule, of string, err error) {
		t.Helper()
		var e *rootbound.Error
		if !errors.As(err, &e) || e.Reason != rootbound.RuleDenied {
			t.Errorf("%s: %v", what, err)
			return
		}
		if sink.rules != rule {
			t.Errorf("%s: recorded %q, want %q", what, sink.rules, rule)
		}
		if now := e.Detail + "; " + e.Next; told[of] == "" {
			told[of] = now
		} else if told[of] != now {
			t.Errorf("%s: %q, and another rule %q", what, now, told[of])
		}
	}
	for i, c := range hidden {
		d := fmt.Sprintf("d%d", i)
		_, err := h.delete(guard.Request{Path: d, Recursive: true})
		same("delete "+c.path, c.rule, "delete", err)
		same("move "+c.path, c.rule, "move", h.move(guard.Request{Path: d, Dest: "to/" + d}))
		if _, err = h.copy(guard.Request{Path: d, Dest: "to/" + d}); c.path != "d5/b.txt" { // read, our own file by another name is missing
			same("copy "+c.path, c.rule, "copy", err)
		}
	}
	for _, c := range []struct{ hidden, rule string }{{"e0/.netrc", "credentials:**/.netrc"}, {"e1/merger-2031", "deny:**/merger-2031"}} {
		h.file("p/"+c.hidden, "hidden")
		at := filepath.Dir(c.hidden) + "/a.txt"
		must(t, os.Link(filepath.Join(h.dir, "p", c.hidden), filepath.Join(h.dir, "p", at)))
		same("write "+at, c.rule, "write", h.write("", at, "new"))
	}
	if h.names("p/to") != "" {
		t.Errorf("it arrived: %q", h.names("p/to"))
	}

	// What may be seen is named.
	h.file("p/d8/.husky/a.txt", "seen")
	_, err := h.delete(guard.Request{Path: "d8", Recursive: true})
	says(t, err, "execution:**/.husky/**")
}
