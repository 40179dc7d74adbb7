package mcpfs_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// whyOf is the bound that an answer says it was cut at; declared is whether the tool tells it.
func whyOf(tool string, s map[string]any) (bound string, declared bool) {
	switch tool {
	case "directory_tree", "search_files", "search_content":
		bound, _ = s["cut_by"].(string)
		return bound, true
	}
	return "", s["cut_by"] != nil
}

// inTime asks the questions of cases that walk, where the time is over behind each entry, or each few of them: also where none
// of them shows.
func inTime(t *testing.T, form mcpfs.Tools, projects []rootbound.Project, cases []goingOn) {
	for _, every := range []int64{1, 3} {
		var asked atomic.Int64
		late := func() bool { return asked.Add(1)%every == 0 }
		l := start(t, serve.Options{Projects: projects, Tools: form, Limits: mcpfs.Limits{}.Late(late)}, clientOptions{})
		cut := 0
		walks := append([]goingOn{
			{"search_files", args{"path": ".", "pattern": "none"}, "", 1, lines(dropped)},
			{"directory_tree", args{"path": "tree", "excludePatterns": []string{"**"}}, "", 1, nodes(func(map[string]any) string { return "tree" })},
		}, cases...)
		for _, c := range walks {
			if c.tool != "directory_tree" && c.tool != "search_files" {
				continue
			}
			if c.tool == "search_files" {
				c.join = lines(dropped)
			}
			t.Run(fmt.Sprintf("%d/%s%v", every, c.tool, c.args), func(t *testing.T) {
				c.least = 5 / int(every)
				g := goOn(t, l, form, c)
				if g.all != c.want { // also where nothing is wanted
					t.Errorf("%q", g.all)
				}
				cut += g.bounds["time"]
				if g.bounds["time"] != g.answers-1 && c.args["max_nodes"] == nil {
					t.Errorf("%d answers, %v", g.answers, g.bounds)
				}
			})
		}
		stopped := 0
		for _, r := range l.records.Records() {
			if r.Outcome != nil && r.Outcome.Stopped == "time" {
				stopped++
			}
		}
		if stopped != cut {
			t.Errorf("the records tell of %d answers that the time ended, there were %d", stopped, cut)
		}
	}
}

// dropped are the lines of a search that are no matches.
const dropped = `^\[cut|^No (more )?matches found( so far)?$`

// saysWhy is what the text of an answer that was cut must say of the bound.
func saysWhy(bound, says string) bool {
	return bound != "time" || strings.Contains(says, "since one answer takes no longer")
}
