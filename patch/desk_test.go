package patch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/authority/token"
	"github.com/rootbound/rootbound/fileop/text"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/patch"
)

// office is projects with a desk, and one session.
type office struct {
	t    *testing.T
	dir  string
	ceil *authority.Ceiling
	g    *guard.Guard
	desk *patch.Desk
	now  time.Time
	wait *waiting
}

// waiting is a Pending that remembers.
type waiting struct{ plans sync.Map }

func (w *waiting) Put(id string, _ time.Time, body []byte) error { w.plans.Store(id, body); return nil }
func (w *waiting) Drop(id string) error                          { w.plans.Delete(id); return nil }
func (w *waiting) Has(id string) bool                            { _, ok := w.plans.Load(id); return ok }

// all are the plans that wait.
func (w *waiting) all(t *testing.T) (out []*patch.Plan) {
	t.Helper()
	for _, body := range w.plans.Range {
		p, err := patch.Decode(body.([]byte))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func open(t *testing.T, projects ...rootbound.Project) *office {
	t.Helper()
	o := &office{t: t, dir: t.TempDir(), g: guard.New(guard.Options{}), now: time.Now(), wait: &waiting{}}
	for i := range projects {
		projects[i].Dir = filepath.Join(o.dir, string(projects[i].ID))
		if err := os.MkdirAll(projects[i].Dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c, err := authority.Open(projects, authority.CeilingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	o.ceil = c
	o.desk = o.another(nil)
	return o
}

// another is a desk of another process.
func (o *office) another(s token.Spender) *patch.Desk {
	return patch.NewDesk(patch.DeskOptions{Spender: s, Pending: o.wait, Now: func() time.Time { return o.now }})
}

// session is a client with an authority of its own.
func (o *office) session(principal string) (context.Context, *authority.Authority) {
	o.t.Helper()
	a := authority.New(o.ceil, authority.Options{})
	o.t.Cleanup(a.Close)
	return o.call(a, principal), a
}

func (o *office) call(a *authority.Authority, principal string) context.Context {
	o.t.Helper()
	use, err := a.Acquire(context.Background(), true)
	if err != nil {
		o.t.Fatal(err)
	}
	use.Origin = &rootbound.Origin{Principal: principal}
	ctx, end := authority.With(context.Background(), use)
	o.t.Cleanup(func() { end(); use.Release() })
	return ctx
}

func (o *office) path(name string) string { return filepath.Join(o.dir, filepath.FromSlash(name)) }

func (o *office) content(name string) string {
	b, err := os.ReadFile(o.path(name))
	if err != nil {
		return "absent"
	}
	return string(b)
}

// propose makes a plan and its token.
func (o *office) propose(ctx context.Context, r patch.Request) (*patch.Plan, patch.Issued) {
	o.t.Helper()
	p, err := patch.Propose(ctx, o.g, r)
	if err != nil {
		o.t.Fatal(err)
	}
	i, err := o.desk.Issue(ctx, p)
	if err != nil {
		o.t.Fatal(err)
	}
	return p, i
}

// apply is what apply_patch does.
func (o *office) apply(ctx context.Context, root, ref string) error {
	p, err := o.desk.Redeem(ctx, root, ref)
	if err != nil {
		return err
	}
	_, err = o.desk.Apply(ctx, o.g, p)
	return err
}

func edit(path, old, new string) patch.Edit {
	return patch.Edit{Path: path, Edit: text.Edit{Old: old, New: new}}
}

func wants(t *testing.T, what string, err error, reason rootbound.Reason, detail string) {
	t.Helper()
	var e *rootbound.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: %v, want %s", what, err, reason)
		return
	}
	if e.Reason != reason || !strings.Contains(e.Detail, detail) {
		t.Errorf("%s: %v, want %s [%s]", what, err, reason, detail)
	}
	if e.Op == "" || e.Next == "" && e.Reason.Next() == "" {
		t.Errorf("%s: %+v says too little", what, e)
	}
}

const wide = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n" +
	"diff --git a/sub/new/er b/sub/new/er\nnew file mode 100755\n--- /dev/null\n+++ b/sub/new/er\n@@ -0,0 +1 @@\n+hello\n" +
	"diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n" +
	"diff --git a/run b/run\nold mode 100644\nnew mode 100755\n" +
	"diff --git a/from b/to\nsimilarity index 100%\nrename from from\nrename to to\n" +
	"diff --git a/a b/copied\nsimilarity index 100%\ncopy from a\ncopy to copied\n"

func (o *office) fill(project string) {
	o.t.Helper()
	for name, content := range map[string]string{"a": "one\ntwo\n", "gone": "gone\n", "run": "#!/bin/sh\n", "from": "moved\n"} {
		if err := os.WriteFile(o.path(project+"/"+name), []byte(content), 0o644); err != nil {
			o.t.Fatal(err)
		}
	}
}

func TestG34ProposeChangesNothing(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full})
	o.fill("p")
	before := times(t, o.path("p"))
	ctx, _ := o.session("")
	for _, r := range []patch.Request{
		{Root: "p", Diff: wide},
		{Root: "p", Edits: []patch.Edit{edit("a", "one", "1"), edit("run", "bin", "usr/bin"), edit("deep/er/new", "", "x"), edit("a", "two", "2")}},
	} {
		p, i := o.propose(ctx, r)
		if i.Waits || len(p.Files) < 3 || p.Diff == "" {
			t.Errorf("%+v %+v", p.Files, i)
		}
		if after := times(t, o.path("p")); after != before {
			t.Fatalf("a plan changed something:\n%s\nwas\n%s", after, before)
		}
	}
	for _, r := range []patch.Request{
		{Root: "p", Diff: strings.Replace(wide, "-one", "-uno", 1)},
		{Root: "p", Edits: []patch.Edit{edit("deep/er/new", "", "x"), edit("a", "three", "3")}},
	} {
		if _, err := patch.Propose(ctx, o.g, r); err == nil {
			t.Error("it does not fit")
		}
		if after := times(t, o.path("p")); after != before {
			t.Fatal("a refused plan changed something")
		}
	}
}

// times lists every name with its content, bits and times.
func times(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		b.WriteString(rel + " " + st.Mode().String() + " " + st.ModTime().String() + "\n")
		if st.Mode().IsRegular() {
			c, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.Write(c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAPlanIsApplied(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full})
	o.fill("p")
	ctx, _ := o.session("")
	_, i := o.propose(ctx, patch.Request{Root: "p", Diff: wide})
	if err := o.apply(ctx, "p", i.Token); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "1\ntwo\n", "sub/new/er": "hello\n", "gone": "absent", "from": "absent", "to": "moved\n", "copied": "one\ntwo\n"} {
		if got := o.content("p/" + name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]bool{"run": true, "sub/new/er": true, "a": false} {
		if st, err := os.Stat(o.path("p/" + name)); err != nil || st.Mode()&0o100 != 0 != want {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
}

func TestG36TokensAreSingleUse(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full})
	spender := &token.Memory{} // shared, as on a disk
	o.desk = o.another(spender)
	ctx, _ := o.session("")
	p, i := o.propose(ctx, patch.Request{Root: "p", Edits: []patch.Edit{edit("new", "", "x")}})
	again := func() {
		t.Helper()
		if err := os.Remove(o.path("p/new")); err != nil { // so that it would fit once more
			t.Fatal(err)
		}
	}
	if err := o.apply(ctx, "p", i.Token); err != nil {
		t.Fatal(err)
	}
	again()
	wants(t, "the token again", o.apply(ctx, "p", i.Token), rootbound.ArgumentInvalid, "used up")
	wants(t, "the id again", o.apply(ctx, "p", p.ID), rootbound.ArgumentInvalid, "no such plan")
	_, err := o.desk.Apply(ctx, o.g, p)
	wants(t, "a plan that was redeemed before it was applied", err, rootbound.ArgumentInvalid, "applied or rejected before")
	_, err = o.another(spender).Apply(ctx, o.g, p)
	wants(t, "another process", err, rootbound.ArgumentInvalid, "applied or rejected before")
	if got := o.content("p/new"); got != "absent" {
		t.Errorf("applied twice: %q", got)
	}

	// Twenty at once: one is applied.
	p, _ = o.propose(ctx, patch.Request{Root: "p", Edits: []patch.Edit{edit("new", "", "x")}})
	var done atomic.Int32
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if _, err := o.desk.Apply(ctx, o.g, p); err == nil {
				done.Add(1)
			}
		})
	}
	wait.Wait()
	if done.Load() != 1 {
		t.Errorf("applied %d times", done.Load())
	}

	// Rejected is used up too.
	p, i = o.propose(ctx, patch.Request{Root: "p", Edits: []patch.Edit{edit("other", "", "x")}})
	if err := o.desk.Reject(p); err != nil {
		t.Fatal(err)
	}
	wants(t, "rejected", o.apply(ctx, "p", i.Token), rootbound.ArgumentInvalid, "used up")
	if got := o.content("p/other"); got != "absent" {
		t.Errorf("applied though it was rejected: %q", got)
	}
}

