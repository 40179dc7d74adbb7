//go:build linux

package cases

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// TestBadAnswers: an answer that is no list of roots, or too long, is refused as a whole (contract §3). One server gets
// them one after the other, and a good answer after each.
func TestBadAnswers(t *testing.T) {
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, base+"/answers", era)
			defer w.close()
			root := fileURI(w.dir + "/ws")
			good := `{"uri":"` + root + `"}`
			repeated := func(n int) string { return `{"roots":[` + strings.Repeat(good+",", n-1) + good + `]}` }
			answers := map[string]string{
				"a list":         `[]`,
				"a number":       `7`,
				"a string":       `"file:///"`,
				"no roots":       `{}`,
				"null":           `{"roots":null}`,
				"an object":      `{"roots":{"uri":"` + root + `"}}`,
				"text":           `{"roots":"` + root + `"}`,
				"null entry":     `{"roots":[null]}`,
				"and null":       `{"roots":[` + good + `,null]}`,
				"empty entry":    `{"roots":[` + good + `,{}]}`,
				"no uri":         `{"roots":[{"name":"x"}]}`,
				"uri a number":   `{"roots":[{"uri":7}]}`,
				"uri null":       `{"roots":[{"uri":null}]}`,
				"uri empty":      `{"roots":[{"uri":""}]}`,
				"entry a list":   `{"roots":[["` + root + `"]]}`,
				"entry a string": `{"roots":["` + root + `"]}`,
				"257":            repeated(257),
				"200000":         `{"roots":[` + strings.Repeat(`{"uri":"file:///a"},`, 199_999) + good + `]}`,
				"4 KiB":          `{"roots":[` + good + `,{"uri":"file:///` + strings.Repeat("x", 4090) + `"}]}`,
				"1 MiB":          `{"roots":[{"uri":"file:///` + strings.Repeat("x", 1<<20) + `"}]}`,
			}
			other := map[string]bool{}
			for _, kind := range []string{"a list", "a number", "a string", "no roots", "an object", "text", "uri a number", "entry a list", "entry a string"} {
				other[kind] = true
			}
			if version == rawmcp.Legacy {
				answers["null result"] = `null`
			}
			answer := says(rawmcp.Answer{Roots: []string{root}})
			p := w.serveBad(start{version: version, roots: answer.answer, changes: true}, w.dir+"/ws")
			w.reads(p, "alive", "alive")
			before := take(w.dir, nil, nil)
			resetPeak(p.PID())
			rss, _ := resident(p.PID())
			for name, raw := range answers {
				answer.set(rawmcp.Answer{Raw: json.RawMessage(raw)})
				p.RootsChanged()
				for tool, args := range map[string]rawmcp.Args{"read_text_file": {"path": "alive"}, "write_file": {"path": "new", "content": "x"}} {
					r := w.ask(p, tool, args)
					// In 2026-07-28 the answer is a parameter of the call: one that is of another kind does not fit the method.
					if version == rawmcp.Modern && r.Code == -32602 && other[name] {
						w.clear(name, r)
						continue
					}
					w.refusedAs(name, r, "roots_malformed")
				}
				answer.set(rawmcp.Answer{Roots: []string{root}})
				p.RootsChanged()
				w.reads(p, "alive", "alive")
			}
			w.unchanged(before)
			if _, peak := resident(p.PID()); peak-rss > 256<<10 {
				t.Errorf("it grew by %d MiB", (peak-rss)>>10)
			}
		})
	}
}

