package mcpfs_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// refusalCase provokes one refusal through a tool.
type refusalCase struct {
	name   string
	reason rootbound.Reason
	opt    func(*testing.T, *serve.Options) // default: one project "p" with every right
	client clientOptions
	setup  func(*live)
	tool   string
	args   args
	raw    bool // args hold a host path the caller knows: {p} is replaced by the project's directory
}

// fullLog refuses every record of a mutation, as a full disk does.
type fullLog struct{ decision.Discard }

func (fullLog) Decided(_ *decision.Record, mutation bool) error {
	if mutation {
		return errors.New("write /var/log/secret-place: no space left on device")
	}
	return nil
}

func rights(r rootbound.Rights) func(*testing.T, *serve.Options) {
	return func(_ *testing.T, o *serve.Options) { o.Projects[0].Rights = r }
}

func two(t *testing.T, o *serve.Options) {
	o.Projects = append(o.Projects, project(t, "q", rootbound.Full))
}

func none(_ *testing.T, o *serve.Options) { o.Projects, o.Mode = nil, "client" }

const legacy = "2025-06-18"

func refusalCases() []refusalCase {
	x := func(l *live) { l.file("a.txt", "x\ny\nx\n") }
	edits := func(old string) []args { return []args{{"oldText": old, "newText": "z"}} }
	return []refusalCase{
		{name: "argument missing", reason: "argument_invalid", tool: "read_text_file"},
		{name: "argument of another type", reason: "argument_invalid", tool: "write_file", args: args{"path": "a", "content": 1}},
		{name: "argument out of range", reason: "argument_invalid", tool: "read_text_file", args: args{"path": "a", "head": -1}},
		{name: "argument with a fraction", reason: "argument_invalid", tool: "read_text_file", args: args{"path": "a", "tail": 1.5}},
		{name: "arguments that exclude each other", reason: "argument_invalid", tool: "read_text_file", args: args{"path": "a", "tail": 1, "head": 1}},
		{name: "argument not in the list", reason: "argument_invalid", tool: "list_directory_with_sizes", args: args{"path": ".", "sortBy": "date"}},
		{name: "argument under another name", reason: "argument_invalid", tool: "copy_file", args: args{"source": "a", "target": "b"}},
		{name: "list whose JSON is broken", reason: "argument_invalid", tool: "edit_file", args: args{"path": "a", "edits": `[{"oldText": "a", }]`}},
		{name: "field under another name", reason: "argument_invalid", tool: "edit_file", args: args{"path": "a", "edits": []args{{"oldText": "a", "new_text": "b"}}}},
		{name: "no paths", reason: "argument_invalid", tool: "read_multiple_files", args: args{"paths": []string{}}},
		{name: "cursor", reason: "argument_invalid", tool: "list_directory", args: args{"path": ".", "cursor": "!"}},
		{name: "cursor by size", reason: "argument_invalid", tool: "list_directory_with_sizes", args: args{"path": ".", "sortBy": "size", "cursor": "eHg"}},
		{name: "pattern", reason: "argument_invalid", tool: "search_files", args: args{"path": ".", "pattern": "@(a|b)"}},
		{name: "regular expression", reason: "argument_invalid", tool: "search_content", args: args{"path": ".", "pattern": "a(b"}},
		{name: "regular expression of another kind", reason: "argument_invalid", tool: "search_content", args: args{"path": ".", "pattern": "(?<=a)b"}},
		{name: "regular expression that explodes", reason: "argument_invalid", tool: "search_content", args: args{"path": ".", "pattern": "((a{0,900}){0,900}){0,900}"}},
		{name: "regular expression over lines", reason: "argument_invalid", tool: "search_content", args: args{"path": ".", "pattern": "a\nb"}},
		{name: "glob of a content search", reason: "argument_invalid", tool: "search_content", args: args{"path": ".", "pattern": "a", "include": []string{"*.go", "@(a|b)"}}},
		{name: "cursor of a content search", reason: "argument_invalid", tool: "search_content", args: args{"path": ".", "pattern": "a", "cursor": "eHg"}},
		{name: "context too wide", reason: "argument_invalid", tool: "search_content", args: args{"path": ".", "pattern": "a", "context": 101}},
		{name: "content search outside", reason: "outside_root", tool: "search_content", args: args{"path": "../x", "pattern": "a"}},
		{name: "content search of a pipe", reason: "special_file", setup: func(l *live) { mkfifo(l.t, l.path("f")) }, tool: "search_content", args: args{"path": "f", "pattern": "a"}},
		{name: "content search without reading", reason: "right_missing", opt: rights(rootbound.List | rootbound.Search), tool: "search_content", args: args{"path": ".", "pattern": "a"}},
		{name: "content search of what a rule denies", reason: "rule_denied", setup: func(l *live) { l.file(".env", "a") }, tool: "search_content", args: args{"path": ".env", "pattern": "a"}},
		{name: "empty oldText", reason: "argument_invalid", setup: x, tool: "edit_file", args: args{"path": "a.txt", "edits": edits("")}},
		{name: "nothing granted", reason: "no_scope", opt: none, tool: "read_text_file", args: args{"path": "a"}},
		{name: "nothing granted, allowed directories", reason: "no_scope", opt: none, tool: "list_allowed_directories"},
		{name: "roots required and not declared", reason: "no_scope", opt: func(_ *testing.T, o *serve.Options) { o.Mode = "require" }, client: clientOptions{revision: legacy}, tool: "read_text_file", args: args{"path": "a"}},
		{name: "roots elsewhere", reason: "no_overlap", client: clientOptions{roots: []string{"file:///usr"}, revision: legacy}, tool: "read_text_file", args: args{"path": "a"}},
		{name: "roots empty", reason: "roots_empty", client: clientOptions{roots: []string{}, revision: legacy}, tool: "read_media_file", args: args{"path": "a"}},
		{name: "roots of another kind", reason: "no_overlap", client: clientOptions{roots: []string{"https://example.com/p"}, revision: legacy}, tool: "read_text_file", args: args{"path": "a"}},
		{name: "roots malformed", reason: "roots_malformed", client: clientOptions{roots: []string{"file:///" + strings.Repeat("x", 5000)}, revision: legacy}, tool: "read_text_file", args: args{"path": "a"}},
		{name: "roots required and empty", reason: "roots_empty", opt: func(_ *testing.T, o *serve.Options) { o.Mode = "require" }, client: clientOptions{roots: []string{}, revision: legacy}, tool: "read_text_file", args: args{"path": "a"}},
		{name: "roots empty, nothing configured", reason: "roots_empty", opt: none, client: clientOptions{roots: []string{}, revision: legacy}, tool: "read_text_file", args: args{"path": "a"}},
		{name: "roots malformed, nothing configured", reason: "roots_malformed", opt: none, client: clientOptions{roots: []string{"file:///" + strings.Repeat("x", 5000)}, revision: legacy}, tool: "read_text_file", args: args{"path": "a"}},
		{name: "no folder of the configuration is there", reason: "no_scope", opt: func(t *testing.T, o *serve.Options) { o.Projects[0].Dir += "-missing" }, tool: "read_text_file", args: args{"path": "a"}},
		{name: "outside by dots", reason: "outside_root", tool: "read_text_file", args: args{"path": "../x"}},
		{name: "outside, absolute", reason: "outside_root", tool: "read_text_file", args: args{"path": "/etc/passwd"}},
		{name: "outside, nothing there", reason: "outside_root", tool: "read_text_file", args: args{"path": "/nothing/here"}},
		{name: "absolute, with another root", reason: "outside_root", opt: two, tool: "read_text_file", args: args{"path": "{p}/a.txt", "root": "q"}, raw: true},
		{name: "backslash between names", reason: "not_found", setup: func(l *live) { l.file("src/a.txt", "") }, tool: "read_text_file", args: args{"path": `src\a.txt`}},
		{name: "outside by a link", reason: "outside_root", setup: func(l *live) { l.link("l", "/etc/passwd") }, tool: "read_text_file", args: args{"path": "l"}},
		{name: "outside by a link to nothing", reason: "outside_root", setup: func(l *live) { l.link("l", "/nothing/here") }, tool: "read_text_file", args: args{"path": "l"}},
		{name: "outside, write through a link", reason: "outside_root", setup: func(l *live) { l.link("l", "/tmp") }, tool: "write_file", args: args{"path": "l/x", "content": ""}},
		{name: "outside, destination", reason: "outside_root", setup: x, tool: "move_file", args: args{"source": "a.txt", "destination": "/tmp/a.txt"}},
		{name: "long path", reason: "path_invalid", tool: "read_text_file", args: args{"path": strings.Repeat("x", 300)}},
		{name: "long path shown", reason: "outside_root", tool: "read_text_file", args: args{"path": "/" + strings.Repeat("x/", 300)}},
		{name: "hidden characters", reason: "not_found", tool: "read_text_file", args: args{"path": "a\n\u202eb"}},
		{name: "NUL", reason: "path_invalid", tool: "read_text_file", args: args{"path": "a\x00b"}},
		{name: "tilde", reason: "path_invalid", tool: "read_text_file", args: args{"path": "~/x"}},
		{name: "URI", reason: "path_invalid", tool: "read_text_file", args: args{"path": "file:///x"}},
		{name: "trailing slash", reason: "path_invalid", setup: x, tool: "read_text_file", args: args{"path": "a.txt/"}},
		{name: "drive", reason: "path_invalid", tool: "write_file", args: args{"path": `C:\x`, "content": ""}},
		{name: "root as a target", reason: "path_invalid", tool: "write_file", args: args{"path": ".", "content": ""}},
		{name: "ambiguous", reason: "path_ambiguous", opt: two, tool: "list_directory", args: args{"path": "."}},
		{name: "encoded", reason: "path_encoded_traversal", tool: "read_text_file", args: args{"path": "%2e%2e/x"}},
		{name: "loop of links", reason: "path_unresolvable", setup: func(l *live) { l.link("l", "l") }, tool: "read_text_file", args: args{"path": "l"}},
		{name: "root required", reason: "root_required", opt: two, tool: "write_file", args: args{"path": "a", "content": ""}},
		{name: "root unknown", reason: "project_unknown", tool: "read_text_file", args: args{"path": "a", "root": "other"}},
		{name: "project inside", reason: "project_inside", opt: func(t *testing.T, o *serve.Options) {
			inner := filepath.Join(o.Projects[0].Dir, "outer", "inner")
			if err := os.MkdirAll(inner, 0o755); err != nil {
				t.Fatal(err)
			}
			o.Projects = append(o.Projects, rootbound.Project{ID: "inner", Dir: inner, Rights: rootbound.Full})
		}, tool: "move_file", args: args{"source": "{p}/outer", "destination": "{p}/other"}, raw: true},
		{name: "not found", reason: "not_found", tool: "read_text_file", args: args{"path": "none.txt"}},
		{name: "not found by its absolute path", reason: "not_found", tool: "get_file_info", args: args{"path": "{p}/none.txt"}, raw: true},
		{name: "nothing to edit", reason: "not_found", tool: "edit_file", args: args{"path": "none.txt", "edits": edits("a")}},
		{name: "parent missing", reason: "parent_missing", tool: "write_file", args: args{"path": "x/y/z.txt", "content": ""}},
		{name: "pipe", reason: "special_file", setup: func(l *live) { mkfifo(l.t, l.path("f")) }, tool: "read_text_file", args: args{"path": "f"}},
		{name: "move to another project", reason: "cross_root_move", opt: func(t *testing.T, o *serve.Options) {
			q := filepath.Join(filepath.Dir(o.Projects[0].Dir), "q")
			if err := os.MkdirAll(q, 0o755); err != nil {
				t.Fatal(err)
			}
			o.Projects = append(o.Projects, rootbound.Project{ID: "q", Dir: q, Rights: rootbound.Full})
		}, setup: x, tool: "move_file", args: args{"source": "{p}/a.txt", "destination": "{p}/../q/a.txt"}, raw: true},
		{name: "version", reason: "version_conflict", setup: x, tool: "write_file", args: args{"path": "a.txt", "content": "", "expected_version": "1"}},
		{name: "version of nothing", reason: "version_conflict", tool: "write_file", args: args{"path": "a.txt", "content": "", "expected_version": "1"}},
		{name: "version of a part", reason: "version_partial", setup: x, tool: "write_file", args: args{"path": "a.txt", "content": "", "expected_version": "1~part"}},
		{name: "audit log full", reason: "audit_unavailable", opt: func(_ *testing.T, o *serve.Options) { o.Sink = fullLog{} }, tool: "write_file", args: args{"path": "a.txt", "content": ""}},
		{name: "no right to write", reason: "right_missing", opt: rights(rootbound.ReadOnly), tool: "write_file", args: args{"path": "a.txt", "content": ""}},
		{name: "no right to list", reason: "right_missing", opt: rights(rootbound.Read), tool: "list_directory", args: args{"path": "."}},
		{name: "credentials", reason: "rule_denied", tool: "read_text_file", args: args{"path": ".ssh/id_rsa"}},
		{name: "execution", reason: "rule_denied", setup: func(l *live) { l.file(".git/config", "") }, tool: "write_file", args: args{"path": ".git/config", "content": ""}},
		{name: "deny rule", reason: "rule_denied", opt: func(_ *testing.T, o *serve.Options) { o.Projects[0].Deny = []string{"**/*.key"} }, tool: "read_text_file", args: args{"path": "a.key"}},
		{name: "copy into itself", reason: "path_invalid", setup: func(l *live) { l.mkdir("d") }, tool: "copy_file", args: args{"source": "d", "destination": "d/c"}},
		{name: "move into itself", reason: "path_invalid", setup: func(l *live) { l.mkdir("d") }, tool: "move_file", args: args{"source": "d", "destination": "d/c"}},
		{name: "copy onto itself", reason: "path_invalid", setup: x, tool: "copy_file", args: args{"source": "a.txt", "destination": "a.txt", "overwrite": true}},
		{name: "exists", reason: "exists", setup: func(l *live) { x(l); l.file("b.txt", "") }, tool: "move_file", args: args{"source": "a.txt", "destination": "b.txt"}},
		{name: "exists and was to be absent", reason: "exists", setup: x, tool: "write_file", args: args{"path": "a.txt", "content": "", "expected_version": "absent"}},
		{name: "no match", reason: "edit_no_match", setup: x, tool: "edit_file", args: args{"path": "a.txt", "edits": edits("yy")}},
		{name: "two matches", reason: "edit_ambiguous", setup: x, tool: "edit_file", args: args{"path": "a.txt", "edits": edits("x")}},
		{name: "binary", reason: "not_text", setup: func(l *live) { l.file("b", "a\x00b") }, tool: "read_text_file", args: args{"path": "b"}},
		{name: "UTF-16", reason: "not_text", setup: func(l *live) { l.file("b", "\xff\xfea\x00") }, tool: "read_text_file", args: args{"path": "b"}},
		{name: "Latin-1", reason: "not_text", setup: func(l *live) { l.file("b", "caf\xe9\n") }, tool: "read_text_file", args: args{"path": "b"}},
		{name: "media too large", reason: "too_large", opt: func(_ *testing.T, o *serve.Options) { o.Limits = mcpfs.Limits{Media: 10} }, setup: func(l *live) { l.file("m.png", strings.Repeat("x", 11)) }, tool: "read_media_file", args: args{"path": "m.png"}},
		{name: "max_read", reason: "too_large", opt: func(_ *testing.T, o *serve.Options) { o.Projects[0].MaxRead = 3 }, setup: x, tool: "read_text_file", args: args{"path": "a.txt"}},
		{name: "max_write of an append", reason: "too_large", opt: func(_ *testing.T, o *serve.Options) { o.Projects[0].MaxWrite = 3 }, tool: "append_file", args: args{"path": "a.txt", "content": "1234"}},
		{name: "max_write of a copy", reason: "too_large", opt: func(_ *testing.T, o *serve.Options) { o.Projects[0].MaxWrite = 3 }, setup: x, tool: "copy_file", args: args{"source": "a.txt", "destination": "b.txt"}},
		{name: "max_write", reason: "too_large", opt: func(_ *testing.T, o *serve.Options) { o.Projects[0].MaxWrite = 3 }, tool: "write_file", args: args{"path": "a.txt", "content": "1234"}},
		{name: "edit too large", reason: "too_large", opt: func(_ *testing.T, o *serve.Options) { o.Limits = mcpfs.Limits{Edit: 3} }, setup: x, tool: "edit_file", args: args{"path": "a.txt", "edits": edits("y")}},
		{name: "list of a file", reason: "not_a_directory", setup: x, tool: "list_directory", args: args{"path": "a.txt"}},
		{name: "below a file", reason: "not_a_directory", setup: x, tool: "read_text_file", args: args{"path": "a.txt/b"}},
		{name: "search in a file", reason: "not_a_directory", setup: x, tool: "search_files", args: args{"path": "a.txt", "pattern": "*"}},
		{name: "directory where a file is", reason: "exists", setup: x, tool: "create_directory", args: args{"path": "a.txt"}},
		{name: "read of a directory", reason: "is_a_directory", setup: func(l *live) { l.mkdir("d") }, tool: "read_text_file", args: args{"path": "d"}},
		{name: "write of a directory", reason: "is_a_directory", setup: func(l *live) { l.mkdir("d") }, tool: "write_file", args: args{"path": "d", "content": ""}},
		{name: "root replaced", reason: "root_replaced", setup: func(l *live) {
			if err := os.Rename(l.dir, l.dir+".old"); err != nil {
				l.t.Fatal(err)
			}
			l.t.Cleanup(func() { os.RemoveAll(l.dir + ".old") })
			l.mkdir(".")
		}, tool: "write_file", args: args{"path": "a.txt", "content": ""}},
		{name: "writes are proposed", reason: "right_missing", opt: func(_ *testing.T, o *serve.Options) { o.Projects[0].ProposeWrites = true }, tool: "write_file", args: args{"path": "a.txt", "content": ""}},
		{name: "directories are proposed with their files", reason: "right_missing", opt: func(_ *testing.T, o *serve.Options) { o.Projects[0].ProposeWrites = true }, tool: "create_directory", args: args{"path": "d"}},
		{name: "no right to propose", reason: "right_missing", opt: rights(rootbound.ReadOnly), tool: "propose_patch", args: args{"root": "p", "diff": diffOf("a.txt", "x", "z")}},
		{name: "no diff", reason: "argument_invalid", tool: "propose_patch", args: args{"root": "p", "diff": "please\n"}},
		{name: "a diff whose counts lie", reason: "argument_invalid", tool: "propose_patch", args: args{"root": "p", "diff": diffOf("a.txt", "x", "z") + "+more\n"}},
		{name: "a diff that climbs", reason: "outside_root", tool: "propose_patch", args: args{"root": "p", "diff": diffOf("../a.txt", "x", "z")}},
		{name: "a diff of a binary file", reason: "not_text", tool: "propose_patch", args: args{"root": "p", "diff": "diff --git a/b b/b\nBinary files a/b and b/b differ\n"}},
		{name: "a diff that makes a link", reason: "special_file", tool: "propose_patch", args: args{"root": "p", "diff": "diff --git a/l b/l\nnew file mode 120000\n"}},
		{name: "a diff that does not fit", reason: "edit_no_match", setup: x, tool: "propose_patch", args: args{"root": "p", "diff": diffOf("a.txt", "q", "z")}},
		{name: "a diff of nothing", reason: "not_found", tool: "propose_patch", args: args{"root": "p", "diff": diffOf("none.txt", "x", "z")}},
		{name: "a plan by a rule", reason: "rule_denied", tool: "propose_patch", args: args{"root": "p", "edits": []args{{"path": ".envrc", "oldText": "", "newText": "x"}}}},
		{name: "edits and a diff", reason: "argument_invalid", tool: "propose_patch", args: args{"root": "p", "diff": "x", "edits": []args{{"path": "a", "oldText": "", "newText": "x"}}}},
		{name: "no such plan", reason: "argument_invalid", tool: "apply_patch", args: args{"root": "p", "plan": "nosuchplan"}},
		{name: "a forged token", reason: "argument_invalid", tool: "apply_patch", args: args{"root": "p", "plan": "rb1.AAAA"}},
	}
}