// A token is good for whom and for what it was made.
func TestTokensBind(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full}, rootbound.Project{ID: "q", Rights: rootbound.Full})
	ctx, a := o.session("alice")
	p, i := o.propose(ctx, patch.Request{Root: "p", Edits: []patch.Edit{edit("new", "", "x")}})
	_, j := o.propose(ctx, patch.Request{Root: "q", Edits: []patch.Edit{edit("new", "", "x")}})
	const other, forged = "another session, project or plan", "none of ours"
	wants(t, "another project", o.apply(ctx, "q", i.Token), rootbound.ArgumentInvalid, other)
	wants(t, "another project by id", o.apply(ctx, "q", p.ID), rootbound.ArgumentInvalid, other)
	wants(t, "no such project", o.apply(ctx, "nowhere", i.Token), rootbound.ArgumentInvalid, other)
	stranger, _ := o.session("alice")
	wants(t, "another session", o.apply(stranger, "p", i.Token), rootbound.ArgumentInvalid, other)
	wants(t, "another session by id", o.apply(stranger, "p", p.ID), rootbound.ArgumentInvalid, other)
	wants(t, "another principal", o.apply(o.call(a, "bob"), "p", i.Token), rootbound.ArgumentInvalid, other)
	wants(t, "forged", o.apply(ctx, "p", "rb1.AAAA"), rootbound.ArgumentInvalid, forged)
	wants(t, "changed", o.apply(ctx, "p", i.Token[:len(i.Token)-2]+"AA"), rootbound.ArgumentInvalid, forged)
	wants(t, "swapped", o.apply(ctx, "p", i.Token[:len(i.Token)/2]+j.Token[len(j.Token)/2:]), rootbound.ArgumentInvalid, forged)
	wants(t, "no id", o.apply(ctx, "p", "nosuchplan"), rootbound.ArgumentInvalid, "no such plan")
	wants(t, "empty", o.apply(ctx, "p", ""), rootbound.ArgumentInvalid, "no such plan")
	_, err := o.another(nil).Redeem(ctx, "p", i.Token)
	wants(t, "another key", err, rootbound.ArgumentInvalid, "expired, or the server")

	// A new generation ends it, though everything would fit.
	a.MarkStale(rootbound.GenerationStale, time.Second)
	wants(t, "stale call", o.apply(ctx, "p", i.Token), rootbound.GenerationStale, "")
	next := o.call(a, "alice")
	wants(t, "another generation", o.apply(next, "p", i.Token), rootbound.GenerationStale, "other roots or rules")

	p, i = o.propose(next, patch.Request{Root: "p", Edits: []patch.Edit{edit("new", "", "x")}})
	o.now = p.Expires
	wants(t, "expired", o.apply(next, "p", i.Token), rootbound.ArgumentInvalid, "expired")
	_, err = o.desk.Apply(next, o.g, p)
	wants(t, "expired after it was redeemed", err, rootbound.ArgumentInvalid, "expired")
	o.now = p.Expires.Add(-time.Millisecond)
	if got := o.content("p/new") + o.content("q/new"); got != "absentabsent" {
		t.Errorf("applied: %q", got)
	}
	if err := o.apply(next, "p", i.Token); err != nil { // all that did not spoil it
		t.Error(err)
	}
}

