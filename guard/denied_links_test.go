//go:build unix

package guard_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/guard"
)

// deniedEnds are links of a project, some of which lead to what only one of two trees holds.
var deniedEnds = map[string]string{
	"env": ".env", "a/env": "../.env", "keys": ".ssh", "pw": "secret", "deep": "secret/x", "in": "inner/private/x", "hid": "closed/x",
	"log": "state/journal", "st": "state", "chain": "env", "c": "one", "gone": "nowhere", "a/b/env": ".env.example", "a/e": ".env", "lk": "priv", "e\x01": ".env",
}

// ends is a guard over links, with what they lead to or without. What is denied shows in its own place to nobody.
func ends(t *testing.T, denied bool) *house {
	t.Helper()
	outer := one(rootbound.Full)
	outer.Deny = []string{"**/secret/**", "priv/x?y", "priv/é?"}
	var h *house
	h = build(t, guard.Options{Sink: decision.Discard{}, NoSlow: true, Own: func() []guard.Own { return []guard.Own{{Path: filepath.Join(h.dir, "p/state")}} }}, func(dir string) {
		for _, p := range []string{"one", "a/two", "a/b/.env.example", "inner/n", "to/keep", "priv/n"} {
			put(t, filepath.Join(dir, "p", p), "text")
		}
		must(t, os.MkdirAll(filepath.Join(dir, "p/closed"), 0o755))
		for p, text := range deniedEnds {
			must(t, os.Symlink(text, filepath.Join(dir, "p", p)))
		}
		if denied {
			for _, p := range []string{".env", ".ssh/id", "secret/x", "secret/d/y", "inner/private/x", "closed/x", "closed/d/y", "state/journal", "a/.env", "to/.env", "to/secret/x", "inner/x\x01y", "priv/x\x01y", "priv/e\u0301z"} {
				put(t, filepath.Join(dir, "p", p), "text DENIED")
			}
		}
	}, outer, rootbound.Project{ID: "inner", Dir: "p/inner", Rights: rootbound.ReadOnly, Deny: []string{"private/**", "x?y"}},
		rootbound.Project{ID: "closed", Dir: "p/closed", Rights: rootbound.Write})
	return h
}

// deniedPaths go through links of deniedEnds, or into the project without rights.
var deniedPaths = []string{"env", "a/env", "a/e", "chain", "keys", "keys/id", "keys/none", "pw", "pw/x", "pw/none", "pw/d/y", "pw/x/y", "deep", "deep/", "deep/x", "in", "hid", "log", "st",
	"st/journal", "st/none", "pw/../one", "keys/../one", "pw/none/../x", "closed/x", "closed/none", "closed/x/y", "closed/d", "closed/d/y",
	`inner/x\x01y`, `priv/x\x01y`, `lk/x\x01y`, `e\x01`, "lk/\u00e9z", "priv/\u00e9z", // other spellings of a name that only a read takes
}

// A link that leads to what is denied tells nobody whether that exists: each request is answered as if it did not.
func TestLinksTellNothingOfWhatIsDenied(t *testing.T) {
	with, without := ends(t, true), ends(t, false)
	ask := func(h *house, r guard.Request) (got [4]string) {
		allowed := false
		err := h.do(r, func(context.Context, *guard.Target) error { allowed = true; return errors.New("that is all") })
		var e *rootbound.Error
		if allowed || !errors.As(err, &e) {
			return [4]string{"allowed"}
		}
		if r.Listing {
			return [4]string{string(e.Reason)} // a resource: there is one text for all
		}
		return [4]string{string(e.Reason), e.Detail, e.Next, string(e.Root)}
	}
	asked := 0
	same := func(r guard.Request) {
		t.Helper()
		asked++
		if a, b := ask(with, r), ask(without, r); a != b {
			t.Errorf("%s %q %q contained=%v: %q where it is there, %q where not", r.Op, r.Path, r.Dest, r.Contained, a, b)
		}
	}
	for _, contained := range []bool{false, true} {
		for _, p := range deniedPaths {
			if contained && filepath.Clean(p) != p {
				continue
			}
			r := guard.Request{Root: "p", Path: p, Contained: contained}
			for _, r.Op = range []rootbound.Operation{rootbound.OpRead, rootbound.OpStat, rootbound.OpList, rootbound.OpTree, rootbound.OpSearch, rootbound.OpSearchContent} {
				same(r)
			}
			r.Op, r.Listing = rootbound.OpRead, true
			same(r)
			if p == "hid" || strings.HasPrefix(p, "closed") { // the right write there is one to see what is there
				continue
			}
			for _, r.Op = range []rootbound.Operation{rootbound.OpWrite, rootbound.OpCreate, rootbound.OpEdit, rootbound.OpMkdir} {
				same(r)
				r.Parents = true
				same(r)
				r.Parents = false
			}
			same(guard.Request{Op: rootbound.OpCopy, Root: "p", Path: p, DestRoot: "p", Dest: "to/new", Contained: contained})
			same(guard.Request{Op: rootbound.OpCopy, Root: "p", Path: "one", DestRoot: "p", Dest: p + "/new", Contained: contained})
			same(guard.Request{Op: rootbound.OpMove, Root: "p", Path: "one", DestRoot: "p", Dest: p + "/new", Contained: contained})
		}
		for p := range deniedEnds { // moved as the link, to where it leads elsewhere too
			for _, dest := range []string{"moved", "a/moved", "to/moved", "a/b/moved"} {
				same(guard.Request{Op: rootbound.OpMove, Root: "p", Path: p, DestRoot: "p", Dest: dest, Contained: contained})
			}
		}
	}
	if asked < 500 {
		t.Errorf("%d requests only", asked)
	}
	far := guard.Request{Op: rootbound.OpRead, Root: "p", Path: strings.Repeat("a/none/", 200) + "x"} // the way is judged name by name, up to a bound
	if got := ask(with, far); got[0] != string(rootbound.PathInvalid) {
		t.Errorf("a path whose 400 last names are missing: %v", got)
	}
	if got := ask(with, guard.Request{Op: rootbound.OpRead, Root: "p", Path: "c"}); got[0] != "allowed" {
		t.Errorf("a link that leads inside: %v", got)
	}
	if got := ask(with, guard.Request{Op: rootbound.OpRead, Root: "p", Path: "gone"}); got[0] != string(rootbound.NotFound) {
		t.Errorf("a link that leads nowhere: %v", got)
	}
}
