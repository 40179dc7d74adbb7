package authority_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/fileuri"
)

// A client narrows what the operator granted, then takes it back while a call is under way.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.MkdirAll(filepath.Join(dir, "docs"), 0o755); err != nil {
		fmt.Println(err)
		return
	}
	ceiling, err := authority.Open([]rootbound.Project{{ID: "app", Dir: dir, Rights: rootbound.ReadWrite}}, authority.CeilingOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ceiling.Close()

	answer := &authority.Answer{Roots: []authority.RootEntry{{URI: fileuri.Format(filepath.Join(dir, "docs"))}}}
	session := authority.New(ceiling, authority.Options{
		Capability: func() authority.Capability { return authority.Capability{Declared: true, ListChanged: true} },
		Ask:        func(context.Context) (*authority.Answer, error) { return answer, nil },
	})
	defer session.Close()

	use, err := session.Acquire(context.Background(), true)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer use.Release()
	grant := use.Snapshot().Grants[0]
	fmt.Println("generation", use.Snapshot().Generation, "grants", grant.Prefix, "of", grant.Project.ID)

	answer = &authority.Answer{Roots: []authority.RootEntry{}} // the person closes the folder
	session.Invalidate(rootbound.GenerationStale)
	fmt.Println(use.Commit(func() error { return nil }))
	_, err = session.Acquire(context.Background(), false)
	fmt.Println(err)
	// Output:
	// generation 1 grants docs of app
	// the approved roots changed while the call was under way (generation_stale). Send the call again: it will be judged by the current roots.
	// the client answered that it has no roots (roots_empty). Open a folder in the client, or start the server with --roots=ignore.
}
