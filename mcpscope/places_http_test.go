package mcpscope

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Legacy sessions over HTTP are bounded: those of one principal, and those of all. Who begins one more is told what to do, what
// there is goes on, and a session that ended makes room for one.
func TestSessionsAreBounded(t *testing.T) {
	w := open(t, Options{Principal: byUser, Sessions: 3, AllSessions: 5}, "app")
	at := w.over(t, true)
	const initialize = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
	refused := func(user, status, says string) {
		t.Helper()
		res := at.send("POST", user, "", initialize)
		if got := at.whole(res); !strings.HasPrefix(got, status+" ") || !strings.Contains(got, says) || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s got %s", user, got)
		}
	}
	var ann []string
	for range 3 {
		ann = append(ann, at.begin("ann", `{}`))
	}
	refused("ann", "429", "end one that you no longer need with DELETE")
	for range 2 {
		at.begin("ben", `{}`)
	}
	refused("cat", "503", "try again later")
	if got := at.whole(at.send("POST", "ann", ann[0], `{"jsonrpc":"2.0","id":1,"method":"ping"}`)); !strings.HasPrefix(got, "200 ") {
		t.Errorf("what was there before: %s", got)
	}
	end := func(session string) {
		t.Helper()
		if got := at.whole(at.send("DELETE", "ann", session, "")); !strings.HasPrefix(got, "204") {
			t.Fatal(got)
		}
	}
	end(ann[0])
	cat := at.begin("cat", `{}`)
	refused("ann", "503", "try again later")
	end(ann[1])
	at.begin("ann", `{}`)
	end(ann[2])

	// Many at once take no more places than there are, and what is no session, or becomes none, takes none in the end.
	for range 20 {
		at.whole(at.send("POST", "dan", "", `{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		at.whole(at.send("POST", "dan", "", `nonsense`))
	}
	var all sync.WaitGroup
	got := make([]string, 12)
	for i := range got {
		all.Go(func() { got[i] = at.whole(at.send("POST", "ann", "", initialize)) })
	}
	all.Wait()
	begun := 0
	for _, g := range got {
		if strings.HasPrefix(g, "200 ") {
			begun++
		}
	}
	w.scope.mu.Lock()
	defer w.scope.mu.Unlock()
	if begun != 1 || w.scope.places.all != 5 || len(w.scope.sessions) != 5 || fmt.Sprint(w.scope.places.each) != "map[ann:2 ben:2 cat:1]" {
		t.Errorf("%d of those at once; %+v for %d sessions (cat's is %s)", begun, w.scope.places, len(w.scope.sessions), cat)
	}
}
