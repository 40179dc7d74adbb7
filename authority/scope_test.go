package authority

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/roots"
)

// The table of contract §2: rows are modes, columns are what the client says.
func TestModes(t *testing.T) {
	top := tree(t, "a/sub", "b", "out")
	ceil := ceiling(t, project("a", top+"/a", rootbound.ReadWrite), project("b", top+"/b", rootbound.ReadOnly))
	none := ceiling(t)
	both, sub := []string{top + "/a", top + "/b"}, []string{top + "/a/sub"}
	undeclared := &client{}
	list, empty := declared(uri(top, "a/sub"), uri(top, "out")), declared()
	failing := &client{cap: Capability{Declared: true}, err: errors.New("-32603")}
	malformed := &client{cap: Capability{Declared: true}, err: ErrMalformed}
	null := &client{cap: Capability{Declared: true}, ans: &Answer{}}
	lacking := &client{cap: Capability{Declared: true}, err: ErrUnsupported}
	for _, c := range []struct {
		name   string
		mode   Mode
		ceil   *Ceiling
		client *client
		paths  []string
		reason rootbound.Reason
		detail string
		source string
	}{
		{"narrow, not declared", Narrow, ceil, undeclared, both, "", "", "ceiling"},
		{"narrow, list", Narrow, ceil, list, sub, "", "", "roots"},
		{"narrow, empty", Narrow, ceil, empty, nil, rootbound.RootsEmpty, "", ""},
		{"narrow, error", Narrow, ceil, failing, nil, rootbound.AuthorityUnavailable, "error", ""},
		{"narrow, malformed", Narrow, ceil, malformed, nil, rootbound.RootsMalformed, "", ""},
		{"narrow, null", Narrow, ceil, null, nil, rootbound.RootsMalformed, "not a list", ""},
		{"narrow, -32601", Narrow, ceil, lacking, both, "", "", "roots_unsupported"},
		{"narrow, nothing configured", Narrow, none, undeclared, nil, rootbound.NoScope, "", ""},
		{"client, not declared", Client, none, undeclared, nil, rootbound.NoScope, "the client declares no roots", ""},
		{"client, list", Client, none, list, []string{top + "/a/sub", top + "/out"}, "", "", "roots"},
		{"client, empty", Client, none, empty, nil, rootbound.RootsEmpty, "", ""},
		{"client, error", Client, none, failing, nil, rootbound.AuthorityUnavailable, "error", ""},
		{"client, null", Client, none, null, nil, rootbound.RootsMalformed, "not a list", ""},
		{"client, -32601", Client, none, lacking, nil, rootbound.NoScope, "roots_unsupported", ""},
		{"default without projects", "", none, list, []string{top + "/a/sub", top + "/out"}, "", "", "roots"},
		{"default with projects", "", ceil, list, sub, "", "", "roots"},
		{"ignore, not declared", Ignore, ceil, undeclared, both, "", "", "ceiling"},
		{"ignore, list", Ignore, ceil, list, both, "", "", "ceiling"},
		{"ignore, empty", Ignore, ceil, empty, both, "", "", "ceiling"},
		{"ignore, error", Ignore, ceil, failing, both, "", "", "ceiling"},
		{"ignore, nothing configured", Ignore, none, list, nil, rootbound.NoScope, "", ""},
		{"require, not declared", Require, ceil, undeclared, nil, rootbound.NoScope, "the client declares no roots", ""},
		{"require, list", Require, ceil, list, sub, "", "", "roots"},
		{"require, empty", Require, ceil, empty, nil, rootbound.RootsEmpty, "", ""},
		{"require, error", Require, ceil, failing, nil, rootbound.AuthorityUnavailable, "error", ""},
		{"require, -32601", Require, ceil, lacking, nil, rootbound.NoScope, "roots_unsupported", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := c.client.asked()
			a := c.client.authority(t, c.ceil, mode(c.mode))
			if c.reason != "" {
				denied(t, a, c.reason, c.detail)
				if s := a.Status(); s.State != "unavailable" || s.Generation != 0 {
					t.Errorf("status %+v", s)
				}
			} else {
				u := acquire(t, a, true)
				defer u.Release()
				if d := cmp.Diff(c.paths, paths(u)); d != "" {
					t.Error(d)
				}
				if s := u.Snapshot(); s.Source != c.source || s.Generation != 1 {
					t.Errorf("source %q, generation %d", s.Source, s.Generation)
				}
			}
			if c.mode == Ignore && c.client.asked() != before {
				t.Error("asked")
			}
		})
	}
}

