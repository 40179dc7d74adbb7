package authority

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rootbound/rootbound"
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
