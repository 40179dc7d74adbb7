package subscribe

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpscope"
	"github.com/rootbound/rootbound/watch"
)

// While generations change every few milliseconds, without a pause, a stream goes on telling: of a file, and of a tree that
// takes longer to be looked at than a generation lasts.
func TestToldWhileGenerationsChange(t *testing.T) {
	const dirs, subs = 1000, 100
	start, stop := Watching(watch.Options{})
	t.Cleanup(stop)
	w := newWorld(t, mcpscope.Options{}, Options{Watch: start})
	for i := range dirs {
		w.write(fmt.Sprintf("app/tree/%d/f", i), "1")
	}
	all := []string{of("app", "a.txt"), of("app", "tree")}
	for i := range subs {
		w.write(fmt.Sprintf("app/many/%d", i), "1")
		all = append(all, of("app", fmt.Sprintf("many/%d", i)))
	}
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprintf("modern %v", modern), func(t *testing.T) {
			var p *peer
			if modern {
				p = w.dial()
				p.listening(2, uris(all...))
			} else {
				p = w.legacy()
				for i, uri := range all {
					p.subscribed(2+i, uri)
				}
			}
			changes, quit, over := 0, make(chan struct{}), sync.WaitGroup{}
			over.Go(func() {
				for every := time.NewTicker(3 * time.Millisecond); ; changes++ {
					if err := w.ceiling.Activate([]rootbound.RootID{"app", "lib"}[:1+changes%2]); err != nil {
						t.Error(err)
					}
					select {
					case <-quit:
						every.Stop()
						return
					case <-every.C:
					}
				}
			})
			defer func() { close(quit); over.Wait() }()
			for n := range 2 {
				for _, what := range []string{"a.txt", "tree"} {
					name := map[string]string{"tree": "tree/7/f"}[what]
					if name == "" {
						name = what
					}
					began := time.Now()
					w.write("app/"+name, fmt.Sprint(n))
					for uri := ""; uri != of("app", what) && uri != of("app", name); uri = p.Recv().Params.URI {
					}
					t.Logf("%s was told after %v", what, time.Since(began))
				}
			}
		})
	}
}
