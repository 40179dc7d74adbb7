package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// A client's root that contains a project gives that project, also where the process itself cannot open what lies around
// its projects any more; one that only lies beside it is told apart from one that cannot be used.
func TestConfinedServerStillSeesWhatARootContains(t *testing.T) {
	mode := "require"
	if !hasLandlock() {
		mode = "auto"
	}
	dir := dirWith(t, "a.txt", "hello\n")
	for root, want := range map[string]string{filepath.Dir(dir): "hello\n", "/": "hello\n", t.TempDir(): "no_overlap"} {
		p := startProcess(t, "serve", "--confine="+mode, dir)
		p.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}}`)
		p.receive()
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		p.send(readCall)
		ask := p.receive()
		if ask.Method != "roots/list" {
			t.Fatalf("asked %q", ask.Method)
		}
		uri, err := json.Marshal("file://" + root)
		if err != nil {
			t.Fatal(err)
		}
		p.send(`{"jsonrpc":"2.0","id":` + string(ask.ID) + `,"result":{"roots":[{"uri":` + string(uri) + `}]}}`)
		got := firstText(p.receive())
		if !strings.Contains(got, want) || strings.Contains(got, "root_unusable") {
			t.Errorf("root %s: %q, want %q", root, got, want)
		}
	}
}