// -32601 to the first ask is "not supported"; after a good answer it is a failed refresh.
func TestUnsupportedOnlyFirst(t *testing.T) {
	top := tree(t, "a")
	ceil := ceiling(t, project("a", top+"/a", rootbound.ReadWrite))
	c := &client{cap: Capability{Declared: true}, err: ErrUnsupported}
	a := c.authority(t, ceil)
	for range 3 {
		granted(t, a, true)
	}
	if c.asked() != 1 {
		t.Errorf("%d asks: it counts as not declared", c.asked())
	}
	a.Invalidate(rootbound.GenerationStale) // it announces a change: it may have learned to answer
	granted(t, a, true)
	if c.asked() != 2 {
		t.Errorf("%d asks", c.asked())
	}
	c.set(func(c *client) { c.err, c.ans = nil, answer(uri(top, "a")) })
	a.Invalidate(rootbound.GenerationStale)
	if u := acquire(t, a, true); u.Snapshot().Source != "roots" {
		t.Error(u.Snapshot().Source)
	}
	c.set(func(c *client) { c.err = ErrUnsupported })
	denied2 := func() {
		_, err := a.Acquire(context.Background(), true)
		isReason(t, err, rootbound.AuthorityUnavailable, "roots_unsupported")
	}
	denied2()
	denied2()
}

func TestG04EmptyIsNotEverything(t *testing.T) {
	top := tree(t, "a")
	for _, m := range []Mode{Narrow, Client, Require} {
		projects := []rootbound.Project{project("a", top+"/a", rootbound.ReadWrite)}
		if m == Client {
			projects = nil
		}
		c := declared()
		a := c.authority(t, ceiling(t, projects...), mode(m))
		denied(t, a, rootbound.RootsEmpty, "")
		// Later, too, and while something is in flight.
		c.set(func(c *client) { c.ans = answer(uri(top, "a")) })
		u := acquire(t, a, false)
		defer u.Release()
		c.set(func(c *client) { c.ans = answer() })
		a.MarkStale(rootbound.GenerationStale, 0)
		denied(t, a, rootbound.RootsEmpty, "")
		if u.Commit(func() error { return nil }) == nil {
			t.Error("the old roots still commit")
		}
	}
}

// --on-empty=ceiling: an empty list is no opinion as long as it is the first and was not announced to have changed.
func TestEmptyFirst(t *testing.T) {
	top := tree(t, "a")
	ceil := ceiling(t, project("a", top+"/a", rootbound.ReadWrite))
	noOpinion := func(o *Options) { o.EmptyIsCeiling = true }
	c := declared()
	c.cap.ListChanged = false
	a := c.authority(t, ceil, noOpinion)
	a.Invalidate(rootbound.GenerationStale) // before the first answer: it still is the first
	for range 3 {
		u := acquire(t, a, true)
		if s := u.Snapshot(); s.Source != "empty_first" || s.Generation != 1 {
			t.Fatalf("%q, generation %d", s.Source, s.Generation)
		}
		u.Release()
	}
	a.Invalidate(rootbound.GenerationStale)
	denied(t, a, rootbound.RootsEmpty, "")

	c = declared(uri(top, "a"))
	a = c.authority(t, ceil, noOpinion)
	granted(t, a, false)
	c.set(func(c *client) { c.ans = answer() })
	a.Invalidate(rootbound.GenerationStale)
	denied(t, a, rootbound.RootsEmpty, "")

	c = declared()
	denied(t, c.authority(t, ceiling(t), noOpinion, mode(Client)), rootbound.RootsEmpty, "")
	denied(t, c.authority(t, ceil, noOpinion, mode(Require)), rootbound.RootsEmpty, "")
}

