package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// lacks fails if a visitor ever heard one of the words.
func (v *visitor) lacks(words ...string) {
	v.t.Helper()
	heard := v.heard()
	for _, w := range words {
		if i := strings.Index(heard, w); i >= 0 {
			v.t.Errorf("%s heard %q: …%s…", v.user, w, heard[max(0, i-300):min(len(heard), i+100)])
		}
	}
}

// eras puts a test to both, and to each beside the other.
func eras(t *testing.T, test func(t *testing.T, ann, ben bool)) {
	for name, modern := range map[string][2]bool{"legacy": {false, false}, "modern": {true, true}, "legacy beside modern": {false, true}} {
		t.Run(name, func(t *testing.T) { test(t, modern[0], modern[1]) })
	}
}

var decisionID = regexp.MustCompile(`[0-9a-zA-Z-]{16,}`)

// alike is an answer without what is new in each: its ids, and the name that it repeats.
func alike(answer, name string) string {
	answer = regexp.MustCompile(`"id":[0-9]+`).ReplaceAllString(answer, `"id":0`)
	return decisionID.ReplaceAllString(strings.ReplaceAll(answer, name, "NAME"), "…")
}

// What was taken from one principal and left to another is to the one as if it was nowhere, by each method that knows of
// places: none of its names and texts, no count, and the words of what is unknown.
func TestNothingReachesAnotherPrincipal(t *testing.T) {
	eras(t, func(t *testing.T, annModern, benModern bool) {
		s := newSite(t, Options{})
		s.take("ann", "lib")
		s.take("ben", "app")
		ann, ben := s.visit("ann", annModern), s.visit("ben", benModern)
		for _, c := range []struct {
			v           *visitor
			own, others string
		}{{ann, "app", "lib"}, {ben, "lib", "app"}} {
			v, own, others := c.v, s.dir+"/"+c.own, s.dir+"/"+c.others
			if got := v.use("search_content", map[string]any{"path": own, "pattern": "needle"}); !strings.Contains(got, "deep-"+c.own) {
				t.Fatalf("%s sees nothing: %s", v.user, got)
			}
			if got := v.ask("resources/list", ""); !strings.Contains(got, "rootbound://"+c.own+"/") || strings.Contains(got, "rootbound://"+c.others) {
				t.Errorf("resources of %s: %s", v.user, got)
			}
			v.ask("tools/list", "")
			v.use("list_allowed_directories", map[string]any{})
			complete := func(argument, value, project string) string {
				return v.ask("completion/complete", fmt.Sprintf(`"ref":{"type":"ref/resource","uri":"rootbound://{project}/{+path}"},"argument":{"name":%q,"value":%q},"context":{"arguments":{"project":%q}}`, argument, value, project))
			}
			if got := complete("project", "", ""); !strings.Contains(got, `"`+c.own+`"`) || strings.Contains(got, `"`+c.others+`"`) {
				t.Errorf("projects of %s: %s", v.user, got)
			}
			if got := complete("path", "in", c.own); !strings.Contains(got, "in-"+c.own+".txt") {
				t.Errorf("paths of %s: %s", v.user, got)
			}
			// What is another's, and what is nobody's.
			for what, ask := range map[string]func(project, dir string) string{
				"completion": func(project, _ string) string { return complete("path", "", project) },
				"read": func(project, _ string) string {
					return v.ask("resources/read", `"uri":"rootbound://`+project+`/in-x.txt"`)
				},
				"root": func(project, _ string) string { return v.ask("resources/read", `"uri":"rootbound://`+project+`/"`) },
				"search_content": func(_, dir string) string {
					return v.use("search_content", map[string]any{"path": dir, "pattern": "needle"})
				},
				"search_files":   func(_, dir string) string { return v.use("search_files", map[string]any{"path": dir, "pattern": "**"}) },
				"directory_tree": func(_, dir string) string { return v.use("directory_tree", map[string]any{"path": dir}) },
				"subscription": func(project, _ string) string {
					if v.session != "" {
						return v.ask("resources/subscribe", `"uri":"rootbound://`+project+`/"`)
					}
					return v.ask("subscriptions/listen", `"notifications":{"resourceSubscriptions":["rootbound://`+project+`/"]}`)
				},
			} {
				got, unknown := ask(c.others, others), ask("nobodys", s.dir+"/nobodys")
				if a, b := alike(got, c.others), alike(unknown, "nobodys"); a != b {
					t.Errorf("%s: %s learns by %s: %s, of what is nobody's: %s", v.user, c.others, what, a, b)
				}
			}
			// The parent of both, and what they share.
			v.use("search_files", map[string]any{"path": s.dir, "pattern": "**"})
			v.use("search_content", map[string]any{"path": s.dir + "/both", "pattern": "needle"})
			v.lacks("in-"+c.others, "deep-"+c.others, "sub-"+c.others, "needle of "+c.others)
		}
	})
}

