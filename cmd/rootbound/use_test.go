package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/cmd/rootbound/setting"
)

// A switch reaches servers that run, in both eras: what it takes away is refused, and the client hears that the tools name
// other projects.
func TestUseSwitchesRunningServers(t *testing.T) {
	top := t.TempDir()
	for _, id := range []string{"app", "notes"} {
		if err := os.MkdirAll(filepath.Join(top, id), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, id, "f"), []byte(id), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config, state := filepath.Join(top, "c.yaml"), filepath.Join(top, "state")
	if err := os.WriteFile(config, []byte("projects:\n  - {id: app, dir: app}\n  - {id: notes, dir: notes}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	use := func(args ...string) {
		t.Helper()
		var errs strings.Builder
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		w := setting.World{Out: null, Err: &errs, Getenv: func(name string) string {
			return map[string]string{"ROOTBOUND_CONFIG": config, "ROOTBOUND_STATE_DIR": state}[name]
		}}
		if code := run(context.Background(), w, append([]string{"use"}, args...)); code != 0 {
			t.Fatalf("use %v: %d, %s", args, code, &errs)
		}
	}
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for era, begin := range map[string]func(p *process){
		"legacy": func(p *process) { p.initialize("2025-11-25"); meta = `"_meta":{}` },
		"modern": func(p *process) {
			meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
			p.send(`{"jsonrpc":"2.0","id":"listen","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`)
			if m := p.receive(); m.Method != "notifications/subscriptions/acknowledged" {
				t.Fatalf("%+v", m)
			}
		},
	} {
		t.Run(era, func(t *testing.T) {
			use("--all")
			p := startIn(t, state, "serve", "--tools=project", "--config", config)
			begin(p)
			next := func() message { // the change of the resources, which sessions hear of too, has tests elsewhere
				t.Helper()
				for {
					if m := p.receive(); m.Method != "notifications/resources/list_changed" {
						return m
					}
				}
			}
			changed := func() {
				t.Helper()
				if m := next(); m.Method != "notifications/tools/list_changed" {
					t.Fatalf("%+v", m)
				}
			}
			ids := func() string {
				t.Helper()
				p.send(`{"jsonrpc":"2.0","id":"list","method":"tools/list","params":{` + meta + `}}`)
				b, err := json.Marshal(next().Result)
				if err != nil {
					t.Fatal(err)
				}
				_, s, _ := strings.Cut(string(b), `"enum":["app`)
				s, _, _ = strings.Cut(s, "]")
				return `["app` + s + "]"
			}
			read := func(id string) string {
				t.Helper()
				p.send(`{"jsonrpc":"2.0","id":"read","method":"tools/call","params":{"name":"read_text_file","arguments":{"project_id":"` + id + `","relative_path":"f"},` + meta + `}}`)
				return firstText(next())
			}
			if got := ids(); got != `["app","notes"]` || read("app") != "app" || read("notes") != "notes" {
				t.Fatalf("before: %s, %s, %s", got, read("app"), read("notes"))
			}
			use("app")
			changed()
			if got := ids(); got != `["app"]` || read("app") != "app" {
				t.Errorf("after: %s, %s", got, read("app"))
			}
			if got := read("notes"); !strings.Contains(got, "(project_retired)") {
				t.Errorf("to a session that held it: %s", got)
			}
			other := startIn(t, state, "serve", "--tools=project", "--config", config)
			other.initialize("2025-11-25")
			unknown := func(id string) string {
				other.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_text_file","arguments":{"project_id":"` + id + `","relative_path":"f"}}}`)
				return strings.ReplaceAll(firstText(other.receive()), `["`+id+`"]`, "[as sent]")
			}
			if a, b := unknown("notes"), unknown("nosuch"); a != b || !strings.Contains(a, "[as sent] (project_unknown)") {
				t.Errorf("to one that never held it: %s; a project that is none: %s", a, b)
			}
			use("--all")
			changed()
			if got := read("notes"); got != "notes" {
				t.Errorf("back again: %s", got)
			}
		})
	}
}
