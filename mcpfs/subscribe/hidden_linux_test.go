package subscribe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpscope"
	"github.com/rootbound/rootbound/watch"
)

// G47: a change of what rules hide stirs nothing, in either era: the hub hears of none, so none is told by its name, as a change of
// what it is in, or, where there are more than can be told one by one, as a change of the whole.
func TestG47HiddenChangesStirNothing(t *testing.T) {
	start, stop := Watching(watch.Options{Pending: 2})
	t.Cleanup(stop)
	var mu sync.Mutex
	var heard []string // by the hub
	w := newWorld(t, mcpscope.Options{}, Options{Watch: func(ctx context.Context, on *guard.Target, tree bool, told func(string, bool)) (Watch, error) {
		return start(ctx, on, tree, func(rel string, ended bool) {
			mu.Lock()
			heard = append(heard, rel)
			mu.Unlock()
			told(rel, ended)
		})
	}})
	hidden := []string{"sub/.env", "sub/x%d.hidden", "sub/deep/y%d.hidden", "sub/.ssh/id%d", "sub/private/f%d", "sub/deep/.aws/z%d"}
	for _, name := range hidden { // directories
		w.write("app/"+strings.ReplaceAll(name, "%d", ""), "1")
	}
	ps := w.ceiling.Projects()
	ps[0].Deny = []string{"sub/private/**", "**/*.hidden"}
	if err := w.ceiling.Replace(ps); err != nil {
		t.Fatal(err)
	}
	p, q := w.legacy(), w.dial()
	p.subscribed(2, of("app", "sub"))
	q.listening(2, uris(of("app", "sub")))
	for round := range 2 { // each with one name that may be seen: these two have windows
		for i := range 50 { // many more than the two windows there may be
			for _, name := range hidden {
				w.write("app/"+strings.ReplaceAll(name, "%d", fmt.Sprint(i)), fmt.Sprint(round))
			}
		}
		w.remove("app/sub/deep/y3.hidden")
		w.remove("app/sub/.ssh")
		seen := fmt.Sprintf("deep/seen%d", round)
		w.write("app/sub/"+seen, "1")
		for _, c := range []*peer{p, q} {
			for uri := ""; uri != of("app", "sub/"+seen); {
				m := c.Recv()
				if uri = m.Params.URI; m.Method != "notifications/resources/updated" || !strings.Contains(uri, "sub/deep/seen") {
					t.Fatalf("told %s", m.Line)
				}
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if i := slices.IndexFunc(heard, func(rel string) bool { return !strings.HasPrefix(rel, "deep/seen") }); i >= 0 {
		t.Errorf("the hub heard of %q", heard[i])
	}
}