// Every file is compared again: a conflict names the file and changes nothing.
func TestAPlanMeetsAnotherWriter(t *testing.T) {
	for name, disturb := range map[string]func(o *office) error{
		"gone": func(o *office) error { return os.WriteFile(o.path("p/gone"), []byte("gone\n"), 0o644) }, // the same bytes, later
		"a": func(o *office) error {
			if err := os.WriteFile(o.path("p/b"), []byte("one\ntwo\n"), 0o644); err != nil {
				return err
			}
			return os.Rename(o.path("p/b"), o.path("p/a"))
		},
		"to":  func(o *office) error { return os.WriteFile(o.path("p/to"), nil, 0o644) },
		"run": func(o *office) error { return os.Remove(o.path("p/run")) },
		"sub/new/er": func(o *office) error { // a link now stands where a directory was to be made
			if err := os.Mkdir(o.path("p/else"), 0o755); err != nil {
				return err
			}
			return os.Symlink("else", o.path("p/sub"))
		},
	} {
		o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full})
		o.fill("p")
		ctx, _ := o.session("")
		_, i := o.propose(ctx, patch.Request{Root: "p", Diff: wide})
		if err := disturb(o); err != nil {
			t.Fatal(err)
		}
		before := o.content("p/a") + o.content("p/gone") + o.content("p/to") + o.content("p/from") + o.content("p/copied")
		err := o.apply(ctx, "p", i.Token)
		var e *rootbound.Error
		if !errors.As(err, &e) || e.Path != name {
			t.Errorf("%s: %v", name, err)
			continue
		}
		switch e.Reason {
		case rootbound.VersionConflict, rootbound.Exists, rootbound.NotFound:
		default:
			t.Errorf("%s: %v", name, err)
		}
		if after := o.content("p/a") + o.content("p/gone") + o.content("p/to") + o.content("p/from") + o.content("p/copied"); after != before {
			t.Errorf("%s: changed: %q", name, after)
		}
	}
}