// diffOf changes the one line of a file.
func diffOf(path, old, new string) string {
	return "--- a/" + path + "\n+++ b/" + path + "\n@@ -1 +1 @@\n-" + old + "\n+" + new + "\n"
}

// Reasons that stand in records of dropped roots, or come of timing, faults and people; their texts are the registry's,
// in docs/reasons.md, and the rooms that raise them have their tests.
var otherwise = []rootbound.Reason{
	rootbound.RootsUnsupported, rootbound.RootNotFile, rootbound.RootRemote, rootbound.RootURIInvalid, rootbound.RootUnusable, rootbound.RootTooWide,
	rootbound.AuthorityUnavailable, rootbound.GenerationStale, rootbound.RevokedByUser, rootbound.CrossDevice, rootbound.MovedOut,
	rootbound.LimitReached, rootbound.Cancelled, rootbound.IOError, rootbound.InternalError, rootbound.ProjectRetired,
}

var updateLive = flag.Bool("update-refusals", false, "write testdata/refusals.golden anew")

// Every refusal text, provoked through the tools and read as a set: each says what was sent and why, names one way out,
// holds no path of the host, fits the tool's declared output, and is bounded.
func TestRefusals(t *testing.T) {
	var golden strings.Builder
	covered := map[rootbound.Reason]bool{}
	ways := regexp.MustCompile(`[.)] [A-Z]`)
	for _, c := range refusalCases() {
		t.Run(c.name, func(t *testing.T) {
			o := serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.Full)}}
			if c.opt != nil {
				c.opt(t, &o)
			}
			l := start(t, o, c.client)
			if c.setup != nil {
				c.setup(l)
			}
			sent := args{}
			for k, v := range c.args {
				if s, ok := v.(string); ok && c.raw {
					v = strings.ReplaceAll(s, "{p}/../q", filepath.Join(filepath.Dir(l.dir), "q"))
					v = strings.ReplaceAll(v.(string), "{p}", l.dir)
				}
				sent[k] = v
			}
			res := l.call(c.tool, sent)
			text, e := textOf(res), map[string]any{}
			if s, ok := res.StructuredContent.(map[string]any); ok {
				e, _ = s["error"].(map[string]any)
			}
			if !res.IsError || e["reason"] != string(c.reason) {
				t.Fatalf("isError %v, reason %v, want %s: %s", res.IsError, e["reason"], c.reason, text)
			}
			covered[c.reason] = true
			validate(t, c.tool, res.StructuredContent)
			shown := text
			if l.dir != "" {
				shown = strings.ReplaceAll(shown, l.dir, "{p}")
				shown = strings.ReplaceAll(shown, filepath.Dir(l.dir), "{w}")
			}
			if !c.raw && (strings.Contains(shown, "{p}") || strings.Contains(shown, "{w}")) {
				t.Errorf("a path of the host: %s", text)
			}
			for _, secret := range []string{"secret-place", "no space left", os.TempDir()} {
				if strings.Contains(strings.ReplaceAll(text, fmt.Sprint(sent["destination"]), ""), secret) && !c.raw {
					t.Errorf("tells %q: %s", secret, text)
				}
			}
			if len(text) > 1200 {
				t.Errorf("%d bytes", len(text))
			}
			if n := len(ways.FindAllString(text, -1)); n != 1 {
				t.Errorf("%d ways out in: %s", n, text)
			}
			if strings.ContainsAny(text, "\n\t") {
				t.Errorf("more than one line: %q", text)
			}
			fmt.Fprintf(&golden, "%s: %s\n\t%s\n", c.name, c.tool, shown)
		})
	}
	for _, r := range rootbound.Reasons() {
		if !covered[r] && !slices.Contains(otherwise, r) {
			t.Errorf("no case provokes %s", r)
		}
		if covered[r] && slices.Contains(otherwise, r) {
			t.Errorf("%s has a case now: take it off the list", r)
		}
	}
	const file = "testdata/refusals.golden"
	if *updateLive {
		if err := os.WriteFile(file, []byte(golden.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(golden.String(), "\n")); d != "" {
		t.Errorf("the texts changed (go test ./mcpfs -run TestRefusals -update-refusals):\n%s", d)
	}
}
