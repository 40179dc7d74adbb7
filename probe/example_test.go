//go:build linux

package probe_test

import (
	"context"
	"fmt"

	"github.com/rootbound/rootbound/probe"
)

// A server that judges paths as text follows a link out of what it was given; one that resolves beneath a handle does
// not.
func ExampleJudge() {
	bin, err := broken() // a tiny server that is built for these tests
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, mode := range []string{"sound", "lexical-check"} {
		r, err := probe.Judge(context.Background(), probe.Server{Command: []string{bin, mode, "{app}", "{docs}"}},
			probe.Options{Only: []string{"S10"}})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, c := range r.Cases {
			fmt.Println(mode, c.ID, c.Verdict)
		}
	}
	// Output:
	// sound S10 held
	// lexical-check S10 fell
}