// A patch needs every right it uses, and what lacks one is left for somebody who has it.
func TestAPatchNeedsItsRights(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.ReadWrite}, rootbound.Project{ID: "only", Rights: rootbound.ProposeOnly},
		rootbound.Project{ID: "ro", Rights: rootbound.ReadOnly}, rootbound.Project{ID: "asked", Rights: rootbound.Full, ProposeWrites: true})
	for _, p := range []string{"p", "only", "ro", "asked"} {
		o.fill(p)
	}
	ctx, _ := o.session("")
	for root, missing := range map[string]string{"p": "missing delete", "only": "missing", "asked": "writes: propose"} {
		p, i := o.propose(ctx, patch.Request{Root: root, Diff: wide})
		if !i.Waits || !i.Visible || !o.wait.Has(p.ID) {
			t.Errorf("%s: %+v, nobody sees it", root, i)
		}
		for range 2 { // refused, not used up
			err := o.apply(ctx, root, i.Token)
			wants(t, root, err, rootbound.RightMissing, missing)
			if e := err.(*rootbound.Error); !strings.Contains(e.Next, "rootbound patch apply "+p.ID) {
				t.Errorf("%s: %s", root, e.Next)
			}
		}
		if got := o.content(root + "/a"); got != "one\ntwo\n" {
			t.Errorf("%s: %q", root, got)
		}
	}
	_, err := patch.Propose(ctx, o.g, patch.Request{Root: "ro", Diff: wide})
	wants(t, "ro", err, rootbound.RightMissing, "missing propose")

	// Rejected elsewhere, it is gone here before anybody is asked again.
	p, i := o.propose(ctx, patch.Request{Root: "asked", Edits: []patch.Edit{edit("a", "one", "1")}})
	o.wait.Drop(p.ID)
	wants(t, "rejected in another process", o.apply(ctx, "asked", i.Token), rootbound.ArgumentInvalid, "applied or rejected")

	// What waits is found by the operator's own process, applied there, and then used up here.
	person := authority.New(person(t, o), authority.Options{Mode: authority.Ignore})
	t.Cleanup(person.Close)
	for _, root := range []string{"p", "only", "asked"} {
		var p *patch.Plan
		for _, q := range o.wait.all(t) {
			if q.Project == rootbound.RootID(root) {
				p = q
			}
		}
		pctx := o.call(person, "")
		use, _ := authority.From(pctx)
		use.Agreed = authority.AtTerminal
		if _, err := o.desk.Apply(pctx, o.g, p); err != nil {
			t.Errorf("%s: %v", root, err)
		}
		if got := o.content(root + "/a"); got != "1\ntwo\n" {
			t.Errorf("%s: %q", root, got)
		}
		wants(t, root, o.apply(ctx, root, p.ID), rootbound.ArgumentInvalid, "no such plan")
	}
	if left := o.wait.all(t); len(left) != 0 {
		t.Errorf("%d plans still wait", len(left))
	}
}

