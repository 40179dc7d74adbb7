package serve

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/mcpscope"
)

// moments is a sink that does something once, when the record of a tool is decided or completed: before the work of a call
// and behind it.
type moments struct {
	decision.Discard
	mu   sync.Mutex
	when string
	then func()
}

func (m *moments) at(when string, then func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.when, m.then = when, then
}

func (m *moments) reached(when string) {
	m.mu.Lock()
	then := m.then
	if m.when != when {
		then = nil
	}
	if then != nil {
		m.then = nil
	}
	m.mu.Unlock()
	if then != nil {
		then()
	}
}

// Decided implements decision.Sink.
func (m *moments) Decided(*decision.Record, bool) error { m.reached("decided"); return nil }

// Completed implements decision.Sink.
func (m *moments) Completed(*decision.Record) { m.reached("completed") }

// A search that is under way when its generation ends, by whatever ends it, is refused in the contract's words, before it
// began and when all is found alike: no name, no text, no number of what it saw.
func TestSearchesEndWithTheirGeneration(t *testing.T) {
	for name, end := range map[string]func(s *site) error{
		"revoked":     func(s *site) error { s.take("ann", "app"); return nil },
		"all revoked": func(s *site) error { s.take(""); return nil },
		"narrowed":    func(s *site) error { return s.service.ceiling.Activate([]rootbound.RootID{"both"}) },
		"denied": func(s *site) error {
			ps := s.service.ceiling.Projects()
			ps[0].Deny = []string{"**"}
			return s.service.ceiling.Replace(ps)
		},
		"without the right": func(s *site) error {
			ps := s.service.ceiling.Projects()
			ps[0].Rights = rootbound.Write
			return s.service.ceiling.Replace(ps)
		},
	} {
		for _, modern := range []bool{false, true} {
			t.Run(fmt.Sprint(name, "/modern ", modern), func(t *testing.T) {
				m := &moments{}
				s := newSite(t, Options{Sink: m})
				all := s.service.ceiling.Projects()
				ann := s.visit("ann", modern)
				dir := s.dir + "/app"
				for what, ask := range map[string]func() string{
					"search_content": func() string { return ann.use("search_content", map[string]any{"path": dir, "pattern": "needle"}) },
					"search_files":   func() string { return ann.use("search_files", map[string]any{"path": dir, "pattern": "**/*-app*"}) },
					"directory_tree": func() string { return ann.use("directory_tree", map[string]any{"path": dir}) },
					"list_directory": func() string { return ann.use("list_directory", map[string]any{"path": dir}) },
					"resource":       func() string { return ann.ask("resources/read", `"uri":"rootbound://app/"`) },
				} {
					for _, when := range []string{"decided", "completed"} {
						if got := ask(); !strings.Contains(got, "in-app.txt") {
							t.Fatalf("%s sees nothing: %s", what, got)
						}
						m.at(when, func() {
							if err := end(s); err != nil {
								t.Error(err)
							}
						})
						got := ask()
						m.at("", nil)
						if !strings.Contains(got, "generation_stale") && !strings.Contains(got, "revoked_by_user") && !(what == "resource" && strings.Contains(got, "not found")) {
							t.Errorf("%s, ended when %s: %s", what, when, got)
						}
						for _, word := range []string{"-app", "needle of", "needle below", "searched", "looked at", "match"} {
							if strings.Contains(got, word) {
								t.Errorf("%s, ended when %s, says %q: %s", what, when, word, got)
							}
						}
						if got := ask(); strings.Contains(got, "-app") {
							t.Errorf("%s in the next generation: %s", what, got)
						}
						// Back to the beginning.
						s.service.scope.Unrevoke(mcpscope.Who{Principal: "ann"}, "app")
						s.service.scope.Unrevoke(mcpscope.Who{})
						if err := s.service.ceiling.Replace(all); err != nil {
							t.Fatal(err)
						}
						if err := s.service.ceiling.Activate(nil); err != nil {
							t.Fatal(err)
						}
					}
				}
			})
		}
	}
}

