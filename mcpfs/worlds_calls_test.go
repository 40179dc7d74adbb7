//go:build unix

package mcpfs_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/mcpfs"
)

// drawPath is a spelling of something in the worlds, or of nothing.
func drawPath(r *rand.Rand, form mcpfs.Tools) string {
	var names []string
	for range 1 + r.IntN(4) {
		names = append(names, pick(r, pick(r, openNames...), pick(r, hiddenNames...), pick(r, linkNames...), pick(r, linkNames...), pick(r, "inner", "closed", "state", "none", "..", "..", ".", ".ENV", "secret.", "L")))
	}
	p := strings.Join(names, "/")
	switch r.IntN(12) {
	case 0:
		p += "/"
	case 1:
		if form == mcpfs.Classic {
			p = "BASE/" + pick(r, "p", "p", "q", "out", "p/inner") + "/" + p
		}
	case 2:
		p = "."
	case 3:
		p = pick(r, `\x66`, `sec\x72et`, "a/./b", "inner/../a")
	}
	return p
}

// lot draws calls of tools; the same draws give the same calls.
type lot struct {
	r        *rand.Rand
	tools    []*mcp.Tool
	path     func(change bool) string // for a tool that changes something, or not
	root     func() string            // "": left out
	patterns []string
}

// toolsOf are the tools of a server, by name.
func toolsOf(t *testing.T, l *live) []*mcp.Tool {
	t.Helper()
	list, err := l.session.ListTools(t.Context(), nil)
	must(t, err)
	return list.Tools
}

// call is a call with random arguments. changes: whether tools that change something may be drawn.
func (l lot) call(changes bool) (string, args) {
	r := l.r
	tool := pick(r, l.tools...)
	for !changes && !tool.Annotations.ReadOnlyHint {
		tool = pick(r, l.tools...)
	}
	path := func() string { return l.path(!tool.Annotations.ReadOnlyHint) }
	a := args{}
	for _, name := range slices.Sorted(maps.Keys(tool.InputSchema.(map[string]any)["properties"].(map[string]any))) {
		switch name {
		case "path", "relative_path", "source", "destination", "relative_destination":
			a[name] = path()
		case "paths", "relative_paths":
			a[name] = []string{path(), path(), path()}
		case "root", "project_id":
			if id := l.root(); id != "" || name == "project_id" {
				a[name] = id
			}
		case "pattern":
			a[name] = pick(r, l.patterns...)
		case "content":
			a[name] = "needle new\n"
		case "edits":
			if tool.Name == "propose_patch" {
				a[name] = []args{{"path": path(), "oldText": pick(r, "needle", ""), "newText": "n"}}
			} else {
				a[name] = []args{{"oldText": "needle", "newText": "n"}}
			}
		case "diff", "cursor":
		case "plan":
			a[name] = "none"
		case "excludePatterns", "include", "exclude":
			if r.IntN(4) == 0 {
				a[name] = []string{pick(r, "**/a", ".env", "**/secret/**", "{a,b}", "*", "**/[a-k]*")}
			}
		case "context", "depth", "max_nodes", "max_results":
			if r.IntN(3) == 0 {
				a[name] = 1 + r.IntN(4)
			}
		case "gitignore", "include_ignored", "literal", "ignore_case", "overwrite", "create_parents", "dryRun":
			if r.IntN(2) == 0 {
				a[name] = true
			}
		case "sortBy":
			a[name] = pick(r, "name", "size")
		case "expected_version":
			if r.IntN(8) == 0 {
				a[name] = "absent"
			}
		}
	}
	return tool.Name, a
}

// lot draws calls for both worlds, BASE standing for the directory of each.
func (p *pair) lot() lot {
	r, form := p.r, p.form
	return lot{
		r: r, tools: toolsOf(p.t, p.live[0]), path: func(bool) string { return drawPath(r, form) },
		root: func() string {
			id := pick(r, "p", "p", "p", "p", "inner", "closed", "q", "none")
			if form == mcpfs.Classic && r.IntN(8) == 0 {
				return ""
			}
			return id
		},
		patterns: []string{"**", "*", "needle", "x", "**/.env", "**/secret/**", "**/*.pem", "*/*", "l/**"},
	}
}

// based is a call for the world at base.
func based(a args, base string) args {
	b, _ := json.Marshal(a)
	var out args
	_ = json.Unmarshal([]byte(strings.ReplaceAll(string(b), "BASE", base)), &out)
	return out
}

// cursorOf is where an answer that was cut goes on: it differs where absolute paths were sent.
func cursorOf(res *mcp.CallToolResult) string {
	if res == nil {
		return ""
	}
	s, _ := res.StructuredContent.(map[string]any)
	next, _ := s["next"].(map[string]any)
	c, _ := next["cursor"].(string)
	return c
}