// TestBadEntries puts one entry of each bad kind beside a good one: the record of the publication names each with its
// reason, and the good one is served. The server is an ordinary user, so that something can be unreadable.
func TestBadEntries(t *testing.T) {
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, base+"/entries", era)
			defer w.close()
			ws := w.dir + "/ws"
			w.put(ws+"/locked/f", []byte(inText))
			if err := os.Chmod(ws+"/locked", 0); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mkfifo(ws+"/pipe", 0o644); err != nil {
				t.Fatal(err)
			}
			type entry struct{ uri, reason string }
			entries := []entry{
				{"https://example.com/x", "root_not_file"}, {ws, "root_not_file"}, {"untitled:x", "root_not_file"},
				{"file://elsewhere" + ws, "root_remote"}, {"file://127.0.0.1" + ws, "root_remote"},
				{fileURI(ws) + "?x", "root_uri_invalid"}, {fileURI(ws) + "#x", "root_uri_invalid"},
				{fileURI(ws) + "/%zz", "root_uri_invalid"}, {fileURI(ws) + "%2Fd", "root_uri_invalid"}, {fileURI(ws) + "%00", "root_uri_invalid"},
				{fileURI(ws) + "/%2e%2e/ws", "root_uri_invalid"}, {fileURI(ws) + "/..", "root_uri_invalid"},
				{"file:///" + ws, "root_uri_invalid"}, {"file:x", "root_uri_invalid"}, {"file:///C:/x", "root_uri_invalid"},
				{fileURI(ws + "/none"), "root_unusable"}, {fileURI(ws + "/alive"), "root_unusable"}, {fileURI(ws + "/pipe"), "root_unusable"},
			}
			s := start{version: version, roots: func(int) rawmcp.Answer {
				var uris []string
				for _, e := range entries {
					uris = append(uris, e.uri)
				}
				return rawmcp.Answer{Roots: append(uris, fileURI(ws+"/d"))}
			}}
			if os.Getuid() == 0 {
				s.launch.UID = 65534
				entries = append(entries, entry{fileURI(ws + "/locked"), "root_unusable"})
			}
			p := w.serveBad(s, ws)
			w.reads(p, ws+"/d/f", inText)
			w.refusedAs("beside the good root", w.ask(p, "read_text_file", rawmcp.Args{"path": ws + "/alive"}), "outside_root", ws+"/alive")
			var said []string
			for _, r := range p.recorded() {
				if len(r.Roots) > 0 {
					said = nil
					for _, e := range r.Roots {
						said = append(said, fmt.Sprintf("%s %s %v", e.Reason, e.Detail, e.Root != ""))
					}
				}
			}
			if len(said) != len(entries)+1 {
				t.Fatalf("the record speaks of %d entries, want %d: %q", len(said), len(entries)+1, said)
			}
			for i, e := range entries {
				if f := strings.Fields(said[i]); f[0] != e.reason || len(f) < 3 || f[len(f)-1] != "false" {
					t.Errorf("%s: %q, want %s with a detail and no root id", strings.ReplaceAll(e.uri, ws, "{ws}"), said[i], e.reason)
				}
			}
			if last := said[len(entries)]; strings.TrimSpace(last) != "true" {
				t.Errorf("the good one: %q", last)
			}
		})
	}
}

// TestBadRootSets: every entry dropped, none inside, one that contains the project, one too wide.
func TestBadRootSets(t *testing.T) {
	for name, c := range map[string]struct {
		mode, uri      string
		reason, detail string // of the read of ws/d/f; empty: it succeeds
	}{
		"narrow, all dropped":     {"narrow", "https://example.com/x", "no_overlap", "root_not_file"},
		"require, all dropped":    {"require", "file://host/x", "no_overlap", "root_remote"},
		"client, all dropped":     {"client", "file:///nothing/here", "no_scope", "root_unusable"},
		"client, home":            {"client", "{home}", "no_scope", "root_too_wide"},
		"client, above home":      {"client", "{state}", "no_scope", "root_too_wide"},
		"client, the whole disk":  {"client", "file:///", "no_scope", "root_too_wide"},
		"narrow, beside":          {"narrow", "{out}", "no_overlap", ""},
		"narrow, contains":        {"narrow", "{W}", "", ""},
		"narrow, the whole disk":  {"narrow", "file:///", "", ""},
		"require, the whole disk": {"require", "file:///", "", ""},
	} {
		for era, version := range eras {
			t.Run(era+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, base+"/sets-"+era, strings.NewReplacer(" ", "-", ",", "").Replace(name))
				defer w.close()
				uri := strings.NewReplacer("{home}", fileURI(w.state+"/home"), "{state}", fileURI(w.state), "{out}", fileURI(w.dir+"/out"), "{W}", fileURI(w.dir)).Replace(c.uri)
				argv := []string{"--roots=" + c.mode}
				if c.mode != "client" {
					argv = append(argv, w.dir+"/ws")
				}
				p := w.serveBad(start{version: version, roots: func(int) rawmcp.Answer { return rawmcp.Answer{Roots: []string{uri}} }}, argv...)
				if c.reason == "" {
					w.reads(p, w.dir+"/ws/d/f", inText)
				} else {
					r := w.ask(p, "read_text_file", rawmcp.Args{"path": w.dir + "/ws/d/f"})
					w.refusedAs(name, r, c.reason, w.dir+"/ws/d/f")
					if c.detail != "" && !strings.Contains(r.Detail, c.detail) {
						t.Errorf("detail %q, want %s", r.Detail, c.detail)
					}
				}
				for _, path := range []string{w.dir + "/out/secret", w.state + "/home", "/etc/passwd", "/"} { // whatever was declared
					for _, tool := range []string{"read_text_file", "list_directory"} {
						if r := w.ask(p, tool, rawmcp.Args{"path": path}); r.OK() {
							t.Errorf("%s %s: %s", tool, path, r.Short())
						}
					}
				}
				w.alive(p)
			})
		}
	}
}
