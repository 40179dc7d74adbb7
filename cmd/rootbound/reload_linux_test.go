package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// said waits until stderr holds a text as often as it should.
func (p *process) said(text string, times int) {
	p.t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	late := time.After(60 * time.Second)
	for strings.Count(p.stderr.String(), text) < times {
		select {
		case <-look.C:
		case <-p.ended:
			p.t.Fatalf("the server ended; stderr: %s", p.stderr)
		case <-late:
			p.t.Fatalf("%q was not said; stderr: %s", text, p.stderr)
		}
	}
	if n := strings.Count(p.stderr.String(), text); n != times {
		p.t.Errorf("%q was said %d times; stderr: %s", text, n, p.stderr)
	}
}

// awaits asks until the answer is yes.
func (p *process) awaits(yes func() bool) {
	p.t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	late := time.After(60 * time.Second)
	for !yes() {
		select {
		case <-look.C:
		case <-late:
			p.t.Fatalf("it never came; stderr: %s", p.stderr)
		}
	}
}

// answer calls a tool and gives its text.
func (p *process) answer(tool, arguments string) string {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`)
	for {
		if m := p.receive(); m.ID != nil {
			return firstText(m)
		}
	}
}

// accept runs config apply beside a server.
func accept(t *testing.T, p *process, state, file, shows string) {
	t.Helper()
	apply := exec.Command(p.cmd.Path, "config", "apply", "--yes", "--config", file)
	apply.Env = append(os.Environ(), "ROOTBOUND_TEST_AS=rootbound", "ROOTBOUND_STATE_DIR="+state)
	if out, err := apply.CombinedOutput(); err != nil || !strings.Contains(string(out), shows) {
		t.Fatalf("%v: %s", err, out)
	}
}

// replace writes a file as an editor does.
func replace(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// inPlace adds to a file in one step. To write it anew takes two, and who is slow between them leaves an empty file for so
// long that it is read and told of.
func inPlace(t *testing.T, file, more string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(more); err != nil {
		t.Fatal(err)
	}
}

func TestReloadOfARunningServer(t *testing.T) {
	modes := []string{"off"}
	if hasLandlock() {
		modes = append(modes, "require")
	}
	for _, confine := range modes {
		t.Run(confine, func(t *testing.T) {
			top, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
			file := filepath.Join(top, "rootbound", "c.yaml") // beside it nothing else lies
			for _, d := range []string{"rootbound", "app", "other"} {
				if err := os.Mkdir(filepath.Join(top, d), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(top, d, "a.txt"), []byte(d), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			const write = `{"project_id":"app","relative_path":"new.txt","content":"x"}`
			config := func(rights, more string) string {
				return "projects:\n  - {id: app, dir: " + top + "/app, rights: " + rights + "}\n" + more
			}
			other := "  - {id: other, dir: " + top + "/other}\n"
			expect := func(p *process, tool, arguments, want string) {
				t.Helper()
				if got := p.answer(tool, arguments); !strings.Contains(got, want) {
					t.Errorf("%s %s: %q, want %q; stderr: %s", tool, arguments, got, want, p.stderr)
				}
			}

			replace(t, file, config("rw", ""))
			p := startIn(t, state, "serve", "--confine="+confine, "--config", file)
			p.initialize("2025-11-25")
			expect(p, "write_file", write, "wrote to")

			replace(t, file, config("ro", ""))
			p.said("was read again: narrowed project app: rights ro, were rw", 1)
			expect(p, "write_file", write, "right_missing")

			// The agent's own edit, if it had one: it gains nothing, and nothing is lost.
			replace(t, file, config("full", other))
			p.said("widened project app: rights full, were ro — waits for: rootbound config apply --config "+file+"\n", 1)
			p.said("added project other: \""+top+"/other\" (ro) — waits for: rootbound config apply", 1)
			expect(p, "write_file", write, "right_missing")
			expect(p, "read_text_file", `{"project_id":"other","relative_path":"a.txt"}`, "project_")
			expect(p, "read_text_file", `{"project_id":"app","relative_path":"a.txt"}`, "app")

			// Nor does a restart.
			q := startIn(t, state, "serve", "--confine="+confine, "--config", file)
			q.initialize("2025-11-25")
			expect(q, "read_text_file", `{"project_id":"other","relative_path":"a.txt"}`, "project_")
			expect(q, "delete_file", `{"project_id":"app","relative_path":"new.txt"}`, "right_missing")

			inPlace(t, file, "projects: [\n")
			p.said("the configuration cannot be used, so what was in force stays: "+file, 1)
			expect(p, "read_text_file", `{"project_id":"app","relative_path":"a.txt"}`, "app")

			replace(t, file, config("full", other))
			accept(t, p, state, file, "added project other")
			p.said("was read again: widened project app: rights full, were ro", 1)
			expect(p, "write_file", write, "wrote to")
			if confine == "off" {
				p.said("was read again: added project other", 1)
				expect(p, "read_text_file", `{"project_id":"other","relative_path":"a.txt"}`, "other")
			} else {
				p.said("added project other: \""+top+"/other\" (ro) — waits for a restart of the server", 1)
				expect(p, "read_text_file", `{"project_id":"other","relative_path":"a.txt"}`, "project_")
			}

			replace(t, file, config("ro", "  - {id: late, dir: "+top+"/late}\n"))
			if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			p.said("was read again: narrowed project app: rights ro, were full", 1)
			if confine == "off" {
				p.said("was read again: removed project other", 1)
				expect(p, "read_text_file", `{"project_id":"other","relative_path":"a.txt"}`, "project_")
			}
		})
	}
}

// TestConfinedServerIsToldByApply: a file that was replaced where the confined process cannot open it stays as it was, is
// said, and what a person accepts of it counts all the same.
func TestConfinedServerIsToldByApply(t *testing.T) {
	if !hasLandlock() {
		t.Skip("this kernel has no Landlock")
	}
	top, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(filepath.Join(top, "app"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(top, "c.yaml")
	replace(t, file, "projects: [{id: app, dir: app, rights: rw}]\n")
	p := startIn(t, state, "serve", "--confine=require", "--config", file)
	p.initialize("2025-11-25")
	if got := p.answer("write_file", `{"project_id":"app","relative_path":"a","content":"x"}`); !strings.Contains(got, "wrote to") {
		t.Fatal(got)
	}
	replace(t, file, "projects: [{id: app, dir: app, rights: ro}]\n")
	p.said("the file was replaced, and a server that the system confines", 1)
	accept(t, p, state, file, "narrowed project app")
	p.said("was read again: narrowed project app: rights ro, were rw", 1)
	if got := p.answer("write_file", `{"project_id":"app","relative_path":"a","content":"x"}`); !strings.Contains(got, "right_missing") {
		t.Error(got)
	}
}

// TestApplyTakesReplacedDirectories: a project whose directory was replaced, or whose id means another directory now, is
// not served by itself; a person accepts it.
func TestApplyTakesReplacedDirectories(t *testing.T) {
	top, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	for _, d := range []string{"app", "next", "other"} {
		if err := os.Mkdir(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, d, "a.txt"), []byte(d), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(top, "c.yaml")
	replace(t, file, "projects: [{id: app, dir: app}]\n")
	p := startIn(t, state, "serve", "--confine=off", "--config", file)
	p.initialize("2025-11-25")
	read := func(want string) {
		t.Helper()
		if got := p.answer("read_text_file", `{"project_id":"app","relative_path":"a.txt"}`); !strings.Contains(got, want) {
			t.Errorf("%q, want %q; stderr: %s", got, want, p.stderr)
		}
	}
	read("app")
	if err := os.Rename(top+"/app", top+"/old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(top+"/next", top+"/app"); err != nil {
		t.Fatal(err)
	}
	// Reads look at most once a second whether the path still leads there; a change of the file is read before that.
	replace(t, file, "projects: [{id: app, dir: app, deny: x}]\n")
	p.said("narrowed project app", 1)
	read("(project_") // retired

	accept(t, p, state, file, "replaced project app: another directory lies at ")
	p.awaits(func() bool {
		return p.answer("read_text_file", `{"project_id":"app","relative_path":"a.txt"}`) == "next"
	})

	replace(t, file, "projects: [{id: app, dir: other}]\n")
	p.said("was read again: removed project app", 1)
	read("(project_")
	accept(t, p, state, file, "until now the id meant")
	p.said("was read again: added project app", 1)
	read("other")
}

// TestSettingsOfARunningServer: a setting of the file that narrows counts at once, one that would let more be touched waits
// for a person, and one that only a start can take is named.
func TestSettingsOfARunningServer(t *testing.T) {
	top, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(filepath.Join(top, "app"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(top, "app", "a.txt"), []byte(strings.Repeat("x", 5000)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	file, log := filepath.Join(top, "c.yaml"), filepath.Join(top, "log")
	const projects = "projects: [{id: app, dir: app, rights: rw}]\n"
	replace(t, file, projects+"audit: {path: log, fsync: never}\nroots: ignore\n")
	p := startIn(t, state, "serve", "--confine=off", "--config", file)
	p.initialize("2025-11-25")
	read := func() string {
		t.Helper()
		return p.answer("read_text_file", `{"project_id":"app","relative_path":"a.txt"}`)
	}
	if n := len(read()); n < 5000 {
		t.Fatal(n)
	}
	replace(t, file, projects+"limits: {text: 1 KiB}\naudit: {path: log, fsync: always, max_size: 64 MiB}\nroots: ignore\ntools: classic\nundo: {max_size: 0}\n")
	p.said("was read again: limits.text is 1 KiB, was 1 MiB", 1)
	p.said("was read again: audit.fsync is always, was never", 1)
	p.said("sets tools to classic — counts from the next start of the server", 1)
	p.said("changed undo.max_size: 0, was 256 MiB — waits for: rootbound config apply", 1)
	if got := p.answer("scope_status", "{}"); !strings.HasSuffix(got, "\nNot in force yet: 1 change of the configuration, until the operator runs rootbound config apply; the settings tools, until the server is started anew.") {
		t.Errorf("scope_status does not tell what waits: %s", got)
	}
	if n := len(read()); n > 1500 {
		t.Errorf("%d bytes in spite of the limit", n)
	}
	if b, err := os.ReadFile(log); err != nil || !strings.Contains(string(b), `"completed"`) {
		t.Errorf("with fsync: always every record is there before the answer: %v %.300s", err, b)
	}
	const write = `{"project_id":"app","relative_path":"a.txt","content":"x"}`
	kept := func() int {
		t.Helper()
		done, err := os.ReadDir(filepath.Join(state, "undo", "done"))
		if err != nil {
			t.Fatal(err)
		}
		return len(done)
	}
	if got := p.answer("write_file", write); kept() != 1 {
		t.Errorf("what was replaced is not kept: %s", got)
	}

	// More text waits for a person, as more rights do; what was accepted counts in the server that runs.
	wider := projects + "limits: {text: 2 MiB}\naudit: {path: log, fsync: always}\nroots: require\nundo: {max_size: 0}\n"
	replace(t, file, wider)
	p.said("widened limits.text: 2 MiB, was 1 KiB — waits for: rootbound config apply", 1)
	p.said("was read again: roots.mode is require, was ignore", 1)
	if got := read(); !strings.Contains(got, "no_scope") {
		t.Errorf("a client that declares no roots is served: %.200s", got)
	}
	replace(t, file, strings.Replace(wider, "require", "narrow", 1))
	p.said("widened roots.mode: narrow, was require — waits for: rootbound config apply", 1)
	accept(t, p, state, file, "roots.mode")
	p.said("was read again: roots.mode is narrow, was require", 1)
	p.said("was read again: limits.text is 2 MiB, was 1 KiB", 1)
	p.said("was read again: undo.max_size is 0, was 256 MiB", 1)
	if got := p.answer("scope_status", "{}"); strings.Contains(got, "Not in force yet") {
		t.Errorf("what was accepted is said to wait: %s", got)
	}
	if got := p.answer("write_file", write); !strings.Contains(got, "wrote to") || kept() != 1 {
		t.Errorf("what was replaced is kept still: %s", got)
	}
}
