package subscribe

import (
	"testing"

	"github.com/rootbound/rootbound/mcpscope"
	"github.com/rootbound/rootbound/watch"
)

// What is deleted and made again much later goes on: a file, a directory, and one whose directories went with it.
func TestDeletedAndMadeAgain(t *testing.T) {
	start, stop := Watching(watch.Options{})
	t.Cleanup(stop)
	w := newWorld(t, mcpscope.Options{}, Options{Watch: start})
	for _, at := range []string{"a.txt", "sub", "sub/deep/c.txt"} {
		p := w.legacy()
		p.subscribed(2, of("app", at))
		w.remove("app/" + at)
		if at == "sub/deep/c.txt" {
			w.remove("app/sub")
		}
		w.eventually("missed", func() bool { return w.missing() == 1 })
		w.write("app/other/x", "1")
		file := map[string]string{"a.txt": "a.txt", "sub": "sub/deep/c.txt", "sub/deep/c.txt": "sub/deep/c.txt"}[at]
		for m := range 2 {
			w.write("app/"+file, "again")
			if m == 0 {
				w.eventually("back", func() bool { return w.missing() == 0 })
			}
			for told := false; !told; { // the end, the beginning and what was in it may be told each for itself
				got := p.Recv()
				if got.Method != "notifications/resources/updated" {
					t.Fatalf("got %s", got.Line)
				}
				told = m == 0 || got.Params.URI == of("app", file)
			}
		}
		p.In.Close()
		w.eventually("gone", func() bool { n, _ := w.hub.Count(); return n == 0 })
	}
}

// missing is how many subscriptions wait for their object.
func (w *world) missing() (n int) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for _, g := range w.hub.groups {
		for _, st := range g.all() {
			st.mu.Lock()
			for _, s := range st.subs {
				if s.absent != nil {
					n++
				}
			}
			st.mu.Unlock()
		}
	}
	return n
}
