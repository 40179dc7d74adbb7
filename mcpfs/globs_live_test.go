package mcpfs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/serve"
)

// What a list of patterns may take is bounded, and the refusal names the list and repeats little of it.
func TestListsOfPatternsAreBounded(t *testing.T) {
	l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}}, clientOptions{})
	many := make([]string, 257)
	dear := make([]string, 250)
	for i := range many {
		many[i] = fmt.Sprint("name", i)
	}
	for i := range dear {
		dear[i] = fmt.Sprint("{1..999}", strings.Repeat("a*", 100), i)
	}
	for _, c := range []struct{ tool, list, kind string }{
		{"search_content", "include", "include"}, {"search_content", "exclude", "exclude"},
		{"search_files", "excludePatterns", "exclude"}, {"directory_tree", "excludePatterns", "exclude"},
	} {
		a := args{"path": "."}
		if c.tool != "directory_tree" {
			a["pattern"] = "x"
		}
		a[c.list] = many
		if text, e := l.no(c.tool, a); e["reason"] != "argument_invalid" || !strings.Contains(text, "more than 256 "+c.kind+" patterns") || len(text) > 2000 {
			t.Errorf("%s %s: %q", c.tool, c.list, text)
		}
		a[c.list] = dear
		if text, e := l.no(c.tool, a); e["reason"] != "argument_invalid" || len(text) > 2000 {
			t.Errorf("%s %s: %q", c.tool, c.list, text)
		}
	}
}

// A bracket that nothing closes is seldom meant, in whatever list it stands.
func TestUnclosedPatternsAreTold(t *testing.T) {
	l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}}, clientOptions{})
	l.file("a.c", "needle\n")
	for _, c := range []struct {
		tool, list, what string
	}{
		{"search_content", "include", "an include pattern"}, {"search_content", "exclude", "an exclude pattern"},
		{"search_files", "excludePatterns", "an exclude pattern"}, {"directory_tree", "excludePatterns", "an exclude pattern"},
	} {
		a := args{"path": ".", c.list: []string{"*.{c,h"}}
		if c.tool != "directory_tree" {
			a["pattern"] = "nothing like it"
		}
		if _, s := l.ok(c.tool, a); !strings.Contains(fmt.Sprint(s), "nothing closes a bracket or brace of "+c.what) {
			t.Errorf("%s %s: %v", c.tool, c.list, s)
		}
	}
}
