//go:build linux

package cases

import (
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// report is one case of reports.yaml.
type report struct {
	ID       string `yaml:"id"`
	Kind     string `yaml:"kind"`
	Fault    string `yaml:"fault"`
	Platform string `yaml:"platform"`
	Start    struct {
		Dirs      *[]string `yaml:"dirs"`
		Cwd       string    `yaml:"cwd"`
		Args      []string  `yaml:"args"`
		Rights    string    `yaml:"rights"`
		Deny      []string  `yaml:"deny"`
		Roots     any       `yaml:"roots"`
		ThenRoots []string  `yaml:"then_roots"`
	} `yaml:"start"`
	Setup []map[string]any `yaml:"setup"`
	Call  *toolCall        `yaml:"call"`
	Calls []toolCall       `yaml:"calls"`
	Want  map[string]any   `yaml:"want"`
	Note  string           `yaml:"note"`
}

type toolCall struct {
	Tool string         `yaml:"tool"`
	Args map[string]any `yaml:"args"`
}

const reportCanary = "CANARY-5d1f-never-comes-back"

func TestReports(t *testing.T) {
	raw, err := os.ReadFile("testdata/reports.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []report
	if err := yaml.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 61 {
		t.Fatalf("%d reports, want 61", len(list))
	}
	if mounts() { // some make fifty thousand files, and no report is about the file system
		dir := base + "/reports"
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("none", dir, "tmpfs", 0, "mode=0755"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	}
	for _, r := range list {
		t.Run(r.ID, func(t *testing.T) {
			if r.Platform != "" && r.Platform != "posix" {
				skip(t, "reports/"+r.ID, "only on "+r.Platform)
			}
			t.Parallel()
			runReport(t, r)
		})
	}
}

// retold is a report under way.
type retold struct {
	*world
	report
	p       *product
	results []*rawmcp.Result
	before  picture
}

func (r *retold) fill(s string) string {
	return strings.NewReplacer("{{", "{{", "{root}", r.dir+"/root", "{root2}", r.dir+"/root2", "{work}", r.dir, "{out}", r.dir+"/out",
		"{home}", r.state+"/home", "{cwd}", r.dir+"/cwd", "{canary}", reportCanary).Replace(s)
}

// deep fills the placeholders of a value and everything in it.
func (r *retold) deep(v any) any {
	switch x := v.(type) {
	case string:
		return r.fill(x)
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = r.deep(x[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range x {
			out[r.fill(k)] = r.deep(e)
		}
		return out
	}
	return v
}

func runReport(t *testing.T, c report) {
	r := &retold{world: newWorld(t, base+"/reports", c.ID), report: c}
	defer r.close()
	for _, d := range []string{"{root}", "{root2}", "{out}", "{home}", "{cwd}"} {
		if err := os.MkdirAll(r.fill(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range c.Setup {
		if err := r.make(s); err != nil {
			t.Fatalf("setup %v: %v", s, err)
		}
	}
	if exit, ok := c.Want["exit"]; ok {
		r.mustNotStart(int(asInt(exit)))
		return
	}
	r.serve()
	if c.Want["unchanged"] != nil {
		r.before = take(r.dir, nil, r.directories())
	}
	calls := c.Calls
	if c.Call != nil {
		calls = []toolCall{*c.Call}
	}
	for i, call := range calls {
		limit := 10 * time.Second
		if ms := asInt(c.Want["within_ms"]); ms > 0 {
			limit = time.Duration(ms) * time.Millisecond
		}
		args, _ := r.deep(call.Args).(map[string]any)
		res, worked, err := r.p.call(limit, call.Tool, args)
		if err != nil {
			t.Fatalf("step %d %s: %v; stderr: %s", i, call.Tool, err, r.p.Stderr())
		}
		t.Logf("%s: %v", call.Tool, worked.Round(time.Millisecond))
		if worked > limit {
			t.Errorf("step %d %s: the server worked for %v, the limit is %v", i, call.Tool, worked, limit)
		}
		r.results = append(r.results, res)
	}
	for name, want := range c.Want {
		r.check(name, r.deep(want))
	}
}

// directories are left out of the comparison of times: a refused change may have come with a temporary file.
func (r *retold) directories() []string {
	q := &run{world: r.world}
	return q.insideDirs()
}

// make performs one line of a setup.
func (r *retold) make(s map[string]any) error {
	get := func(key string) string {
		v, _ := s[key].(string)
		return r.fill(v)
	}
	switch {
	case s["dir"] != nil:
		return os.MkdirAll(get("dir"), 0o755)
	case s["canary"] != nil:
		r.put(get("canary"), []byte(reportCanary))
	case s["link"] != nil:
		r.parent(get("link"))
		return os.Symlink(get("to"), get("link"))
	case s["tree"] != nil:
		for d := range asInt(s["dirs"]) {
			if err := r.many(get("tree")+"/d"+strconv.FormatInt(d, 10), int(asInt(s["files"])), "f%d", nil); err != nil {
				return err
			}
		}
	case s["file"] != nil:
		return r.makeFile(get("file"), s)
	default:
		return fmt.Errorf("unknown")
	}
	return nil
}

func (r *retold) makeFile(path string, s map[string]any) error {
	text, _ := s["text"].(string)
	if h, ok := s["hex"].(string); ok {
		raw, err := hex.DecodeString(h)
		if err != nil {
			return err
		}
		text = string(raw)
	}
	if line, ok := s["lines"].(string); ok {
		var b strings.Builder
		for n := range asInt(s["count"]) {
			b.WriteString(strings.ReplaceAll(line, "{n}", strconv.FormatInt(n+1, 10)))
		}
		text = b.String()
	}
	if parts, ok := s["parts"].([]any); ok {
		var b strings.Builder
		for _, p := range parts {
			pair := p.([]any)
			b.WriteString(strings.Repeat(pair[0].(string), int(asInt(pair[1]))))
		}
		text = b.String()
	}
	r.put(path, []byte(text))
	if n := asInt(s["size"]); n > 0 {
		if err := os.Truncate(path, n); err != nil {
			return err
		}
	}
	if m, ok := s["mode"].(string); ok {
		mode, err := strconv.ParseUint(m, 8, 32)
		if err != nil {
			return err
		}
		return os.Chmod(path, os.FileMode(mode))
	}
	return nil
}

// begins gives the start of the server by the report's words.
func (r *retold) begins() start {
	c := r.Start
	s := start{version: rawmcp.Legacy, argv: []string{"--confine=off", "--no-slow", "--audit", r.state + "/audit.jsonl"}, cwd: r.fill("{cwd}")}
	if c.Cwd != "" {
		s.cwd = r.fill(c.Cwd)
	}
	s.argv = append(s.argv, c.Args...)
	dirs := []string{"{root}"}
	if c.Dirs != nil {
		dirs = *c.Dirs
	}
	if c.Rights == "ro" {
		s.argv = append(s.argv, "--read-only")
	}
	if len(c.Deny) > 0 {
		var projects []map[string]any
		for _, d := range dirs {
			projects = append(projects, map[string]any{"dir": r.fill(d), "rights": "rw", "deny": c.Deny})
		}
		s.argv = append(s.argv, "--tools=classic", "--config", r.writeConfig(map[string]any{"projects": projects}))
		dirs = nil
	}
	for _, d := range dirs {
		s.argv = append(s.argv, r.fill(d))
	}
	switch roots := c.Roots.(type) {
	case string: // "never"
		s.roots = func(int) rawmcp.Answer { return rawmcp.Answer{Silent: true} }
	case []any:
		first, then := list(r.deep(roots)), make([]string, len(c.ThenRoots))
		for i := range c.ThenRoots {
			then[i] = r.fill(c.ThenRoots[i])
		}
		pub := &published{uris: first}
		s.roots, s.changes = pub.answer, true
		if c.ThenRoots != nil {
			r.undo = append(r.undo, func() { pub.set(nil) })
			s.roots = func(ask int) rawmcp.Answer {
				if ask > 0 {
					pub.set(then)
				}
				return pub.answer(ask)
			}
		}
	}
	return s
}

func (r *retold) serve() {
	t := r.t
	p, err := r.begin(r.begins())
	if err != nil {
		t.Fatal(err)
	}
	r.p = p
	if r.Start.ThenRoots != nil { // the first list is in force before it changes
		if _, _, err := p.call(5*time.Second, "list_allowed_directories", nil); err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.call(5*time.Second, "list_directory", rawmcp.Args{"path": r.fill("{root}")}); err != nil {
			t.Fatal(err)
		}
		p.RootsChanged()
	}
}