// page asks for a page of a tool's answer and gives the cursor of the next.
func (v *visitor) page(tool string, args map[string]any, cursor string) (answer, next string) {
	v.t.Helper()
	if cursor != "" {
		args["cursor"] = cursor
	}
	answer = v.use(tool, args)
	var got struct {
		Result struct {
			StructuredContent struct {
				Next struct{ Cursor string }
			}
		}
	}
	if err := json.Unmarshal([]byte(answer[strings.Index(answer, "{"):]), &got); err != nil {
		v.t.Fatalf("%s: %v", answer, err)
	}
	return answer, got.Result.StructuredContent.Next.Cursor
}

// A cursor of one principal says nothing to another, in whichever project he has a place of that name; what is told is what
// he may see there.
func TestCursorsOfAnotherPrincipal(t *testing.T) {
	eras(t, func(t *testing.T, annModern, benModern bool) {
		s := newSite(t, Options{})
		s.take("ben", "app")
		for i := range 8 {
			s.write(fmt.Sprintf("app/zz%d-app.txt", i), "needle\nneedle\n")
			s.write(fmt.Sprintf("both/zz%d-both.txt", i), "needle\nneedle\n")
		}
		ann, ben := s.visit("ann", annModern), s.visit("ben", benModern)
		for tool, args := range map[string]map[string]any{
			"search_content": {"pattern": "needle", "max_results": 2},
			"directory_tree": {"max_nodes": 3},
		} {
			of := func(project string) map[string]any {
				all := map[string]any{"path": s.dir + "/" + project}
				for k, v := range args {
					all[k] = v
				}
				return all
			}
			_, next := ann.page(tool, of("app"), "")
			if next == "" {
				t.Fatalf("%s was not cut", tool)
			}
			first := ben.use(tool, of("app"))
			again, _ := ben.page(tool, of("app"), next)
			if a, b := alike(first, ""), alike(again, ""); a != b {
				t.Errorf("%s: with another's cursor %s, without %s", tool, b, a)
			}
			if got, _ := ben.page(tool, of("both"), next); !strings.Contains(got, "(argument_invalid)") && !strings.Contains(got, "both") {
				t.Errorf("%s in another project: %s", tool, got)
			}
		}
		ben.lacks("-app.txt")
	})
}

// What one principal hears, another does not: each its own project, and of what they share only who still has it. A right
// that is taken is told to whom it was taken from and to nobody else.
func TestListenersHearTheirOwn(t *testing.T) {
	eras(t, func(t *testing.T, annModern, benModern bool) {
		s := newSite(t, Options{})
		s.take("ann", "lib")
		s.take("ben", "app")
		ann, ben := s.visit("ann", annModern), s.visit("ben", benModern)
		toAnn, toBen := ann.listen("app", "both"), ben.listen("lib", "both")
		toAnn.tells("app/for-ann.txt")
		toBen.tells("lib/for-ben.txt")
		toAnn.tells("both/shared.txt")
		toBen.tells("both/shared.txt")

		s.take("ann", "both") // and ben keeps it
		toAnn.until("resources/list_changed")
		toBen.tells("both/ben-alone.txt")
		toAnn.tells("app/for-ann.txt") // nothing was told before it
		if got := ann.ask("resources/list", ""); strings.Contains(got, "both") || !strings.Contains(got, "app") {
			t.Errorf("resources of ann: %s", got)
		}
		if got := ben.ask("resources/list", ""); !strings.Contains(got, "both") {
			t.Errorf("resources of ben: %s", got)
		}
		ann.lacks("for-ben", "ben-alone", "rootbound://lib")
		ben.lacks("for-ann", "rootbound://app", "list_changed")
	})
}

