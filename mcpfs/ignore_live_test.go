package mcpfs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// TestTreesAndSearchesGoByIgnoreFiles: only where asked, from the top of the project down, and never by a file that the rules
// deny or that a link leads to.
func TestTreesAndSearchesGoByIgnoreFiles(t *testing.T) {
	p := project(t, "p", rootbound.ReadOnly)
	p.Deny = []string{"d/denied/.gitignore"}
	l := start(t, serve.Options{Projects: []rootbound.Project{p}}, clientOptions{})
	for _, f := range []string{"a.log", "d/a.log", "d/x/a.log", "d/x/b", "d/denied/b", "d/linked/b", "d/kept/a.log", "d/large/b", ".git/config", "out/b", "out/a.log"} {
		l.file(f, "")
	}
	l.file(".gitignore", "*.log\n/out\n")
	l.file("d/.gitignore", "/x/b\n")
	l.file("d/kept/.ignore", "!*.log\n")
	l.file("d/denied/.gitignore", "b\n")
	l.file("d/large/.gitignore", "b\n"+strings.Repeat("#", 1<<20))
	l.file("rules", "b\n")
	l.link("d/linked/.gitignore", "../../rules")

	search := func(path string, a args) string {
		a["path"], a["pattern"] = path, "**/*"
		text, _ := l.ok("search_files", a)
		return strings.Join(strings.Fields(text), " ")
	}
	const below = "d/.gitignore d/denied d/denied/b d/kept d/kept/.ignore d/kept/a.log d/large d/large/.gitignore d/large/b d/linked d/linked/.gitignore d/linked/b d/x"
	for path, want := range map[string]string{
		"d":   below,
		"d/x": "No matches found",
		"out": "out/b", // asked for by name
		".":   "./.gitignore ./d ./" + strings.ReplaceAll(below, " ", " ./") + " ./rules",
	} {
		if got := search(path, args{"gitignore": true}); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := search("d/x", args{}); got != "d/x/a.log d/x/b" {
		t.Errorf("not asked for, and left out: %q", got)
	}
	for path, want := range map[string]string{"d/x": "[]", "out": `[{"name":"b","type":"file"}]`} {
		res := l.call("directory_tree", args{"path": path, "gitignore": true})
		if got := strings.NewReplacer("\n", "", " ", "").Replace(textOf(res)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	_, s := l.ok("directory_tree", args{"path": ".", "gitignore": true})
	if note, _ := s["note"].(string); !strings.Contains(note, `1 ignore file was not read`) || !strings.Contains(note, `"d/large/.gitignore"`) || strings.Contains(note, "denied") {
		t.Errorf("%q", note)
	}
	// a root of the client hides what is above it
	narrow := start(t, serve.Options{Projects: []rootbound.Project{p}}, clientOptions{roots: []string{uri(p.Dir + "/d")}, revision: "2025-06-18"})
	if text, _ := narrow.ok("search_files", args{"path": "d/x", "pattern": "*", "gitignore": true}); text != "d/x/a.log" {
		t.Errorf("%q", text)
	}
}

// TestIgnoreFilesThatTakeTooLong: the patterns of a file that takes too many steps are not applied from then on, and each tool that
// goes by such files says so in the same words.
func TestIgnoreFilesThatTakeTooLong(t *testing.T) {
	long := strings.Repeat("a", 200)
	for _, form := range []mcpfs.Tools{mcpfs.Classic, mcpfs.Project} {
		l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}, Tools: form}, clientOptions{})
		l.file("d/.gitignore", "*.x\n"+strings.Repeat("*a???????????????c\n", 3000)) // more for that name than one file may take
		for _, name := range []string{"0.x", long, "z.x"} {
			l.file("d/"+name, "needle\n")
		}
		for tool, a := range map[string]args{
			"directory_tree": {"gitignore": true}, "search_files": {"gitignore": true, "pattern": "**"}, "search_content": {"pattern": "needle"},
		} {
			a["path"] = "d"
			text, s := l.ok(tool, shaped(form, tool, a))
			if strings.Contains(text, "0.x") || !strings.Contains(text, long) || !strings.Contains(text, "z.x") {
				t.Errorf("%s %s: %s", form, tool, text)
			}
			if s["note"] != `1 ignore file has patterns that took too long: from then on they were not applied, so that what they leave out may be shown; the first of them "d/.gitignore"` {
				t.Errorf("%s %s: %q", form, tool, s["note"])
			}
		}
	}
}

