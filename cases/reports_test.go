//go:build linux

package cases

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
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

// mustNotStart: the server ends with this code and says why on stderr.
func (r *retold) mustNotStart(code int) {
	t := r.t
	s := r.begins()
	if slices.Contains(s.argv, "--check") {
		s.argv = slices.DeleteFunc(s.argv, func(a string) bool { return a == "--no-slow" })
	}
	p, _ := r.begin(s)
	if p == nil {
		t.Fatal("no process")
	}
	ctx, cancel := context.WithTimeout(context.Background(), handshake)
	defer cancel()
	got, err := p.Exited(ctx)
	if err != nil || got != code {
		t.Errorf("exit code %d (%v), want %d", got, err, code)
	}
	for _, want := range list(r.Want["stderr_has"]) {
		if !strings.Contains(p.Stderr(), want) {
			t.Errorf("stderr lacks %q: %q", want, p.Stderr())
		}
	}
	for _, bad := range list(r.Want["stderr_lacks"]) {
		if strings.Contains(p.Stderr(), bad) {
			t.Errorf("stderr holds %q: %q", bad, p.Stderr())
		}
	}
}

// check is one condition of want.
func (r *retold) check(name string, want any) {
	t := r.t
	last := r.results[len(r.results)-1]
	var all []string
	for _, res := range r.results {
		all = append(all, strings.Join(strs(res.Raw), "\n"))
	}
	switch name {
	case "result":
		r.verdicts(want)
	case "each": // said by result: every step has it
	case "reason":
		for _, res := range r.results {
			if res.Reason != want {
				t.Errorf("reason %q, want %q: %s", res.Reason, want, res.Short())
			}
		}
	case "has":
		for _, s := range list(want) {
			for i, res := range r.results {
				if !strings.Contains(res.Text, s) {
					t.Errorf("reply %d lacks %q: %s", i, s, res.Short())
				}
			}
		}
	case "lacks":
		for _, s := range list(want) {
			for i := range all {
				if strings.Contains(all[i], s) && !r.sent(i, s) {
					t.Errorf("reply %d holds %q: %s", i, s, r.results[i].Short())
				}
			}
		}
	case "starts", "ends", "equals":
		ok := map[string]func(string, string) bool{"starts": strings.HasPrefix, "ends": strings.HasSuffix, "equals": func(a, b string) bool { return a == b }}[name]
		if !ok(last.Text, fmt.Sprint(want)) {
			t.Errorf("the text %s %q is not so: %s", name, want, last.Short())
		}
	case "counts":
		for i, n := range want.([]any) {
			if got := len(strings.Split(strings.TrimSpace(r.results[i].Text), "\n")); int64(got) != asInt(n) {
				t.Errorf("reply %d has %d lines, want %v: %s", i, got, n, r.results[i].Short())
			}
		}
	case "max_bytes":
		if int64(len(last.Raw)) > asInt(want) {
			t.Errorf("the reply has %d bytes, at most %v", len(last.Raw), want)
		}
	case "within_ms": // the call had no longer
	case "file":
		for p, w := range want.(map[string]any) {
			text := fmt.Sprint(w)
			if other, ok := strings.CutPrefix(text, "same bytes as "); ok {
				b, err := os.ReadFile(r.fill("{root}/" + other))
				if err != nil || len(b) == 0 {
					t.Fatalf("%s: %d bytes, %v", other, len(b), err)
				}
				text = string(b)
			}
			if got, err := os.ReadFile(p); err != nil || string(got) != text {
				t.Errorf("%s holds %.80q (%v), want %.80q", p, got, err, text)
			}
		}
	case "cut":
		var truncated bool
		var next json.RawMessage
		last.Get("truncated", &truncated)
		if !truncated || !last.Get("next", &next) {
			t.Errorf("the reply does not say that it is cut and how to go on: truncated %v, next %s", truncated, next)
		}
		final := last.Blocks[len(last.Blocks)-1].Text
		if lines := strings.Split(strings.TrimSpace(final), "\n"); !strings.Contains(strings.ToLower(lines[len(lines)-1]), "cut") && !strings.Contains(strings.ToLower(lines[len(lines)-1]), "truncated") {
			t.Errorf("the last line does not say that the text is cut: %q", lines[len(lines)-1])
		}
	case "unchanged":
		if d := r.before.diff(take(r.dir, nil, r.directories())); len(d) > 0 {
			t.Errorf("changed:\n\t%s", strings.Join(d, "\n\t"))
		}
	case "exists":
		for _, p := range list(want) {
			if _, err := os.Lstat(p); err != nil {
				t.Error(err)
			}
		}
	case "absent":
		for _, p := range list(want) {
			if _, err := os.Lstat(p); err == nil {
				t.Errorf("%s is there", p)
			}
		}
	case "is_link":
		for _, p := range list(want) {
			if st, err := os.Lstat(p); err != nil || st.Mode()&os.ModeSymlink == 0 {
				t.Errorf("%s is no link (%v)", p, err)
			}
		}
	case "mode":
		for p, m := range want.(map[string]any) {
			st, err := os.Stat(p)
			if err != nil || fmt.Sprintf("%04o", st.Mode().Perm()) != m {
				t.Errorf("%s has mode %v (%v), want %v", p, st.Mode(), err, m)
			}
		}
	case "root_reason":
		r.rootDropped(fmt.Sprint(want))
	case "rule_named":
		for _, res := range r.results {
			if res.Reason != "rule_denied" || !strings.Contains(res.Text, "rule") || !strings.Contains(res.Text, "lift") {
				t.Errorf("the text does not name the rule and how to lift it: %s", res.Short())
			}
		}
	case "blob":
		if len(last.Blocks) != 1 || last.Blocks[0].Resource.Blob != base64.StdEncoding.EncodeToString([]byte("PK\x03\x04")) {
			t.Errorf("no base64 of the bytes: %s", last.Short())
		}
	case "structured":
		r.structured()
	default:
		t.Fatalf("condition %q is unknown", name)
	}
}