func TestG05MissingIsNotEmpty(t *testing.T) {
	top := tree(t, "a")
	ceil := ceiling(t, project("a", top+"/a", rootbound.ReadWrite))
	for _, empty := range []bool{false, true} {
		on := func(o *Options) { o.EmptyIsCeiling = empty }
		for _, c := range []struct {
			name   string
			ans    *Answer
			err    error
			reason rootbound.Reason
			detail string
		}{
			{"null", &Answer{}, nil, rootbound.RootsMalformed, "not a list"},
			{"no uri", &Answer{Roots: []RootEntry{{Name: "x"}}}, nil, rootbound.RootsMalformed, "an entry without a URI"},
			{"malformed", nil, ErrMalformed, rootbound.RootsMalformed, ""},
			{"error", nil, errors.New("x"), rootbound.AuthorityUnavailable, "error"},
			{"nothing", nil, nil, rootbound.AuthorityUnavailable, "no answer"},
		} {
			a := (&client{cap: Capability{Declared: true}, ans: c.ans, err: c.err}).authority(t, ceil, on)
			_, err := a.Acquire(context.Background(), false)
			var e *rootbound.Error
			if !errors.As(err, &e) || e.Reason != c.reason || e.Detail != c.detail {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		// The other way round: not declared is no empty list.
		granted(t, (&client{}).authority(t, ceil, on), true)
	}
}

func TestMalformedAnswers(t *testing.T) {
	top := tree(t, "a")
	ceil := ceiling(t, project("a", top+"/a", rootbound.ReadWrite))
	many := make([]string, roots.MaxEntries+1)
	for i := range many {
		many[i] = uri(top, "a")
	}
	denied(t, declared(many...).authority(t, ceil), rootbound.RootsMalformed, "more than 256 entries")
	granted(t, declared(many[1:]...).authority(t, ceil), false)
	long := uri(top, "a") + strings.Repeat("/.", 4096)
	denied(t, declared(uri(top, "a"), long).authority(t, ceil), rootbound.RootsMalformed, "a URI over 4096 bytes")
	granted(t, declared(long[:roots.MaxURI]).authority(t, ceil), false)
}

// The whole answers of the shared cases, and the conditions that hold after parsing.
func TestAnswerCases(t *testing.T) {
	b, err := os.ReadFile("../fileuri/testdata/root-uris.json")
	if err != nil {
		t.Fatal(err)
	}
	type verdict struct {
		Accept *string
		Refuse rootbound.Reason
		Detail string
		Warn   string
		Then   rootbound.Reason
		Modes  []Mode
		Each   []verdict
	}
	var f struct {
		Cases []struct {
			ID     string
			URI    string
			Answer *struct {
				Roots []struct{ URI, Name *string }
			}
			Posix verdict
		}
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	top := tree(t, "home/u/ws/second", "home/u/a b", "home/u/b c")
	ran := 0
	for _, c := range f.Cases {
		if c.Answer == nil && c.Posix.Then == "" {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			here := func(u string) string { return strings.Replace(u, "file:///home", "file://"+top+"/home", 1) }
			cl := declared()
			if c.Answer == nil {
				cl.ans = answer(here(c.URI))
			} else {
				cl.ans = &Answer{}
				for _, r := range c.Answer.Roots {
					e := RootEntry{}
					if r.URI != nil {
						e.URI = here(*r.URI)
					}
					cl.ans.Roots = append(cl.ans.Roots, e)
				}
			}
			a := cl.authority(t, ceiling(t), mode(Client))
			u, err := a.Acquire(context.Background(), false)
			if c.Posix.Refuse != "" {
				isReason(t, err, c.Posix.Refuse, a.Status().Err.(*rootbound.Error).Detail)
				return
			}
			got := a.Status().Verdicts
			if c.Posix.Then != "" {
				if len(got) != 1 || got[0].Reason != c.Posix.Then {
					t.Fatalf("%+v, want %s", got, c.Posix.Then)
				}
				if e := err.(*rootbound.Error); e.Next == "" || e.Next != got[0].Next() {
					t.Errorf("the way out is %q", e.Next)
				}
				isReason(t, err, rootbound.NoScope, string(c.Posix.Then))
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer u.Release()
			for i, v := range c.Posix.Each {
				if got[i].Reason != v.Refuse || got[i].Detail != v.Detail || got[i].Warn != v.Warn || (v.Accept != nil) != (got[i].Root != "") {
					t.Errorf("entry %d: %+v, want %+v", i, got[i], v)
				}
			}
		})
	}
	if ran < 6 {
		t.Errorf("only %d cases", ran)
	}
}

func TestG21OneBadRootDoesNotPoison(t *testing.T) {
	top := tree(t, "a", "b/c")
	if err := os.WriteFile(top+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ceil := ceiling(t, project("a", top+"/a", rootbound.ReadWrite), project("b", top+"/b", rootbound.ReadWrite))
	bad := map[string]rootbound.Reason{
		"vscode-remote://wsl%2Bu/home": rootbound.RootNotFile, "/bare": rootbound.RootNotFile, "file://host/x": rootbound.RootRemote,
		"file:///%zz": rootbound.RootURIInvalid, "file:///a/../b": rootbound.RootURIInvalid, uri(top, "missing"): rootbound.RootUnusable,
		uri(top, "file"): rootbound.RootUnusable, "file:///proc/self": rootbound.RootUnusable, uri(top): "",
	}
	for u, reason := range bad {
		if reason == "" {
			continue
		}
		for _, list := range [][]string{{u, uri(top, "b/c")}, {uri(top, "b/c"), u}} {
			a := declared(list...).authority(t, ceil)
			if got := granted(t, a, false); !slices.Equal(got, []string{top + "/b/c"}) {
				t.Errorf("%s: granted %v", u, got)
			}
			i := slices.Index(list, u)
			if v := a.Status().Verdicts; v[i].Reason != reason || v[1-i].Reason != "" || v[1-i].Root == "" {
				t.Errorf("%s: %+v", u, v)
			}
		}
		// Alone: nothing is left, and the first one's reason says why.
		denied(t, declared(u, "untitled:x").authority(t, ceil), rootbound.NoOverlap, string(reason))
		denied(t, declared(u, "untitled:x").authority(t, ceiling(t), mode(Client)), rootbound.NoScope, string(reason))
	}
}

// What was dropped says what to declare instead, as far as it is known why.
func TestVerdictsSayWhatToDo(t *testing.T) {
	top := tree(t, "a")
	if err := os.WriteFile(top+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ways := map[string]string{uri(top, "file"): "A root must be a directory", uri(top, "missing"): "a folder that exists", "file:///proc/self": "an ordinary folder",
		"https://example.com/x": rootbound.RootNotFile.Next(), uri(top, "a"): ""}
	for u, want := range ways {
		a := declared(u).authority(t, ceiling(t, project("a", top+"/a", rootbound.ReadWrite)))
		use, err := a.Acquire(t.Context(), false)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", u, err, want)
		}
		if use != nil {
			use.Release()
		}
		if v := a.Status().Verdicts[0]; !strings.Contains(v.Next(), want) || (v.Next() == "") != (want == "") {
			t.Errorf("%s: %q, want %q", u, v.Next(), want)
		}
	}
}

func TestG20NoCwdFallback(t *testing.T) {
	top := tree(t, "cwd/sub", "home", "a")
	t.Chdir(top + "/cwd")
	t.Setenv("HOME", top+"/home")
	silent := &client{cap: Capability{Declared: true}, err: errors.New("x")}
	for _, c := range []*client{{}, declared(), silent, declared("file:relative"), declared("sub"), declared("file://./sub"), declared(".")} {
		for _, m := range []Mode{Narrow, Client, Ignore, Require, ""} {
			for _, ceil := range []*Ceiling{ceiling(t), ceiling(t, project("gone", top+"/gone", rootbound.Full))} {
				a := c.authority(t, ceil, mode(m), func(o *Options) { o.EmptyIsCeiling, o.AllowWide = true, true })
				u, err := a.Acquire(context.Background(), false)
				if u != nil {
					t.Fatalf("mode %q: granted %v", m, paths(u))
				}
				if e := new(rootbound.Error); !errors.As(err, &e) {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestClientMode(t *testing.T) {
	top := tree(t, "home/u/work", "srv")
	t.Setenv("HOME", top+"/home/u")
	c, err := Open(nil, CeilingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ro := func(o *Options) { o.ClientProject = rootbound.Project{Rights: rootbound.ReadOnly, MaxRead: 7} }
	if err := os.Symlink(top+"/home/u", top+"/h"); err != nil {
		t.Fatal(err)
	}
	for _, wide := range []string{"/", top, top + "/home", top + "/home/u", top + "/h", "/root", "/home"} {
		if _, err := os.Stat(wide); err != nil {
			continue
		}
		a := declared(uri(wide), uri(top, "home/u/work")).authority(t, c, ro)
		u := acquire(t, a, false)
		if got := paths(u); !slices.Equal(got, []string{top + "/home/u/work"}) {
			t.Errorf("%s: granted %v", wide, got)
		}
		if v := a.Status().Verdicts[0]; v.Reason != rootbound.RootTooWide {
			t.Errorf("%s: %+v", wide, v)
		}
		g := u.Snapshot().Grants[0]
		if g.Project.Rights != rootbound.ReadOnly || g.Project.MaxRead != 7 || g.Project.ID != g.ID || g.Project.Dir != top+"/home/u/work" {
			t.Errorf("%+v", g.Project)
		}
		u.Release()
		denied(t, declared(uri(wide)).authority(t, c), rootbound.NoScope, "root_too_wide")
		granted(t, declared(uri(wide)).authority(t, c, func(o *Options) { o.AllowWide = true }), false)
	}
	e := new(rootbound.Error)
	if _, err := declared("file:///c%3A/x").authority(t, c).Acquire(context.Background(), false); !errors.As(err, &e) || !strings.Contains(e.Next, "un the server where the files are") {
		t.Errorf("%v", err)
	}
	// A project of the operator keeps its rights, whatever the client calls it.
	one := ceiling(t, project("srv", top+"/srv", rootbound.ReadOnly))
	u := acquire(t, declared(uri(top, "srv"), uri(top, "home")).authority(t, one, mode(Client)), false)
	defer u.Release()
	if g := u.Snapshot().Grants; len(g) != 2 || g[0].Project.Rights != rootbound.ReadOnly || g[1].Project.Rights != rootbound.ReadWrite {
		t.Errorf("%+v", g)
	}
}

// Homes are known by object wherever links lead, and by path if they do not open.
func TestWide(t *testing.T) {
	top := tree(t, "real/deep/u/work", "links", "plain")
	if err := os.Symlink(top+"/real/deep", top+"/links/homes"); err != nil {
		t.Fatal(err)
	}
	c, err := Open(nil, CeilingOptions{Homes: []string{top + "/links/homes/u", top + "/asleep/v", "not absolute"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := os.MkdirAll(top+"/asleep/v/work", 0o755); err == nil && os.Rename(top+"/asleep", top+"/awake") != nil {
		t.Fatal("cannot prepare")
	}
	a := declared(uri(top, "plain")).authority(t, c)
	granted(t, a, false) // homes are learnt now
	if err := os.Rename(top+"/awake", top+"/asleep"); err != nil {
		t.Fatal(err)
	}
	for p, wide := range map[string]bool{
		"": true, "real": true, "real/deep": true, "real/deep/u": true, "links": true, "links/homes": true, "links/homes/u": true,
		"real/deep/u/work": false, "plain": false, "asleep": true, "asleep/v": true, "asleep/v/work": false,
	} {
		_, err := declared(uri(top, p)).authority(t, c).Acquire(context.Background(), false)
		if wide {
			isReason(t, err, rootbound.NoScope, "root_too_wide")
		} else if err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}