// A cursor is a place to compare with, and no permission: one of a generation before, one that somebody made up, one of what
// is denied or not there, all tell what a question without it tells, or a part of that.
func TestCursorsGrantNothing(t *testing.T) {
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprint("modern ", modern), func(t *testing.T) {
			s := newSite(t, Options{})
			for i := range 6 {
				s.write(fmt.Sprintf("app/m/secret-%d/x-%d.txt", i, i), "needle\n")
				s.write(fmt.Sprintf("app/m/open-%d/y.txt", i), "needle\n")
			}
			s.write("app/m/zz.txt", "needle\n")
			ann := s.visit("ann", modern)
			dir := s.dir + "/app/m"
			tools := map[string]struct {
				args   map[string]any // all of a question but its bounds
				bounds map[string]any
				forge  func(place string) string
			}{
				"search_content": {map[string]any{"path": dir, "pattern": "needle"}, map[string]any{"max_results": 8}, func(p string) string { return "1:" + p }},
				"directory_tree": {map[string]any{"path": dir}, map[string]any{"max_nodes": 15}, func(p string) string { return p }},
				"search_files":   {map[string]any{"path": dir, "pattern": "**"}, nil, func(p string) string { return p }},
				"list_directory": {map[string]any{"path": dir}, nil, func(p string) string { return p }},
			}
			with := func(tool, cursor string) string {
				all := map[string]any{}
				for _, from := range []map[string]any{tools[tool].args, tools[tool].bounds} {
					for k, v := range from {
						all[k] = v
					}
				}
				answer, next := ann.page(tool, all, cursor)
				if cursor == "" && next == "" && tools[tool].bounds != nil {
					t.Fatalf("%s is not cut: %s", tool, answer)
				}
				if cursor == "" {
					return next
				}
				return answer
			}
			old := map[string]string{}
			for tool := range tools {
				old[tool] = with(tool, "")
			}
			ps := s.service.ceiling.Projects()
			ps[0].Deny = []string{"**/secret-*/**"}
			if err := s.service.ceiling.Replace(ps); err != nil {
				t.Fatal(err)
			}
			for tool, q := range tools {
				at := wire.CursorsOf(tool, q.args).At
				if old[tool] != "" {
					if got := with(tool, old[tool]); !strings.Contains(got, "zz.txt") || strings.Contains(got, "secret-") {
						t.Errorf("%s with a cursor of the generation before: %s", tool, got)
					}
				}
				for _, pair := range [][2]string{
					{"secret-3", "secret-x"}, {"secret-3/x-3.txt", "secret-3/none"}, {"secret-3/x-3.txt/more", "secret-3/none/more"},
					{"secret-0/", "secret-0/none"}, {"open-0/../secret-1/x-1.txt", "open-0/../secret-1/none"},
				} {
					there, not := with(tool, at(q.forge(pair[0]))), with(tool, at(q.forge(pair[1])))
					if strings.Contains(there, "argument_invalid") && tool != "list_directory" {
						t.Errorf("%s does not take a cursor that was made up: %s", tool, there)
					}
					if a, b := alike(there, pair[0]), alike(not, pair[1]); a != b {
						t.Errorf("%s: behind the denied %s\n%s\nbehind %s, which is not there\n%s", tool, pair[0], a, pair[1], b)
					}
					if strings.Contains(there+not, "secret-") {
						t.Errorf("%s behind %s: %s", tool, pair[0], there)
					}
				}
				for _, place := range []string{"../lib/in-lib.txt", s.dir + "/lib/in-lib.txt", "..", "/", strings.Repeat("../", 40) + "etc/passwd", "\x00", "99999999999:x"} {
					if got := with(tool, at(q.forge(place))); strings.Contains(got, "secret-") || strings.Contains(got, "-lib") || strings.Contains(got, "root:") {
						t.Errorf("%s behind %q: %s", tool, place, got)
					}
				}
			}
		})
	}
}