// person is the ceiling of whoever applies what was proposed.
func person(t *testing.T, o *office) *authority.Ceiling {
	t.Helper()
	var all []rootbound.Project
	for _, id := range []rootbound.RootID{"p", "only", "asked"} {
		all = append(all, patch.Operator(rootbound.Project{ID: id, Dir: o.path(string(id)), Rights: rootbound.ProposeOnly, ProposeWrites: true}))
	}
	c, err := authority.Open(all, authority.CeilingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A patch holds one project, and rules hold through it.
func TestWhatAPlanRefuses(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full}, rootbound.Project{ID: "p/inner", Rights: rootbound.Full})
	o.fill("p")
	if err := os.WriteFile(o.path("p/.env"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for to, from := range map[string]string{"a": "link", "../q": "out"} {
		if err := os.Symlink(to, o.path("p/"+from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(o.path("p/a"), o.path("p/second")); err != nil {
		t.Fatal(err)
	}
	ctx, _ := o.session("")
	change := func(name string) string { return "--- a/" + name + "\n+++ b/" + name + "\n@@ -1 +1 @@\n-one\n+two\n" }
	make := func(name string) string { return "--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+two\n" }
	for _, c := range []struct {
		name   string
		diff   string
		edits  []patch.Edit
		reason rootbound.Reason
		detail string
	}{
		{"credentials", change(".env"), nil, rootbound.RuleDenied, ""},
		{"credentials by an edit", "", []patch.Edit{edit(".env", "one", "two")}, rootbound.RuleDenied, ""},
		{"credentials as a copy's source", "diff --git a/.env b/x\ncopy from .env\ncopy to x\n", nil, rootbound.RuleDenied, ""},
		{"credentials as a rename's source", "diff --git a/.env b/x\nrename from .env\nrename to x\n", nil, rootbound.RuleDenied, ""},
		{"execution", make(".git/hooks/pre-commit"), nil, rootbound.RuleDenied, ""},
		{"execution by case", make(".GIT/Hooks/pre-commit"), nil, rootbound.RuleDenied, ""},
		{"a .git file", make("sub/.git"), nil, rootbound.RuleDenied, ""},
		{"execution as a rename's end", "diff --git a/a b/.envrc\nrename from a\nrename to .envrc\n", nil, rootbound.RuleDenied, ""},
		{"a link", change("link"), nil, rootbound.SpecialFile, "symbolic link"},
		{"a way out", make("out/x"), nil, rootbound.OutsideRoot, ""},
		{"the inner project", make("a2") + make("inner/x"), nil, rootbound.OutsideRoot, "another project"},
		{"one file by two names", "", []patch.Edit{edit("a", "one", "1"), edit("second", "two", "2")}, rootbound.ArgumentInvalid, "the same file twice"},
		{"one file by two spellings", "", []patch.Edit{edit("a", "one", "1"), edit("./a", "two", "2")}, rootbound.ArgumentInvalid, "the same file twice"},
		{"nothing", "", []patch.Edit{edit("a", "one", "one")}, rootbound.ArgumentInvalid, "nothing would change"},
		{"no file", "", []patch.Edit{edit("nofile", "one", "two")}, rootbound.NotFound, ""},
		{"no match", "", []patch.Edit{edit("a", "three", "two")}, rootbound.EditNoMatch, ""},
		{"no match of a diff", change("run"), nil, rootbound.EditNoMatch, "hunk 1"},
		{"what is there", make("a"), nil, rootbound.Exists, ""},
		{"what is not there", "--- a/nofile\n+++ b/nofile\n@@ -1 +1 @@\n-one\n+two\n", nil, rootbound.NotFound, ""},
		{"a version", "", []patch.Edit{{Path: "a", Edit: text.Edit{Old: "one", New: "1"}, Expect: "stale"}}, rootbound.VersionConflict, ""},
		{"a version of what is not there", "", []patch.Edit{{Path: "a", Edit: text.Edit{Old: "one", New: "1"}, Expect: "absent"}}, rootbound.Exists, ""},
		{"two versions", "", []patch.Edit{{Path: "a", Edit: text.Edit{Old: "one", New: "1"}, Expect: "x"}, {Path: "a", Edit: text.Edit{Old: "two", New: "1"}, Expect: "y"}}, rootbound.ArgumentInvalid, "two versions"},
	} {
		_, err := patch.Propose(ctx, o.g, patch.Request{Root: "p", Diff: c.diff, Edits: c.edits})
		wants(t, c.name, err, c.reason, c.detail)
	}
	_, err := patch.Propose(ctx, o.g, patch.Request{Diff: change("a")})
	wants(t, "no project", err, rootbound.RootRequired, "")
	_, err = patch.Propose(ctx, o.g, patch.Request{Root: "nowhere", Diff: change("a")})
	wants(t, "no such project", err, rootbound.ProjectUnknown, "")
}

// Memory is bounded: the oldest plans go.
func TestTheDeskIsBounded(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full})
	ctx, _ := o.session("")
	var first patch.Issued
	for n := range 65 {
		_, i := o.propose(ctx, patch.Request{Root: "p", Edits: []patch.Edit{edit("new", "", "x")}})
		if n == 0 {
			first = i
		}
	}
	wants(t, "the oldest", o.apply(ctx, "p", first.Token), rootbound.ArgumentInvalid, "forgotten")
}

// broken is a disk that takes nothing.
type broken struct{ err error }

func (b broken) Put(string, time.Time, []byte) error { return b.err }
func (b broken) Drop(string) error                   { return b.err }
func (b broken) Has(string) bool                     { return false }
func (b broken) Spend(string, time.Time) error       { return b.err }

// A state directory that is full or cannot be written is told, changes nothing and spoils no plan.
func TestNothingIsLostWhereNothingCanBeKept(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full}, rootbound.Project{ID: "asked", Rights: rootbound.Full, ProposeWrites: true})
	ctx, _ := o.session("")
	full := broken{errors.New("no space left on device /secret/place")}
	for _, root := range []string{"p", "asked"} {
		p, err := patch.Propose(ctx, o.g, patch.Request{Root: root, Edits: []patch.Edit{edit("new", "", "x")}})
		if err != nil {
			t.Fatal(err)
		}
		desk := patch.NewDesk(patch.DeskOptions{Pending: full, Spender: full})
		_, err = desk.Issue(ctx, p)
		if root == "asked" {
			wants(t, "a plan that nobody would see", err, rootbound.IOError, "cannot be kept for a person")
			if strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = desk.Apply(ctx, o.g, p)
		wants(t, "a plan that could be applied twice", err, rootbound.LimitReached, "cannot be remembered")
		if strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
		if got := o.content(root + "/new"); got != "absent" {
			t.Error("applied")
		}
		if q, err := desk.Redeem(ctx, root, p.ID); err != nil || q != p {
			t.Errorf("the plan is lost: %v", err)
		}
	}
	many := broken{&rootbound.Error{Reason: rootbound.LimitReached, Detail: "64 plans wait", Next: "Ask the person."}}
	p, err := patch.Propose(ctx, o.g, patch.Request{Root: "asked", Edits: []patch.Edit{edit("new", "", "x")}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = patch.NewDesk(patch.DeskOptions{Pending: many}).Issue(ctx, p)
	wants(t, "too many", err, rootbound.LimitReached, "64 plans wait")
}

// Files of this program are out of reach of patches too, whatever lies between.
func TestOwnFilesAreOutOfReachOfPatches(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full})
	o.fill("p")
	if err := os.Link(o.path("p/a"), o.path("p/alias")); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(o.path("p/a"))
	if err != nil {
		t.Fatal(err)
	}
	ours := []guard.Own{{Path: o.path("p/state")}, {Path: o.path("p/a"), ID: identity(st)}}
	o.g = guard.New(guard.Options{Own: func() []guard.Own { return ours }})
	ctx, _ := o.session("")
	for _, name := range []string{"a", "alias", "state", "state/plans/x", "state/sub/new/file"} {
		for what, r := range map[string]patch.Request{
			"edit":   {Root: "p", Edits: []patch.Edit{edit(name, "", "x")}},
			"made":   {Root: "p", Diff: "--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+x\n"},
			"gone":   {Root: "p", Diff: "--- a/" + name + "\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"},
			"copied": {Root: "p", Diff: "diff --git a/" + name + " b/copy\ncopy from " + name + "\ncopy to copy\n"},
			"moved":  {Root: "p", Diff: "diff --git a/run b/" + name + "\nrename from run\nrename to " + name + "\n"},
		} {
			_, err := patch.Propose(ctx, o.g, r)
			wants(t, what+" "+name, err, rootbound.RuleDenied, "own")
		}
	}
	// What became ours after the plan was made is not applied.
	p, _ := o.propose(ctx, patch.Request{Root: "p", Edits: []patch.Edit{edit("run", "bin", "usr/bin")}})
	st, err = os.Stat(o.path("p/run"))
	if err != nil {
		t.Fatal(err)
	}
	o.g = guard.New(guard.Options{Own: func() []guard.Own { return []guard.Own{{Path: o.path("p/run"), ID: identity(st)}} }})
	_, err = o.desk.Apply(ctx, o.g, p)
	wants(t, "ours by now", err, rootbound.RuleDenied, "own")
	if got := o.content("p/run"); got != "#!/bin/sh\n" {
		t.Errorf("%q", got)
	}
}
