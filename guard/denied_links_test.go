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
	"github.com/rootbound/rootbound/beneath"
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
	far := guard.Request{Op: rootbound.OpRead, Root: "p", Path: strings.Repeat("a/none/", 200) + "x"}
	if got := ask(with, far); got[0] != string(rootbound.NotFound) {
		t.Errorf("a path whose 400 last names are missing: %v", got)
	}
	if got := ask(with, guard.Request{Op: rootbound.OpRead, Root: "p", Path: "c"}); got[0] != "allowed" {
		t.Errorf("a link that leads inside: %v", got)
	}
	if got := ask(with, guard.Request{Op: rootbound.OpRead, Root: "p", Path: "gone"}); got[0] != string(rootbound.NotFound) {
		t.Errorf("a link that leads nowhere: %v", got)
	}
}

// TestACopyTellsNothingOfAnotherRoot: no link may lead a copy's source into another root, and whether it would arrive there,
// where a rule hides it, makes no difference.
func TestACopyTellsNothingOfAnotherRoot(t *testing.T) {
	h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.Full), rootbound.Project{ID: "in", Dir: "p/in", Rights: rootbound.Full})
	h.file("p/a/.ssh/there", "hidden")
	h.link("p/in/there", "../a/.ssh/there")
	h.link("p/in/none", "../a/.ssh/none")
	h.link("p/in/dir", "../a/.ssh")
	h.link("p/in/nowhere", "../b/.ssh")
	copied := func(path string) string {
		t.Helper()
		_, err := h.copy(guard.Request{Root: "in", Path: path, DestRoot: "in", Dest: "to"})
		refused(t, "copy "+path, err, rootbound.OutsideRoot)
		if err == nil {
			return ""
		}
		return strings.ReplaceAll(err.Error(), rootbound.Quote(path), "PATH")
	}
	for _, same := range [][2]string{{"there", "none"}, {"dir/there", "dir/none"}, {"dir", "nowhere"}} {
		if a, b := copied(same[0]), copied(same[1]); a != b {
			t.Errorf("%s: %s\n%s: %s", same[0], a, same[1], b)
		}
	}
}

// What a path leads through is judged like what it reaches: a link into a denied directory and out of it again tells
// nothing of it, whether it leads to an allowed file, outside, in a circle or nowhere. One project alone is resolved by the
// kernel where it can; with others every path is walked.
func TestLinksPassNothingThatIsDenied(t *testing.T) {
	t.Run("kernel", func(t *testing.T) { linksPassNothing(t, nil) })
	t.Run("walk", func(t *testing.T) {
		linksPassNothing(t, []rootbound.Project{{ID: "closed", Dir: "p/closed", Rights: rootbound.Propose}, {ID: "q", Dir: "q", Rights: rootbound.Full, Deny: []string{"l"}}})
	})
}

