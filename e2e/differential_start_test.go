package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// TestDifferentialStart compares the handshake, the tool list, the start-up and the end.
func TestDifferentialStart(t *testing.T) {
	installed(t)
	t.Run("Revisions", revisions)
	t.Run("Tools", toolLists)
	t.Run("Start", startUp)
	t.Run("Roots", rootEntries)
	t.Run("Concurrent", concurrent)
}

// revisions: known revisions are echoed, newer ones are answered with the newest of the handshake's era.
func revisions(t *testing.T) {
	for _, v := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2099-01-01"} {
		var got [2]string
		for i, name := range []string{"official", "rootbound"} {
			s := begin(t, name, tree(t), rawmcp.Options{Version: v}, "ws")
			raw, err := s.Open(deadline(t))
			if err != nil {
				t.Fatalf("%s %s: %v", name, v, err)
			}
			var r struct {
				ProtocolVersion string `json:"protocolVersion"`
			}
			if err := json.Unmarshal(raw, &r); err != nil {
				t.Fatal(err)
			}
			got[i] = r.ProtocolVersion
			if code := s.Close(time.Minute); code != 0 {
				t.Errorf("%s ends with %d when its input ends, want 0", name, code)
			}
		}
		if got[0] != got[1] {
			t.Errorf("%s: official answers %s, rootbound %s", v, got[0], got[1])
		}
	}
}

// toolLists: the same names in the same order, titles, annotations, and parameters; ours may have more, all optional.
func toolLists(t *testing.T) {
	type tool struct {
		Name        string         `json:"name"`
		Title       string         `json:"title"`
		Annotations map[string]any `json:"annotations"`
		InputSchema struct {
			Properties map[string]map[string]any `json:"properties"`
			Required   []string                  `json:"required"`
		} `json:"inputSchema"`
	}
	var lists [2][]tool
	for i, s := range pair(t, rawmcp.Options{}, "ws") {
		raw, err := s.Request(deadline(t), "tools/list", nil)
		if err != nil {
			t.Fatal(err)
		}
		var r struct{ Tools []tool }
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		lists[i] = r.Tools
	}
	if len(lists[1]) < len(lists[0]) {
		t.Fatalf("%d tools, official has %d", len(lists[1]), len(lists[0]))
	}
	for i, theirs := range lists[0] {
		ours := lists[1][i]
		if theirs.Name != ours.Name || theirs.Title != ours.Title {
			t.Errorf("tool %d is %s %q, official %s %q", i, ours.Name, ours.Title, theirs.Name, theirs.Title)
		}
		if d := cmp.Diff(hints(theirs.Annotations), hints(ours.Annotations)); d != "" {
			t.Errorf("%s annotations, - official, + rootbound:\n%s", theirs.Name, d)
		}
		slices.Sort(theirs.InputSchema.Required)
		slices.Sort(ours.InputSchema.Required)
		if d := cmp.Diff(theirs.InputSchema.Required, ours.InputSchema.Required); d != "" {
			t.Errorf("%s required arguments, - official, + rootbound:\n%s", theirs.Name, d)
		}
		for arg, schema := range theirs.InputSchema.Properties {
			for _, word := range []string{"type", "enum", "default"} {
				if d := cmp.Diff(schema[word], ours.InputSchema.Properties[arg][word], cmp.Comparer(numeric)); d != "" {
					t.Errorf("%s %s %s, - official, + rootbound:\n%s", theirs.Name, arg, word, d)
				}
			}
		}
	}
}

// numeric: an integer is a number.
func numeric(a, b string) bool { return a == b || a == "number" && b == "integer" }

