package mcpfs_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// TestEveryCutAnswerSaysHowToGoOn asks every tool that can cut its answer for more than fits, does what the answer says until
// nothing is cut, and wants exactly what there is: nothing twice, nothing missing, and of denied names not a word, in
// cursors neither. A tool that can cut and stands here with no question fails.
func TestEveryCutAnswerSaysHowToGoOn(t *testing.T) {
	for _, form := range []mcpfs.Tools{mcpfs.Classic, mcpfs.Project} {
		p := project(t, "p", rootbound.Full)
		p.Deny = []string{"**/*denied*", "**/*denied*/**"}
		projects := []rootbound.Project{p}
		listed, allowed := "", ""
		for i := range 17 {
			projects = append(projects, project(t, fmt.Sprintf("other%02d", i), rootbound.ReadOnly))
		}
		for _, q := range projects {
			listed += string(q.ID) + "\n"
			allowed += q.Dir + "\n"
		}
		l := start(t, serve.Options{Projects: projects, Tools: form, Limits: mcpfs.Limits{Text: 300, List: 4, Tree: 6, Hits: 3}}, clientOptions{})

		numbered, text := "", ""
		for i := range 100 {
			numbered += fmt.Sprintf("line %02d\n", i)
		}
		text = "first\n" + strings.Repeat("é€", 200) + "\n" + numbered
		l.file("files/numbered.txt", numbered)
		l.file("files/long.txt", text)
		l.file("files/short.txt", "short\n")
		l.file("files/short2.txt", strings.Repeat("s", 250)+"\n")
		l.file("edit.txt", strings.Repeat("a b\n", 100))
		names, sized, found, matched := "", "", "", ""
		for i := range 15 {
			name := fmt.Sprintf("f%02d", i)
			l.file("flat/"+name, strings.Repeat("x", i))
			l.file("flat/"+name+".denied", "needle")
			names += "[FILE] " + name + "\n"
			sized = fmt.Sprintf("[FILE] %-30s %10s\n", name, fmt.Sprintf("%d B", i)) + sized
			found += "flat/" + name + "\n"
		}
		tree, ignored := "", ""
		for _, f := range []string{"a/", "a/b/", "a/b/c/", "a/b/c/1", "a/b/c/2", "a/b/d", "a/b/e/", "a/b/e/f", "a/g", "h/", "h/i/", "h/i/j/", "h/i/j/k/", "h/i/j/k/l", "m", "n.log", "o/", "o/p.log", "o/q", "r/", "s"} {
			if strings.HasSuffix(f, "/") {
				l.mkdir("tree/" + f)
				l.file("tree/"+f+"denied/x", "needle")
				l.file("tree/"+f+"0denied", "needle")
			} else {
				l.file("tree/"+f, "needle here\nnothing\nneedle there\n")
				matched += "tree/" + f + ":1:needle here\ntree/" + f + ":3:needle there\n"
			}
			line := "tree/" + strings.TrimSuffix(f, "/") + "\n"
			tree += line
			if !strings.HasPrefix(f, "h/i") && !strings.HasSuffix(f, ".log") {
				ignored += line
			}
		}
		l.file(".gitignore", "*.log\n/tree/h/i\n")

		below := func(s map[string]any) string { return "tree" }
		dropMark := `^\[cut|^Projects:$`
		cases := []goingOn{
			{"read_file", args{"path": "files/numbered.txt"}, numbered, 3, bytesOf(0, 800, false)},
			{"read_text_file", args{"path": "files/numbered.txt"}, numbered, 3, bytesOf(0, 800, false)},
			{"read_text_file", args{"path": "files/numbered.txt", "head": 90}, strings.TrimSuffix(numbered[:90*8], "\n"), 3, bytesOf(0, 720, false)},
			{"read_text_file", args{"path": "files/numbered.txt", "tail": 90}, numbered[10*8:], 3, bytesOf(80, 720, true)},
			{"read_text_file", args{"path": "files/numbered.txt", "line": 5, "lines": 80}, numbered[4*8 : 84*8], 3, bytesOf(32, 640, false)},
			{"read_text_file", args{"path": "files/long.txt"}, text, 5, bytesOf(0, len(text), false)},
			{"read_text_file", args{"path": "files/long.txt", "line": 2, "lines": 60}, text[6 : 6+1001+59*8], 5, bytesOf(6, len(text)-6, false)},
			{"read_text_file", args{"path": "files/long.txt", "tail": 101}, text[6:], 5, bytesOf(6, len(text)-6, true)},
			{"read_text_file", args{"path": "files/long.txt", "offset": 6}, text[6:], 5, bytesOf(6, len(text)-6, false)},
			{"read_multiple_files", args{"paths": []string{"files/short.txt", "files/numbered.txt", "files/none", "files/short2.txt", "files/short.txt", "files/x.denied"}}, "", 4, contents},
			{"list_directory", args{"path": "flat"}, names, 4, lines(dropMark)},
			{"list_directory_with_sizes", args{"path": "flat"}, "", 4, lines(dropMark + `|^Total|^Combined`)},
			{"list_directory_with_sizes", args{"path": "flat", "sortBy": "size"}, sized, 4, lines(dropMark + `|^Total|^Combined`)},
			{"directory_tree", args{"path": "tree"}, tree, 4, nodes(below)},
			{"directory_tree", args{"path": "tree", "max_nodes": 1}, tree, 20, nodes(below)},
			{"directory_tree", args{"path": "tree", "max_nodes": 4, "gitignore": true}, ignored, 3, nodes(below)},
			{"directory_tree", args{"path": "tree", "excludePatterns": []string{"i", "*.log", "*/*.log"}}, ignored, 3, nodes(below)},
			{"search_files", args{"path": ".", "pattern": "flat/f*"}, "./" + strings.ReplaceAll(strings.TrimSuffix(found, "\n"), "\n", "\n./") + "\n", 5, lines(dropMark)},
			{"search_content", args{"path": ".", "pattern": "needle", "include_ignored": true}, "./" + strings.ReplaceAll(strings.TrimSuffix(matched, "\n"), "\n", "\n./") + "\n", 4, lines(dropMark)},
			{"search_files", args{"path": "tree", "pattern": "**/*", "gitignore": true}, strings.TrimPrefix(ignored, "tree\n"), 4, lines(dropMark)},
			{"list_allowed_directories", args{}, allowed, 4, lines(`^Allowed directories:$`)},
			{"list_projects", args{}, listed, 4, func(g *gathered, _ string, s map[string]any) {
				for _, p := range s["projects"].([]any) {
					g.all += p.(map[string]any)["id"].(string) + "\n"
				}
			}},
		}
		// by name, sizes stand in their lines in the other order
		by := strings.Split(strings.TrimSuffix(sized, "\n"), "\n")
		slices.Reverse(by)
		for i := range cases {
			if cases[i].tool == "list_directory_with_sizes" && cases[i].want == "" {
				cases[i].want = strings.Join(by, "\n") + "\n"
			}
		}
		// what cannot go on: the change is complete, only its diff is cut; the projects are another tool's pages
		complete := map[string]args{
			"edit_file":     {"path": "edit.txt", "edits": []args{{"oldText": "a", "newText": "c", "replaceAll": true}}},
			"propose_patch": {"edits": []args{{"path": "edit.txt", "oldText": "b", "newText": "d", "replaceAll": true}}},
			"scope_status":  {},
		}
		instead := map[string]string{"edit_file": "read the file", "propose_patch": "files names all", "scope_status": "list_projects"}

		tested := map[string]bool{}
		for _, c := range cases {
			if c.tool == "list_allowed_directories" && form == mcpfs.Project {
				continue // no such tool
			}
			tested[c.tool] = true
			t.Run(fmt.Sprintf("%s/%s%v", form, c.tool, c.args), func(t *testing.T) { goOn(t, l, form, c) })
		}
		for tool, a := range complete {
			tested[tool] = true
			res := l.call(tool, shaped(form, tool, a))
			s := structured(t, res)
			if note, _ := s["note"].(string); s["truncated"] != true || !strings.Contains(note, instead[tool]) || s["next"] != nil {
				t.Errorf("%s %s: %v %v, %q", form, tool, s["truncated"], s["next"], note)
			}
		}
		t.Run(form.String()+"/time", func(t *testing.T) { inTime(t, form, projects, cases) })
		t.Run(form.String()+"/cursors", func(t *testing.T) { onlyItsOwn(t, l, form, cases) })
		tools, err := l.session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools.Tools {
			props := tool.OutputSchema.(map[string]any)["properties"].(map[string]any)
			if _, cuts := props["truncated"]; cuts != tested[tool.Name] {
				t.Errorf("%s %s: may cut: %v, was asked: %v", form, tool.Name, cuts, tested[tool.Name])
			}
		}
	}
}

