package patch_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/fileop/text"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/patch"
)

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
