package patch_test

import (
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/patch"
)

// A name cannot be a file and a directory: a plan of which one part excludes the other is refused when it is proposed, not when
// somebody agreed to it.
func TestAFileAndOneBelowItsName(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full})
	o.fill("p")
	ctx, _ := o.session("")
	propose := func(edits ...patch.Edit) error {
		t.Helper()
		p, err := patch.Propose(ctx, o.g, patch.Request{Root: "p", Edits: edits})
		if err == nil {
			_, err = o.desk.Issue(ctx, p)
		}
		if err == nil {
			_, err = o.desk.Apply(ctx, o.g, p)
		}
		return err
	}
	for what, names := range map[string][2]string{
		"new": {"n", "n/b"}, "deep": {"n", "n/b/c/d"}, "the other way round": {"n/b/c", "n"}, "in between": {"n/b/c/d", "n/b"},
	} {
		err := propose(edit(names[0], "", "x"), edit(names[1], "", "x"))
		wants(t, what, err, rootbound.ArgumentInvalid, "below its name")
		if o.content("p/n") != "absent" {
			t.Errorf("%s: something was made", what)
		}
	}
	_, err := patch.Propose(ctx, o.g, patch.Request{Root: "p", Diff: "--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n--- /dev/null\n+++ b/a/b\n@@ -0,0 +1 @@\n+x\n"})
	if rootbound.ReasonOf(err) == "" {
		t.Error("a file that goes, and one below its name")
	}
	if err := propose(edit("n/b", "", "x"), edit("nn", "", "x"), edit("n/bb", "", "x")); err != nil {
		t.Errorf("names that only begin alike: %v", err)
	}
}
