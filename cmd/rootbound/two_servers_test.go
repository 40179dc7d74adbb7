package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// call sends one tool call and waits for its answer.
func (p *process) call(id int, tool string, args map[string]any) message {
	p.t.Helper()
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args}})
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(string(b))
	return p.receive()
}

// save replaces a file as an editor does that knows nothing of us.
func save(path, content string) error {
	if err := os.WriteFile(path+"~", []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(path+"~", path)
}

// TestTwoServersEditAndApply: two servers change one tree, by edits and by patches over several files, while a third
// program saves one of the files again and again. What was acknowledged is there, what was refused is nowhere, and
// nothing the third program saved is lost.
func TestTwoServersEditAndApply(t *testing.T) {
	last := 2 * time.Second
	if os.Getenv("RB_LONG") != "" {
		last = 30 * time.Second
	}
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "theirs"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("end\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	state := filepath.Join(t.TempDir(), "state")
	deadline := time.Now().Add(last)
	going := func(n int) bool { return time.Now().Before(deadline) || n < 12 }
	var mu sync.Mutex
	want := map[string]map[string]bool{"a": {}, "b": {}} // which lines must be there
	never := map[string]bool{}                           // lines of what was refused
	note := func(line string, applied bool, files ...string) {
		mu.Lock()
		defer mu.Unlock()
		if !applied {
			never[line] = true
			return
		}
		for _, f := range files {
			want[f][line] = true
		}
	}
	counts := map[string]int{}
	count := func(what string) { mu.Lock(); counts[what]++; mu.Unlock() }
	var wg sync.WaitGroup
	for s := range 2 {
		p := startIn(t, state, "serve", dir)
		p.initialize("2025-06-18")
		wg.Go(func() {
			root := filepath.Base(dir)
			for n := 0; going(n); n++ {
				line := fmt.Sprintf("server %d call %d\n", s, n)
				add := func(file string) map[string]any {
					return map[string]any{"path": file, "oldText": "end\n", "newText": line + "end\n"}
				}
				if n%2 == 0 {
					file := []string{"a", "b"}[n/2%2]
					m := p.call(n, "edit_file", map[string]any{"path": filepath.Join(dir, file), "edits": []any{map[string]any{"oldText": "end\n", "newText": line + "end\n"}}})
					applied := m.Result["isError"] != true
					note(line, applied, file)
					if !applied {
						t.Errorf("an edit under a lock was refused: %s", firstText(m))
					}
					count("edits")
					continue
				}
				m := p.call(n, "propose_patch", map[string]any{"root": root, "edits": []any{add("a"), add("theirs"), add("b")}})
				if m.Result["isError"] == true {
					if count("refused"); !strings.Contains(firstText(m), "version_conflict") {
						t.Errorf("%s", firstText(m))
					}
					continue
				}
				data, _ := m.Result["structuredContent"].(map[string]any)
				m = p.call(n, "apply_patch", map[string]any{"root": root, "plan": data["plan"]})
				applied := m.Result["isError"] != true
				note(line, applied, "a", "b")
				if applied {
					count("patches")
				} else if count("refused"); !strings.Contains(firstText(m), "version_conflict") {
					t.Errorf("%s", firstText(m))
				}
			}
		})
	}
	wg.Go(func() {
		path := filepath.Join(dir, "theirs")
		for n := 0; going(n); n++ {
			line := fmt.Sprintf("third program %d\n", n)
			if err := save(path, line+"end\n"); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(5 * time.Millisecond) // the pace of the program, not a wait for anything
			// A patch that finds something else than it expected under the name has exchanged the two by then, and puts back what
			// was there: for that moment, however long it takes, the name holds the patch's.
			b, err := os.ReadFile(path)
			for end := time.Now().Add(time.Minute); err == nil && !strings.HasPrefix(string(b), line) && time.Now().Before(end); b, err = os.ReadFile(path) {
				time.Sleep(time.Millisecond)
			}
			if err != nil || !strings.HasPrefix(string(b), line) {
				t.Errorf("what the third program saved is lost: %q %v", b, err)
				return
			}
			count("saves")
		}
	})
	wg.Wait()
	for _, file := range []string{"a", "b"} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for line := range strings.Lines(string(b)) {
			if got[line] {
				t.Errorf("%s holds %q twice", file, line)
			}
			got[line] = true
			if never[line] {
				t.Errorf("%s holds %q, which was refused", file, line)
			}
		}
		for line := range want[file] {
			if !got[line] {
				t.Errorf("%s lacks %q, which was acknowledged", file, line)
			}
		}
	}
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != 3 {
		t.Errorf("%v %v", all, err)
	}
	t.Logf("%v", counts)
	if counts["edits"] == 0 || counts["saves"] == 0 || counts["patches"]+counts["refused"] == 0 {
		t.Error("somebody did nothing")
	}
}