// hints gives annotations by their meaning: what is absent has the protocol's default, and the title is said elsewhere.
func hints(a map[string]any) map[string]any {
	out := map[string]any{"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}
	for k, v := range a {
		if k != "title" {
			out[k] = v
		}
	}
	return out
}

// startUp: what a wrapper that starts the server can see.
func startUp(t *testing.T) {
	for _, c := range []struct {
		name    string
		dirs    []string
		exit    int
		stderr  string
		serving bool
	}{
		{"one directory missing", []string{"ws", "missing"}, 0, "Warning: Cannot access directory", true},
		{"an argument is a file", []string{"ws", "out/secret.txt"}, 0, "is not a directory, skipping", true},
		{"all arguments unusable", []string{"missing", "missing2"}, 1, "Error: None of the specified directories are accessible", false},
		{"alias and real spelling", []string{"alias"}, 0, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{"official", "rootbound"} {
				s := begin(t, name, tree(t), rawmcp.Options{}, c.dirs...)
				if !c.serving {
					code, err := s.Exited(deadline(t))
					if err != nil || code != c.exit {
						t.Errorf("%s: exit code %d (%v), want %d", name, code, err, c.exit)
					}
				} else {
					if _, err := s.Open(deadline(t)); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					for _, path := range []string{"BASE/ws/a.txt"} {
						if r := s.call(t, "read_text_file", fmt.Sprintf(`{"path":%q}`, path)); !r.OK() {
							t.Errorf("%s: %s: %s", name, path, r.Short())
						}
					}
					if c.dirs[0] == "alias" {
						if r := s.call(t, "read_text_file", `{"path":"BASE/alias/a.txt"}`); !r.OK() {
							t.Errorf("%s: by its alias: %s", name, r.Short())
						}
						if name == "rootbound" && s.Stderr() != "" {
							t.Errorf("stderr is not silent: %q", s.Stderr())
						}
					}
				}
				// What was said before an answer may be read after it: they come by two pipes.
				for end := time.Now().Add(time.Minute); !strings.Contains(s.Stderr(), c.stderr) && time.Now().Before(end); {
					time.Sleep(10 * time.Millisecond)
				}
				if !strings.Contains(s.Stderr(), c.stderr) {
					t.Errorf("%s: stderr %q lacks %q", name, s.Stderr(), c.stderr)
				}
				if c.serving && strings.Contains(s.Stderr(), "Error:") {
					t.Errorf("%s: the word Error: on stderr: %q", name, s.Stderr())
				}
			}
		})
	}
}

// rootEntries: a root that is missing, remote, badly escaped or a file is dropped, and the good one beside it serves.
func rootEntries(t *testing.T) {
	for _, bad := range []string{"file://BASE/absent", "file://elsewhere/BASE/ws", "file://BASE/%zz", "file://BASE/ws/a.txt"} {
		for _, name := range []string{"official", "rootbound"} {
			base := tree(t)
			s := begin(t, name, base, rawmcp.Options{ListChanged: true, Roots: func(int) rawmcp.Answer {
				return rawmcp.Answer{Roots: []string{strings.ReplaceAll(bad, "BASE", base), "file://" + base + "/ws/dir"}}
			}}, "ws")
			if _, err := s.Open(deadline(t)); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(time.Minute); s.Asks() == 0 && time.Now().Before(end); { // theirs asks by itself, ours in the call
				s.call(t, "read_text_file", `{"path":"BASE/ws/dir/b.md"}`)
			}
			if r := s.call(t, "read_text_file", `{"path":"BASE/ws/dir/b.md"}`); !r.OK() {
				t.Errorf("%s beside %s: %s", name, bad, r.Short())
			}
		}
	}
}

// concurrent: calls run side by side; each answer belongs to its question.
func concurrent(t *testing.T) {
	for _, s := range pair(t, rawmcp.Options{}, "ws") {
		type posted struct {
			id   int64
			ch   rawmcp.Answering
			want string
		}
		var all []posted
		for i := range 40 {
			name, want := "a.txt", "hello"
			if i%2 == 1 {
				name, want = "last.txt", "one"
			}
			id, ch, err := s.Post("tools/call", map[string]any{"name": "read_text_file", "arguments": map[string]any{"path": s.base + "/ws/" + name}})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, posted{id, ch, want})
		}
		for _, p := range all {
			raw, err := s.Await(deadline(t), p.id, p.ch)
			if err != nil || !strings.Contains(string(raw), p.want) {
				t.Errorf("%s: answer %d is %.200s (%v)", s.name, p.id, raw, err)
			}
		}
	}
}
