package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/cmd/rootbound/setting"
)

// A record says that a terminal agreed only where there was one, and where a person must agree nothing is taken back without;
// what is printed as JSON hides nothing from a screen.
func TestUndoTellsWhoAgreed(t *testing.T) {
	dir := t.TempDir()
	const name = "a\u202eb\U000e0041.txt"
	if err := os.Mkdir(filepath.Join(dir, "app"), 0o755); err != nil {
		t.Fatal(err)
	}
	config, log := filepath.Join(dir, "c.yaml"), filepath.Join(dir, "audit.jsonl")
	grant := func(writes string) {
		t.Helper()
		text := "projects: [{id: app, dir: app, rights: [list, read, create, write, move, delete, propose], writes: " + writes + "}]\naudit: {path: audit.jsonl}\nconfine: off\nroots: {mode: ignore}\n"
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do := func(terminal bool, args ...string) (code int, out, errs string) {
		t.Helper()
		var o, e bytes.Buffer
		w := setting.World{In: io.NopCloser(strings.NewReader("")), Out: nothingToClose{&o}, Err: &e, Terminal: func() bool { return terminal },
			Getenv: func(name string) string {
				return map[string]string{"ROOTBOUND_STATE_DIR": filepath.Join(dir, "state"), "ROOTBOUND_CONFIG": config}[name]
			}}
		code = run(context.Background(), w, args)
		return code, o.String(), e.String()
	}
	change := func() (id string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "app", name), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := do(false, "call", "delete_file", "project_id=app", "relative_path="+name); code != 0 {
			t.Fatal(errs)
		}
		_, out, errs := do(false, "undo", "--list", "--json")
		for _, r := range out {
			if r > 0x7e {
				t.Errorf("%U is printed raw in %q", r, out)
			}
		}
		var list []struct {
			ID    string `json:"id"`
			Files []struct {
				Path string `json:"path"`
			} `json:"files"`
		}
		if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) == 0 {
			t.Fatal(err, out, errs)
		}
		if list[0].Files[0].Path != name {
			t.Errorf("the path is %q", list[0].Files[0].Path)
		}
		if err := os.Truncate(log, 0); err != nil {
			t.Fatal(err)
		}
		return list[0].ID
	}
	agreed := func(want int) {
		t.Helper()
		b, err := os.ReadFile(log)
		if err != nil || strings.Count(string(b), `"agreed":"terminal"`) != want || !strings.Contains(string(b), `"phase":"decided"`) {
			t.Errorf("%v %s", err, b)
		}
	}
	grant("direct")
	id := change()
	if code, _, errs := do(false, "undo", id); code != 0 {
		t.Error(errs)
	}
	agreed(0)
	id = change()
	if code, _, errs := do(true, "undo", id); code != 0 {
		t.Error(errs)
	}
	agreed(2) // decided and completed
	id = change()
	grant("propose")
	if code, _, errs := do(false, "undo", id); code != setting.ExitMisused || !strings.Contains(errs, "stdin is not a terminal: where writes: propose") {
		t.Errorf("%d %s", code, errs)
	}
	if _, err := os.Lstat(filepath.Join(dir, "app", name)); err == nil {
		t.Error("it was taken back without a person")
	}
	if code, _, errs := do(true, "undo", id); code != 0 {
		t.Error(errs)
	}
}
