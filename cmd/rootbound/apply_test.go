package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/cmd/rootbound/setting"
)

type nothingToClose struct{ io.Writer }

func (nothingToClose) Close() error { return nil }

// TestApplyAsks: at a terminal the difference is shown, then the question is asked, and only a yes accepts.
func TestApplyAsks(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"app", "more"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "c.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	apply := func(answer string, terminal bool) (code int, out, asked string) {
		t.Helper()
		var o, e bytes.Buffer
		w := setting.World{In: io.NopCloser(strings.NewReader(answer)), Out: nothingToClose{&o}, Err: &e, Terminal: func() bool { return terminal },
			Getenv: func(name string) string {
				return map[string]string{"ROOTBOUND_STATE_DIR": filepath.Join(dir, "state"), "ROOTBOUND_CONFIG": file, "ROOTBOUND_ROOTS": "ignore"}[name]
			}}
		code = run(context.Background(), w, []string{"config", "apply"})
		return code, o.String(), e.String()
	}
	write("projects: [{id: app, dir: app}]\n")
	if code, out, asked := apply("yes\n", true); code != setting.ExitDone || !strings.Contains(out, "added project app") || !strings.Contains(asked, "Accept? [y/N]") {
		t.Errorf("%d %q %q", code, out, asked)
	}
	write("projects: [{id: app, dir: app}, {id: more, dir: more}]\n")
	for _, no := range []string{"", "\n", "n\n", "yess\n", "no y\n"} {
		code, out, asked := apply(no, true)
		if code != setting.ExitFailed || !strings.Contains(out, "added project more") || !strings.Contains(asked, "nothing was accepted") {
			t.Errorf("%q: %d %q %q", no, code, out, asked)
		}
	}
	if code, _, asked := apply("y\n", false); code != setting.ExitMisused || !strings.Contains(asked, "--yes") {
		t.Errorf("without a terminal: %d %q", code, asked)
	}
	if code, out, _ := apply(" Y \n", true); code != setting.ExitDone || !strings.Contains(out, "added project more") {
		t.Errorf("%d %q", code, out)
	}
	// Nothing new: nothing is asked. A variable is not what the file says.
	if code, out, asked := apply("", true); code != setting.ExitDone || !strings.Contains(out, "nothing changes") || asked != "" {
		t.Errorf("%d %q %q", code, out, asked)
	}
}