func linksPassNothing(t *testing.T, others []rootbound.Project) {
	projects := append([]rootbound.Project{{ID: "p", Dir: "p", Rights: rootbound.Full, Deny: []string{"secret/**"}}}, others...)
	h := build(t, guard.Options{NoSlow: true}, func(dir string) {
		for p, text := range map[string]string{"one": "1", "secret/d/x": "x", "a/two": "2", ".env.example": "e"} {
			put(t, filepath.Join(dir, "p", p), text)
		}
		put(t, filepath.Join(dir, "q/f"), "q")
		must(t, os.MkdirAll(filepath.Join(dir, "p/closed"), 0o755))
		for p, text := range map[string]string{
			"secret/back": "../one", "secret/top": "..", "secret/out": "/etc/hosts", "secret/round": "round", "secret/gone": "none", ".env": "one", "closed/l": "../one",
			"via": "secret/back", "hop": ".env", "far": "a/link", "a/link": "../hop", "up": "secret/../one", "deep": "secret/d/../../one", "dir": "secret/top/a", "sec": "secret",
			"byabs": filepath.Join(dir, "p/secret/back"), "shut": "closed/l", "fine": "a/back", "a/back": "../a/../one", "across": "../q/l",
			"turn": "secret/../abs", "abs": filepath.Join(dir, "p/one"),
		} {
			must(t, os.Symlink(text, filepath.Join(dir, "p", p)))
		}
		must(t, os.Symlink("../p/one", filepath.Join(dir, "q/l")))
	}, projects...)
	reads := []rootbound.Operation{rootbound.OpRead, rootbound.OpStat, rootbound.OpList, rootbound.OpTree, rootbound.OpSearch, rootbound.OpSearchContent}
	changes := []rootbound.Operation{rootbound.OpWrite, rootbound.OpEdit, rootbound.OpMkdir}
	for path, want := range map[string]rootbound.Reason{
		"via": rootbound.RuleDenied, "hop": rootbound.RuleDenied, "far": rootbound.RuleDenied, "up": rootbound.RuleDenied, "deep": rootbound.RuleDenied, "dir/two": rootbound.RuleDenied,
		"byabs": rootbound.RuleDenied, "sec/back": rootbound.RuleDenied, "sec/out": rootbound.RuleDenied, "sec/round": rootbound.RuleDenied, "sec/gone": rootbound.RuleDenied, "sec/none": rootbound.RuleDenied,
		"shut": rootbound.RightMissing, "across": rootbound.RuleDenied, "turn": rootbound.RuleDenied,
	} {
		if others == nil && (path == "shut" || path == "across") {
			continue
		}
		for _, op := range reads {
			refused(t, string(op)+" "+path, h.do(guard.Request{Op: op, Root: "p", Path: path}, nil), want)
		}
		if path == "across" {
			want = rootbound.OutsideRoot
		}
		for _, op := range changes {
			refused(t, string(op)+" "+path, h.do(guard.Request{Op: op, Root: "p", Path: path}, nil), want)
		}
		refused(t, "copy "+path, h.do(guard.Request{Op: rootbound.OpCopy, Root: "p", Path: path, DestRoot: "p", Dest: "new"}, nil), want)
		refused(t, "copy to "+path, h.do(guard.Request{Op: rootbound.OpCopy, Root: "p", Path: "one", DestRoot: "p", Dest: path + "/new"}, nil), want)
	}
	for path, want := range map[string]string{"fine": "1", "a/back": "1", "one": "1", "abs": "1"} {
		if got, err := h.read(filepath.Join(h.dir, "p", path)); err != nil || got != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	must(t, h.do(guard.Request{Op: rootbound.OpList, Root: "p", Path: "."}, func(ctx context.Context, on *guard.Target) error {
		return on.List(ctx, "", func(n *beneath.Node) (beneath.Step, error) {
			if _, shown := n.Target(); shown != (n.Name() == "fine" || n.Name() == "abs" || n.Name() == "shut" && others == nil) && n.Type()&os.ModeSymlink != 0 {
				t.Errorf("%s: what it leads to is told: %v", n.Name(), shown)
			}
			return beneath.Over, nil
		})
	}))
}

// With extensions a file without one is denied whether or not it is there, and no directory is told from it.
func TestExtensionsTellNothing(t *testing.T) {
	h := build(t, guard.Options{NoSlow: true}, nil, rootbound.Project{ID: "p", Dir: "p", Rights: rootbound.Full, AllowExtensions: []string{".go"}})
	h.file("p/d/f.go", "f")
	h.file("p/hid", "h")
	h.link("p/l", "d/f.go")
	h.link("p/l.go", "l")
	for _, op := range []rootbound.Operation{rootbound.OpRead, rootbound.OpStat, rootbound.OpList, rootbound.OpWrite, rootbound.OpEdit} {
		for _, p := range []string{"hid", "none", "l", "l.go", "hid/", "none/"} {
			want := rootbound.RuleDenied
			if (op == rootbound.OpWrite || op == rootbound.OpEdit) && strings.HasSuffix(p, "/") {
				continue // no name
			}
			refused(t, string(op)+" "+p, h.do(guard.Request{Op: op, Root: "p", Path: p}, nil), want)
		}
		want := rootbound.NotFound
		if op.Mutates() {
			want = rootbound.ParentMissing
		}
		for _, p := range []string{"hid/x.go", "none/x.go", "d/hid/x.go"} {
			refused(t, string(op)+" "+p, h.do(guard.Request{Op: op, Root: "p", Path: p}, nil), want)
		}
	}
	if got, err := h.read("d/f.go"); err != nil || got != "f" {
		t.Errorf("%q, %v", got, err)
	}
	refused(t, "mkdir hid", h.do(guard.Request{Op: rootbound.OpMkdir, Root: "p", Path: "hid"}, nil), rootbound.RuleDenied)
	must(t, h.do(guard.Request{Op: rootbound.OpMkdir, Root: "p", Path: "new"}, nil))
}

// A relative path that starts in no named project belongs to the one where it may be read: what another one hides makes it
// neither ambiguous nor anything else.
func TestOfSeveralProjectsHiddenOnesDoNotCount(t *testing.T) {
	for _, there := range []bool{false, true} {
		h := build(t, guard.Options{NoSlow: true}, nil, rootbound.Project{ID: "p", Dir: "p", Rights: rootbound.ReadOnly}, rootbound.Project{ID: "q", Dir: "q", Rights: rootbound.ReadOnly})
		h.file("p/l", "mine")
		h.file("q/x", "x")
		h.link("q/l", ".env")
		if there {
			h.file("q/.env", "secret")
		}
		if got, err := h.read("l"); err != nil || got != "mine" {
			t.Errorf("there %v: %q, %v", there, got, err)
		}
		refused(t, "ambiguous", func() error {
			h.file("q/both", "q")
			h.file("p/both", "p")
			return h.do(guard.Read("both"), nil)
		}(), rootbound.PathAmbiguous)
	}
}
