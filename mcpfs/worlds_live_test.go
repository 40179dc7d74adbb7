//go:build unix

package mcpfs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var masks = regexp.MustCompile(`"(version|rootbound/version|decision_id|undo|plan|token|expires|cursor)":"[^"]*"|cursor: [^]]*|(created|modified|accessed): [^\\]*|"id":"r-[^"]*"|Plan [a-z0-9]{10}`)

func mask(base string, v any, err error) string {
	if err != nil {
		return "error " + strings.ReplaceAll(err.Error(), base, "BASE")
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return masks.ReplaceAllString(strings.ReplaceAll(string(b), base, "BASE"), "$1$2 MASKED")
}

var said = regexp.MustCompile(`"reason":"[^"]*"|"detail":"[^"]*"|"root":"[^"]*"`)

// short is what tells two answers apart in most cases.
func short(got string) string {
	if !strings.Contains(got, `"error":`) {
		return got
	}
	return strings.Join(said.FindAllString(got, -1), " ")
}

// Two worlds that differ only in what rights, rules and own files hide give the same answers to every tool, and leave the
// same records.
func TestWorldsThatDifferInWhatIsHiddenAnswerAlike(t *testing.T) {
	d := drawing(8, 60)
	calls, allowed, records := 0, 0, 0
	d.each(t, 7, everyWay, func(p *pair) {
		bad := 0
		p.calls(d.calls, func(tool string, a args) bool {
			n, ok, same := p.ask(tool, a)
			calls, allowed = calls+n, allowed+ok
			if !same {
				bad++
			}
			return bad < 3
		})
		if x, y := p.visible(p.t, p.base[0]), p.visible(p.t, p.base[1]); x != y {
			p.t.Errorf("on disk\n0: %s\n1: %s", x, y)
		}
		records += p.recorded()
	})
	t.Logf("%d calls, %d allowed, %d records", calls, allowed, records)
	if d.ordinary && (allowed < calls/10 || allowed > calls*9/10 || records < calls/2) {
		t.Error("too little was met: the worlds are not what they were")
	}
}

// calls draws n calls that change nothing and then up to n that may, until f has enough.
func (p *pair) calls(n int, f func(tool string, a args) bool) {
	p.t.Helper()
	lot := p.lot()
	for k := range 2 * n {
		tool, a := lot.call(k >= n)
		if k >= n && p.tells(p.base, tool, a) {
			continue
		}
		if !f(tool, a) {
			return
		}
	}
}

// ask puts a call to both worlds, and goes on where the answer was cut.
func (p *pair) ask(tool string, a args) (calls, allowed int, same bool) {
	p.t.Helper()
	var cursors [2]string
	for range 6 {
		var res [2]*mcp.CallToolResult
		calls++
		_, same := p.twice(fmt.Sprint(tool, " ", a), func(k int) (any, error) {
			sent := based(a, p.base[k])
			if cursors[k] != "" {
				sent["cursor"] = cursors[k]
			}
			var err error
			res[k], err = p.live[k].session.CallTool(p.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: sent})
			return res[k], err
		}, func(k int, v any, err error) string { return mask(p.base[k], v, err) })
		if !same {
			return calls, allowed, false
		}
		if res[0] != nil && !res[0].IsError {
			allowed++
		}
		for k := range res {
			cursors[k] = cursorOf(res[k])
		}
		if cursors[0] == "" {
			break
		}
	}
	return calls, allowed, true
}

// tells reports a change that is known to tell of what is hidden, since nothing else could come of it (docs/rules.md): of a
// directory that goes, moves or is copied each entry is judged, and no directory is made where a file is.
func (w *worlds) tells(base [2]string, tool string, a args) bool {
	if w.projects[0].AllowExtensions != nil && (tool == "create_directory" || a["create_parents"] != nil) {
		return true
	}
	if tool != "move_file" && tool != "copy_file" && tool != "delete_file" {
		return false
	}
	from, _ := a["source"].(string)
	for _, name := range []string{"relative_path", "path"} {
		if s, ok := a[name].(string); ok {
			from = s
		}
	}
	for _, b := range base {
		for _, p := range w.projects {
			at := strings.ReplaceAll(from, "BASE", b)
			if !filepath.IsAbs(at) {
				at = filepath.Join(b, p.Dir) + "/" + at
			}
			if i, err := os.Stat(at); err == nil && i.IsDir() {
				return true
			}
		}
	}
	return false
}
