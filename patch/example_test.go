package patch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/patch"
)

// A change of two files is planned, looked at and applied.
func Example() {
	dir, err := os.MkdirTemp("", "app")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	ceiling, err := authority.Open([]rootbound.Project{{ID: "app", Dir: dir, Rights: rootbound.ReadWrite}}, authority.CeilingOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ceiling.Close()
	a := authority.New(ceiling, authority.Options{})
	defer a.Close()
	use, err := a.Acquire(context.Background(), true)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer use.Release()
	ctx, done := authority.With(context.Background(), use)
	defer done()

	door, desk := guard.New(guard.Options{}), patch.NewDesk(patch.DeskOptions{})
	plan, err := patch.Propose(ctx, door, patch.Request{Root: "app", Diff: "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n" +
		"--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+two\n"})
	if err != nil {
		fmt.Println(err)
		return
	}
	issued, err := desk.Issue(ctx, plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range plan.Files {
		fmt.Println(f.Action, f.Path)
	}
	// Later, with what the token tells: the same session, project, roots and rules.
	again, err := desk.Redeem(ctx, "app", issued.Token)
	if err != nil {
		fmt.Println(err)
		return
	}
	applied, err := desk.Apply(ctx, door, again)
	fmt.Println(len(applied.Files), err)
	_, err = desk.Redeem(ctx, "app", issued.Token)
	fmt.Println(rootbound.ReasonOf(err))
	// Output:
	// write a.txt
	// create b.txt
	// 2 <nil>
	// argument_invalid
}