// TestTreeWithoutOptionsIsTheClassicOne: the arguments we add change nothing where they are not sent, and a page that is not cut
// has only the keys that clients know.
func TestTreeWithoutOptionsIsTheClassicOne(t *testing.T) {
	l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}, Limits: mcpfs.Limits{Tree: 5}}, clientOptions{})
	l.file("a/b/c", "")
	l.file("a/.gitignore", "*")
	l.mkdir("d")
	plain := l.call("directory_tree", args{"path": "."})
	if len(plain.Content) != 1 {
		t.Errorf("%d blocks", len(plain.Content))
	}
	for _, a := range []args{{"depth": 9}, {"max_nodes": 100}, {"cursor": ""}, {"gitignore": false}} {
		a["path"] = "."
		if got := textOf(l.call("directory_tree", a)); got != textOf(plain) {
			t.Errorf("%v: %s, without: %s", a, got, textOf(plain))
		}
	}
	var nodes []map[string]any
	if err := json.Unmarshal([]byte(textOf(plain)), &nodes); err != nil || len(nodes) != 2 || len(nodes[0]) != 3 || len(nodes[1]) != 3 {
		t.Errorf("%v %v", nodes, err)
	}
	for _, a := range []args{{"depth": 0}, {"depth": 1.5}, {"max_nodes": 0}, {"max_nodes": "2"}, {"gitignore": 1}, {"cursor": "%"}} {
		a["path"] = "."
		if _, e := l.no("directory_tree", a); e["reason"] != "argument_invalid" {
			t.Errorf("%v: %v", a, e)
		}
	}
}

// TestTreeAtADepth: directories that were not looked into are marked, and asking for each gives exactly what they hold.
func TestTreeAtADepth(t *testing.T) {
	l := one(t)
	for _, f := range []string{"a/b/c/d", "a/b/e", "f/g/h", "i"} {
		l.file(f, "")
	}
	l.mkdir("j")
	type node struct {
		Name      string
		Truncated bool
		Children  []node
	}
	all, answers := map[string]int{}, 0
	var ask func(path string)
	ask = func(path string) {
		answers++
		res := l.call("directory_tree", args{"path": path, "depth": 1})
		var nodes []node
		if err := json.Unmarshal([]byte(textOf(res)), &nodes); err != nil {
			t.Fatal(err)
		}
		s := structured(t, res)
		first := ""
		for _, n := range nodes {
			p := path + "/" + n.Name
			all[p]++
			if len(n.Children) > 0 {
				t.Errorf("%s is deeper than asked", p)
			}
			if n.Truncated {
				if first == "" {
					first = p
				}
				ask(p)
			}
		}
		next, _ := s["next"].(map[string]any)
		if cut := first != ""; cut != (s["truncated"] == true) || cut && next["path"] != first {
			t.Errorf("%s: cut %v, next %v, first %s", path, s["truncated"], next, first)
		}
	}
	ask(".")
	for _, p := range []string{"a", "a/b", "a/b/c", "a/b/c/d", "a/b/e", "f", "f/g", "f/g/h", "i", "j"} {
		if all["./"+p] != 1 {
			t.Errorf("%s is there %d times", p, all["./"+p])
		}
	}
	if len(all) != 10 || answers != 7 {
		t.Errorf("%d nodes in %d answers", len(all), answers)
	}
}