// sent reports whether the client itself sent the text in call i.
func (r *retold) sent(i int, s string) bool {
	calls := r.Calls
	if r.Call != nil {
		calls = []toolCall{*r.Call}
	}
	return s != reportCanary && strings.Contains(fmt.Sprint(r.deep(calls[i].Args)), s) && !strings.Contains(s, "node_modules") && s != "skip/"
}

func (r *retold) verdicts(want any) {
	each := list(want)
	for i, res := range r.results {
		verdict := fmt.Sprint(want)
		if len(each) > 0 {
			verdict = each[i]
		}
		if verdict != "either" && res.OK() != (verdict == "allow") {
			r.t.Errorf("step %d: want %s, got %s", i, verdict, res.Short())
		}
	}
}

func (r *retold) rootDropped(reason string) {
	for _, rec := range r.p.recorded() {
		for _, root := range rec.Roots {
			if root.Reason == reason {
				return
			}
		}
	}
	r.t.Errorf("no record drops a root as %s: %+v", reason, r.p.records())
}

// structured: each result fits the output schema its tool declares.
func (r *retold) structured() {
	t := r.t
	ctx, cancel := context.WithTimeout(context.Background(), handshake)
	defer cancel()
	raw, err := r.p.Request(ctx, "tools/list", nil)
	if err != nil {
		t.Fatal(err)
	}
	var tools struct {
		Tools []struct {
			Name         string             `json:"name"`
			OutputSchema *jsonschema.Schema `json:"outputSchema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(raw, &tools); err != nil {
		t.Fatal(err)
	}
	for i, call := range r.Calls {
		for _, tool := range tools.Tools {
			if tool.Name != call.Tool {
				continue
			}
			if tool.OutputSchema == nil {
				t.Errorf("%s declares no output schema", tool.Name)
				continue
			}
			schema, err := tool.OutputSchema.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal(r.results[i].Structured, &v); err != nil {
				t.Errorf("%s: %v", tool.Name, err)
			} else if err := schema.Validate(v); err != nil {
				t.Errorf("%s: %v", tool.Name, err)
			}
		}
	}
}
