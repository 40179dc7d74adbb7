package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/decision/decisiontest"
)

// TestAuditLog drives every kind of call through the process and looks at every line of its log: each fits the schema,
// every effect was decided before it, and no content is ever in it; with audit.paths: hash no name either.
func TestAuditLog(t *testing.T) {
	const secret, name = "tell-nobody-4711", "plans-for-the-moon"
	for _, paths := range []string{"plain", "hash"} {
		t.Run(paths, func(t *testing.T) {
			t.Setenv("ROOTBOUND_AUDIT_PATHS", paths)
			dir, log := t.TempDir(), filepath.Join(t.TempDir(), "audit.jsonl")
			if err := os.WriteFile(filepath.Join(dir, name+".txt"), []byte("a "+secret+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			d := drive(t, "rootbound", "serve", "--confine=off", "--audit", log, dir)
			refused := 0
			for _, call := range []string{
				`{"name":"read_text_file","arguments":{"path":"NAME.txt"}}`,
				`{"name":"read_multiple_files","arguments":{"paths":["NAME.txt","missing-NAME"]}}`,
				`{"name":"write_file","arguments":{"path":"DIR/NAME2.txt","content":"SECRET"}}`,
				`{"name":"edit_file","arguments":{"path":"DIR/NAME2.txt","edits":[{"oldText":"SECRET","newText":"more SECRET"}]}}`,
				`{"name":"edit_file","arguments":{"path":"DIR/NAME2.txt","edits":[{"oldText":"SECRET is not there","newText":"SECRET"}]}}`,
				`{"name":"create_directory","arguments":{"path":"DIR/a/NAME"}}`,
				`{"name":"move_file","arguments":{"source":"DIR/NAME2.txt","destination":"DIR/a/NAME3.txt"}}`,
				`{"name":"write_file","arguments":{"path":"DIR/none/NAME/x","content":"SECRET"}}`,
				`{"name":"write_file","arguments":{"path":"DIR/.git/hooks/NAME","content":"SECRET"}}`,
				`{"name":"list_directory","arguments":{"path":"a"}}`,
				`{"name":"directory_tree","arguments":{"path":"."}}`,
				`{"name":"search_files","arguments":{"path":".","pattern":"**/NAME*"}}`,
				`{"name":"get_file_info","arguments":{"path":"NAME.txt"}}`,
				`{"name":"read_text_file","arguments":{"path":"../NAME"}}`,
				`{"name":"read_text_file","arguments":{"path":"/etc/NAME"}}`,
			} {
				call = strings.NewReplacer("NAME", name, "SECRET", secret, "DIR", dir).Replace(call)
				if line := d.call(t, "tools/call", call); strings.Contains(line, `"isError":true`) {
					refused++
				} else if !strings.Contains(line, `"result"`) {
					t.Fatal(line)
				}
			}
			if refused != 5 {
				t.Errorf("%d calls were refused, want 5", refused)
			}
			d.in.Close()
			if _, err := io.Copy(io.Discard, d.out); err != nil {
				t.Fatal(err)
			}
			if err := d.cmd.Wait(); err != nil { // what is held back is written at the end
				t.Fatal(err)
			}
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text, []byte(secret)) {
				t.Error("a content is in the log")
			}
			if seen := bytes.Contains(text, []byte(name)); seen != (paths == "plain") {
				t.Errorf("a name is in the log: %v", seen)
			}
			var records []decision.Record
			for line := range bytes.Lines(text) {
				if err := decisiontest.Check(line); err != nil {
					t.Errorf("%v\n%s", err, line)
				}
			}
			if broken, err := decision.Read(bytes.NewReader(text), func(r *decision.Record) error { records = append(records, *r); return nil }); broken != 0 || err != nil {
				t.Fatal(broken, err)
			}
			if err := decisiontest.Pairs(records); err != nil {
				t.Error(err)
			}
			done := 0
			for _, r := range records {
				if r.Phase == decision.Completed && r.Operation.Mutates() && r.Outcome.OK {
					done++
				}
			}
			if done != 4 {
				t.Errorf("%d changes were recorded as done, want 4", done)
			}
		})
	}
}