// The end of a session ends its stream and its watches, and nothing of its principal's others or of anybody else; the id of
// another's session opens, answers and ends nothing, and beside a request of 2026-07-28 it means nothing.
func TestAnEndedSession(t *testing.T) {
	s := newSite(t, Options{})
	s.take("ben", "app")
	ann, ben, listens := s.visit("ann", false), s.visit("ben", false), s.visit("ann", true)
	toAnn, toBen, toListen := ann.listen("app", "both"), ben.listen("both"), listens.listen("both")
	toAnn.tells("app/for-ann.txt")

	for _, method := range []string{"GET", "POST", "DELETE"} {
		res := ben.do(t.Context(), method, ann.session, `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{}}`, nil)
		if b, _ := io.ReadAll(res.Body); res.StatusCode != 404 {
			t.Errorf("%s with another's id: %s %s", method, res.Status, b)
		}
	}
	body := `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"` + s.dir + `/app/in-app.txt"},` + metaOfToday + `}}`
	res := ben.do(t.Context(), "POST", ann.session, body, map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "read_text_file"})
	if b, _ := io.ReadAll(res.Body); strings.Contains(string(b), "needle") || !strings.Contains(string(b), "revoked") && !strings.Contains(string(b), "outside_root") {
		t.Errorf("by another's id: %s", b)
	}
	toAnn.tells("app/for-ann.txt") // it goes on

	if res := ann.do(t.Context(), "DELETE", ann.session, "", nil); res.StatusCode != 204 {
		t.Fatalf("the end: %s", res.Status)
	}
	toAnn.ended()
	waitFor(t, func() bool { streams, subs := s.service.hub.Count(); return streams == 2 && subs == 2 })
	toBen.tells("both/after.txt")
	toListen.tells("both/after.txt")
	if res := ann.do(t.Context(), "GET", ann.session, "", nil); res.StatusCode != 404 {
		t.Errorf("the stream of an ended session: %s", res.Status)
	}
	ann.lacks("after.txt")
	ben.lacks("for-ann", "rootbound://app")
}

// What is kept of a file for one principal is not there for another, and goes with his right alone.
func TestKeptForOnePrincipal(t *testing.T) {
	s := newSite(t, Options{})
	long := s.dir + "/both/long.txt"
	s.write("both/long.txt", strings.Repeat("0123456789abcde\n", 1<<17))
	ann, ben := s.visit("ann", false), s.visit("ben", true)
	read := func(v *visitor) string {
		return v.use("read_text_file", map[string]any{"path": long, "line": 100_000, "lines": 1})
	}
	kept := func() int { return reflect.ValueOf(s.service.kept).Elem().FieldByName("owners").Len() } // by authority
	waitFor(t, func() bool { read(ann); return kept() == 1 })                                        // nothing is kept of a file that changed a moment ago
	read(ben)
	if n := kept(); n != 2 {
		t.Errorf("kept for %d authorities", n)
	}
	s.take("ann", "both")
	if n := kept(); n != 1 {
		t.Errorf("kept for %d authorities after one lost it", n)
	}
	if got := read(ann); strings.Contains(got, "0123456789") {
		t.Errorf("ann reads on: %s", got)
	}
	if got := read(ben); !strings.Contains(got, "0123456789abcde") {
		t.Errorf("ben does not: %s", got)
	}
	s.take("ben")
	if n := kept(); n != 0 {
		t.Errorf("kept for %d authorities of nobody", n)
	}
}
