//go:build linux

package cases

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// boundary is one case of sixteen.yaml.
type boundary struct {
	ID         string   `yaml:"id"`
	Want       string   `yaml:"want"`
	Reason     string   `yaml:"reason"`
	RootReason string   `yaml:"root_reason"`
	Roots      []string `yaml:"roots"`
	ThenRoots  []string `yaml:"then_roots"`
	Op         string   `yaml:"op"`
	Path       string   `yaml:"path"`
	To         string   `yaml:"to"`
	What       string   `yaml:"what"`
	Queue      *struct {
		Op   string `yaml:"op"`
		Path string `yaml:"path"`
	} `yaml:"queue"`
}

// TestSixteen runs the deterministic table in both eras: five accepts, eleven denials.
func TestSixteen(t *testing.T) {
	raw, err := os.ReadFile("testdata/sixteen.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []boundary
	if err := yaml.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 16 {
		t.Fatalf("%d cases, want 16", len(list))
	}
	for _, c := range []struct {
		name, version string
		project       bool
	}{{"legacy", rawmcp.Legacy, false}, {"modern", rawmcp.Modern, false}, {"project legacy", rawmcp.Legacy, true}, {"project modern", rawmcp.Modern, true}} {
		version := c.version
		t.Run(c.name, func(t *testing.T) {
			for _, b := range list {
				t.Run(b.ID, func(t *testing.T) {
					t.Parallel()
					if b.Queue != nil && version == rawmcp.Modern {
						skip(t, "sixteen/modern/"+b.ID, "no list changes under way in this era: each call asks for the roots itself")
					}
					runBoundary(t, b, version, c.project)
				})
			}
		})
	}
}

// table is the fixture of the sixteen cases in a world of its own.
type table struct {
	*world
	roots   published
	p       *product
	project bool // the project form of the tools
}

func newTable(t *testing.T, version, name string, project bool) *table {
	form := ""
	if project {
		form = "-project"
	}
	b := &table{world: newWorld(t, base+"/sixteen-"+version[:4]+form, name), project: project}
	for name, text := range map[string]string{
		"ws/app/src/main.txt": "main", "ws/docs/guide.txt": "guide", "out/secret.txt": secretText, "ws/app-secrets/s.txt": secretText,
	} {
		b.put(b.dir+"/"+name, []byte(text))
	}
	for link, to := range map[string]string{"inlink": "src", "outlink": "../../out"} {
		if err := os.Symlink(to, b.dir+"/ws/app/"+link); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// fill replaces the names in braces by the fixture's directories.
func (b *table) fill(s string) string {
	return strings.NewReplacer("{app}", b.dir+"/ws/app", "{docs}", b.dir+"/ws/docs", "{ws}", b.dir+"/ws", "{out}", b.dir+"/out").Replace(s)
}

func (b *table) all(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = b.fill(s)
	}
	return out
}

func (b *table) serve(version string, traced bool) {
	b.t.Helper()
	tools := "--tools=classic"
	if b.project {
		tools = "--tools=project"
	}
	p, err := b.begin(start{
		argv:    []string{tools, "--confine=off", "--no-slow", "--audit", b.state + "/audit.jsonl", b.fill("{app}"), b.fill("{docs}")},
		version: version, roots: b.roots.answer, changes: true, launch: launch{Trace: traced},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if b.p = p; b.project {
		p.project = "app"
	}
}

func (b *table) op(op, path, to string) (string, rawmcp.Args) {
	id := ""
	tool, args := operation{op: map[string]string{"move": "rename"}[op] + strings.TrimPrefix(op, "move"), path: b.inside(path, &id),
		args: map[string]any{"content": "new", "to": b.inside(to, &id)}}.tool(b.world)
	if id != "" {
		args["root"] = id
	}
	return tool, args
}

// inside fills in a path. In the project form it is relative to the project it lies in, which id then is; what lies in none
// stays as it is.
func (b *table) inside(path string, id *string) string {
	for _, name := range []string{"app", "docs"} {
		if rest, ok := strings.CutPrefix(path, "{"+name+"}"); ok && b.project {
			if *id == "" {
				*id = name
			}
			if *id == name {
				return strings.TrimPrefix(cmp.Or(rest, "."), "/")
			}
		}
	}
	return b.fill(path)
}

func runBoundary(t *testing.T, c boundary, version string, project bool) {
	b := newTable(t, version, c.ID, project)
	if project { // a spelling that leaves is no path there, and a project whose root is gone is unknown
		c.Reason = cmp.Or(map[string]string{"S08": "path_invalid", "S09": "path_invalid", "S13": "path_invalid", "S14": "project_unknown"}[c.ID], c.Reason)
	}
	defer b.close()
	b.roots.set(b.all(c.Roots))
	b.serve(version, c.Queue != nil)
	if c.Queue != nil {
		b.queued(c)
		return
	}
	if c.ThenRoots != nil { // the first list is taken before it changes
		_, args := b.op("read", c.Path, "")
		if r, _, err := b.p.call(5*time.Second, "read_text_file", args); err != nil || !r.OK() {
			t.Fatalf("before the change: %s %v", r.Short(), err)
		}
		b.roots.set(b.all(c.ThenRoots))
		b.p.RootsChanged()
	}
	before := take(b.dir, nil, nil)
	tool, args := b.op(c.Op, c.Path, c.To)
	r, _, err := b.p.call(7*time.Second, tool, args)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(r.Raw), secretText) {
		t.Errorf("the canary came back: %s", r.Short())
	}
	if c.Want == "allow" {
		if !r.OK() {
			t.Fatalf("want success, got %s", r.Short())
		}
		b.done(c, r)
		return
	}
	if r.OK() {
		t.Fatalf("want a refusal, got %s", r.Short())
	}
	if c.Reason != "" && r.Reason != c.Reason {
		t.Errorf("refused as %q, want %q: %s", r.Reason, c.Reason, r.Short())
	}
	if d := before.diff(take(b.dir, nil, nil)); len(d) > 0 {
		t.Errorf("a refused call changed:\n\t%s", strings.Join(d, "\n\t"))
	}
	if c.RootReason != "" {
		b.dropped(c)
	}
}

// done: an allowed operation had its effect.
func (b *table) done(c boundary, r *rawmcp.Result) {
	holds := func(path, text string) {
		b.t.Helper()
		if got, err := os.ReadFile(b.fill(path)); err != nil || string(got) != text {
			b.t.Errorf("%s holds %q (%v), want %q", path, got, err, text)
		}
	}
	switch c.Op {
	case "list":
		if !strings.Contains(r.Text, "src") {
			b.t.Errorf("the list lacks src: %q", r.Text)
		}
	case "read":
		if r.Text != "main" {
			b.t.Errorf("read %q", r.Text)
		}
	case "create":
		holds(c.Path, "new")
	case "move":
		holds(c.To, "main")
		if _, err := os.Lstat(b.fill(c.Path)); err == nil {
			b.t.Error("the source is still there")
		}
	}
}

// dropped: the record names the root and why it grants nothing.
func (b *table) dropped(c boundary) {
	for _, rec := range b.p.recorded() {
		for _, root := range rec.Roots {
			if root.Reason == c.RootReason {
				return
			}
		}
	}
	b.t.Errorf("no record drops a root as %s: %+v", c.RootReason, b.p.records())
}

// queued is S15 before plans exist: a second process holds the entry's lock while a create waits for it, the list
// changes, and the lock is let go. The path fits the new list; the decision is of the old generation all the same.
func (b *table) queued(c boundary) {
	t := b.t
	path := b.fill(c.Queue.Path)
	_, guide := b.op("read", "{docs}/guide.txt", "")
	if r, _, err := b.p.call(5*time.Second, "read_text_file", guide); err != nil || !r.OK() {
		t.Fatalf("before the change: %s %v", r.Short(), err)
	}
	release := b.holdEntry()
	b.p.tell(t, "arm 0", true)
	tool, args := b.op(c.Queue.Op, c.Queue.Path, "")
	type outcome struct {
		r   *rawmcp.Result
		err error
	}
	got := make(chan outcome, 1)
	go func() {
		r, _, err := b.p.call(15*time.Second, tool, args)
		got <- outcome{r, err}
	}()
	b.p.untilWaiting(b.world)
	select {
	case o := <-got:
		t.Fatalf("the create did not wait for the lock: %s %v", o.r.Short(), o.err)
	default:
	}
	b.roots.set(b.all(c.ThenRoots))
	b.p.RootsChanged()
	// The change is on the same pipe as the question after it, so the answer says that it was taken.
	if r, _, err := b.p.call(7*time.Second, "read_text_file", guide); err != nil || !r.OK() {
		t.Fatalf("after the change: %s %v", r.Short(), err)
	}
	release()
	o := <-got
	if o.err != nil {
		t.Fatal(o.err)
	}
	if o.r.OK() || o.r.Reason != c.Reason {
		t.Errorf("want %s, got %s", c.Reason, o.r.Short())
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the file was made")
	}
}