// onlyItsOwn sends each question the cursors of all other ones, its own with other arguments, and its own with one byte
// changed: an answer would be a page of something else, or an empty one.
func onlyItsOwn(t *testing.T, l *live, form mcpfs.Tools, cases []goingOn) {
	type question struct {
		tool   string
		args   args
		cursor string
	}
	tools, err := l.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	takes := map[string]map[string]any{}
	for _, tool := range tools.Tools {
		takes[tool.Name] = tool.InputSchema.(map[string]any)["properties"].(map[string]any)
	}
	var all []question
	for _, c := range cases {
		if c.tool == "list_allowed_directories" && form == mcpfs.Project {
			continue
		}
		a := shaped(form, c.tool, c.args)
		next, _ := structured(t, l.call(c.tool, a))["next"].(map[string]any)
		if cursor, ok := next["cursor"].(string); ok {
			all = append(all, question{c.tool, a, cursor})
		}
	}
	refuse := func(what string, q question, cursor string) {
		t.Helper()
		a := maps.Clone(q.args)
		a["cursor"] = cursor
		res := l.call(q.tool, a)
		s, _ := res.StructuredContent.(map[string]any)
		e, _ := s["error"].(map[string]any)
		if !res.IsError || e["reason"] != "argument_invalid" || !strings.Contains(textOf(res), rootbound.NoCursor) {
			t.Errorf("%s %v with %s: %s", q.tool, q.args, what, textOf(res))
		}
	}
	asked := map[string]bool{}
	for _, q := range all {
		asked[q.tool] = true
		own := maps.Clone(q.args)
		delete(own, "max_nodes") // it may change from page to page
		for _, other := range all {
			theirs := maps.Clone(other.args)
			delete(theirs, "max_nodes")
			if q.tool != other.tool || fmt.Sprint(own) != fmt.Sprint(theirs) {
				refuse(fmt.Sprintf("the cursor of %s %v", other.tool, other.args), q, other.cursor)
			}
		}
		for _, change := range []args{{"path": "flat/../tree"}, {"path": "files"}, {"relative_path": "files"}, {"pattern": "**/f*"}, {"sortBy": "size"}, {"sortBy": "name"},
			{"excludePatterns": []string{"x"}}, {"include": []string{"x"}}, {"exclude": []string{"x"}}, {"gitignore": true}, {"gitignore": false}, {"depth": 3},
			{"literal": true}, {"ignore_case": true}, {"word": true}, {"include_ignored": false}} {
			for k, v := range change {
				was, has := q.args[k]
				other := question{q.tool, maps.Clone(q.args), ""}
				other.args[k] = v
				standard := v == false || v == "name"
				if _, takes := takes[q.tool][k]; takes && (has && fmt.Sprint(was) != fmt.Sprint(v) || !has && !standard) {
					refuse("its cursor after "+k+" was another", other, q.cursor)
				}
			}
		}
		for i := range len(q.cursor) {
			b := []byte(q.cursor)
			if b[i]++; b[i] == 'z'+1 || b[i] == 'Z'+1 || b[i] == '9'+1 {
				b[i] = '_'
			}
			refuse(fmt.Sprintf("byte %d of its cursor changed", i), q, string(b))
		}
		for _, bad := range []string{"zzzz", "abc", "AAAA", "%", "eHg", q.cursor + "A", q.cursor + "\n", q.cursor[1:], q.cursor[:len(q.cursor)-1]} {
			refuse("a mangled cursor", q, bad)
		}
		a := maps.Clone(q.args)
		a["cursor"] = q.cursor
		l.ok(q.tool, a)
	}
	for tool := range takes {
		if _, has := takes[tool]["cursor"]; has != asked[tool] {
			t.Errorf("%s takes a cursor: %v, was asked: %v", tool, has, asked[tool])
		}
	}
}

// shaped gives arguments their form.
func shaped(form mcpfs.Tools, tool string, a args) args {
	out := maps.Clone(a)
	if form == mcpfs.Classic {
		if !strings.Contains("list_projects scope_status list_allowed_directories", tool) {
			out["root"] = "p"
		}
		return out
	}
	for _, k := range []string{"path", "paths"} {
		if v, ok := out[k]; ok {
			delete(out, k)
			out["relative_"+k] = v
		}
	}
	if edits, ok := out["edits"].([]args); ok && edits[0]["path"] != nil {
		e := maps.Clone(edits[0])
		e["relative_path"] = e["path"]
		delete(e, "path")
		out["edits"] = []args{e}
	}
	if !strings.Contains("list_projects scope_status list_allowed_directories", tool) {
		out["project_id"] = "p"
	}
	return out
}

func structured(t *testing.T, res *mcp.CallToolResult) map[string]any {
	t.Helper()
	s, _ := res.StructuredContent.(map[string]any)
	if s == nil || res.IsError {
		t.Fatalf("refused: %s", textOf(res))
	}
	return s
}
