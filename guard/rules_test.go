//go:build unix

package guard_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
)

func (h *house) missing(path string) bool {
	_, err := os.Lstat(filepath.Join(h.dir, path))
	return err != nil
}

func (h *house) append(path, text string) error {
	h.t.Helper()
	return h.do(guard.Request{Op: rootbound.OpWrite, Path: path}, func(ctx context.Context, t *guard.Target) error {
		_, err := fileop.Append(ctx, t, []byte(text), fileop.Expected{}, 0)
		return err
	})
}

func TestG29RulesHoldThroughLinksMovesCopiesAndCase(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.Full))
	h.file("p/.env", "SECRET")
	h.file("p/.ssh/id", "SECRET")
	h.file("p/repo/.git/config", "[core]")
	h.file("p/repo/.git/HEAD", "ref")
	h.file("p/tree/.git/hooks/x", "#!")
	h.file("p/plain/a", "a")
	h.file("p/ready/hooks/pre-commit", "#!")
	h.link("p/readme", ".env")
	h.link("p/keys", ".ssh")
	h.link("p/conf", "repo/.git/config")
	mkfifo(t, filepath.Join(h.dir, "p/.ssh/fifo"))
	for _, p := range []string{".env", "readme", "keys/id", "keys/none", "keys/id/x", "keys/none/x/y", ".ENV", ".env.none", "x/../.env", h.dir + "/p/.env", "keys", "keys/fifo", "readme/x"} {
		_, err := h.read(p)
		refused(t, "read "+p, err, rootbound.RuleDenied)
	}
	for _, p := range []string{"repo/.git/config", "conf", "repo/.GIT/config", "repo/.git/hooks/new", ".vscode/tasks.json", "sub.git/../repo/.git/config", ".mcp.json", ".git", "a/.claude/settings.json", "keys/new", "keys", "keys/none/new"} {
		err := h.write("", p, "X")
		if got := reason(err); got != rootbound.RuleDenied {
			t.Errorf("write %s: %q (%v)", p, got, err)
		}
	}
	if got, err := h.read("repo/.git/config"); err != nil || got != "[core]" {
		t.Errorf("the preset execution forbids reading: %q, %v", got, err)
	}
	for _, p := range []string{".env", "readme/x", "keys/id", ".ENV", "none/.env", "keys/none", h.dir + "/p/.env"} {
		_, err := h.copy(guard.Request{Path: p, Dest: "copied"})
		refused(t, "copy "+p, err, rootbound.RuleDenied)
		_, err = h.delete(guard.Request{Path: p})
		refused(t, "delete "+p, err, rootbound.RuleDenied)
	}
	for _, p := range []string{"readme", "keys"} { // the link is not what it leads to
		_, err := h.copy(guard.Request{Path: p, Dest: "copied"})
		refused(t, "copy "+p, err, rootbound.RuleDenied)
	}
	for _, p := range []string{"repo/.git/config", "repo/.GIT/config", "repo/.git/hooks/new", ".mcp.json"} {
		refused(t, "append "+p, h.append(p, "X"), rootbound.RuleDenied)
		_, err := h.delete(guard.Request{Path: p, Recursive: true})
		refused(t, "delete "+p, err, rootbound.RuleDenied)
		for _, op := range []rootbound.Operation{rootbound.OpWrite, rootbound.OpCopy, rootbound.OpMove} {
			_, err := h.with(op, p, nil)
			refused(t, string(op)+" with parents "+p, err, rootbound.RuleDenied)
		}
	}
	for _, p := range []string{"repo", "tree", "tree/.git", "repo/.git"} {
		_, err := h.delete(guard.Request{Path: p, Recursive: true})
		refused(t, "delete "+p, err, rootbound.RuleDenied)
	}
	for _, c := range [][2]string{
		{"repo", "repo2"}, {"tree", "tree2"}, {"ready", "plain/.git"}, {"ready/hooks", "repo/.git/hooks"}, {"plain/a", "repo/.git/config"}, {"plain/a", ".env.local"},
		{"plain/a", ".git"}, {"plain", ".vscode"}, {"plain/a", "repo/.GIT/hooks"}, {"plain", ".aws"}, {"plain", "x/.CLAUDE"}, {"ready", ".git"}, {"repo/.git", "x/.git"},
	} {
		_, err := h.copy(guard.Request{Path: c[0], Dest: c[1], Parents: true})
		refused(t, "copy "+c[0]+" → "+c[1], err, rootbound.RuleDenied)
	}
	h.gone("p/x")
	h.gone("p/copied")
	for _, c := range [][2]string{
		{"repo/.git", "repo/git"}, {"repo", "repo2"}, {"tree", "tree2"}, {"ready", "plain/.git"}, {"ready/hooks", "repo/.git/hooks"},
		{"plain/a", "repo/.git/config"}, {"plain/a", ".env.local"}, {".env", "plain/env"}, {"plain/a", ".git"}, {"plain", ".vscode"}, {"plain/a", "repo/.GIT/hooks"},
	} {
		refused(t, c[0]+" → "+c[1], h.move(guard.Request{Path: c[0], Dest: c[1]}), rootbound.RuleDenied)
	}
	if err := h.move(guard.Request{Path: "plain", Dest: "fair"}); err != nil {
		t.Errorf("an innocent tree does not move: %v", err)
	}
	var seen []string
	err := h.do(guard.Request{Op: rootbound.OpTree, Path: "."}, func(ctx context.Context, t *guard.Target) error {
		return t.Walk(ctx, func(n *beneath.Node) (beneath.Step, error) {
			seen = append(seen, n.At().Path)
			return beneath.Into, nil
		}, nil)
	})
	for _, s := range seen {
		if strings.Contains(s, ".env") || strings.Contains(s, ".ssh") {
			t.Errorf("the tree shows %s", s)
		}
	}
	if err != nil || len(seen) == 0 {
		t.Error(err)
	}
	h.has("p/repo/.git/config", "[core]")
	h.has("p/.env", "SECRET")
}

func TestG30OwnFilesAreOutOfReach(t *testing.T) {
	var own []guard.Own
	h := build(t, guard.Options{Own: func() []guard.Own { return own }}, nil, one(rootbound.Full))
	h.file("p/state/locks/x", "L")
	h.file("p/audit.jsonl", "{}")
	h.file("p/f", "f")
	if err := os.Link(filepath.Join(h.dir, "p/audit.jsonl"), filepath.Join(h.dir, "p/other")); err != nil {
		t.Fatal(err)
	}
	h.link("p/way", "state")
	for _, p := range []string{"state", "audit.jsonl"} {
		own = append(own, guard.Own{Path: filepath.Join(h.dir, "p", p), ID: h.id("p/" + p)})
	}
	for _, p := range []string{"audit.jsonl", "state/locks/x", "way/locks/x", "other"} {
		_, err := h.read(p)
		refused(t, "read "+p, err, rootbound.RuleDenied)
		refused(t, "write "+p, h.write("", p, "X"), rootbound.RuleDenied)
	}
	refused(t, "create below", h.write("", "state/new", "X"), rootbound.RuleDenied)
	refused(t, "move", h.move(guard.Request{Path: "state", Dest: "s"}), rootbound.RuleDenied)
	refused(t, "overwrite", h.move(guard.Request{Path: "f", Dest: "audit.jsonl", Overwrite: true}), rootbound.RuleDenied)
	for _, p := range []string{"audit.jsonl", "state/locks/x", "way/locks/x", "other", "state", "state/locks"} {
		refused(t, "append to "+p, h.append(p, "X"), rootbound.RuleDenied)
		_, err := h.copy(guard.Request{Path: p, Dest: "copied"})
		refused(t, "copy "+p, err, rootbound.RuleDenied)
		_, err = h.copy(guard.Request{Path: "f", Dest: p, Overwrite: true})
		refused(t, "copy over "+p, err, rootbound.RuleDenied)
		_, err = h.delete(guard.Request{Path: p, Recursive: true})
		refused(t, "delete "+p, err, rootbound.RuleDenied)
	}
	_, err := h.with(rootbound.OpWrite, "state/new/deep/f", nil)
	refused(t, "parents below", err, rootbound.RuleDenied)
	h.gone("p/state/new")
	must(t, os.Mkdir(filepath.Join(h.dir, "p/holds"), 0o755))
	must(t, os.Link(filepath.Join(h.dir, "p/audit.jsonl"), filepath.Join(h.dir, "p/holds/innocent")))
	h.file("p/holds/a", "a")
	_, err = h.delete(guard.Request{Path: "holds", Recursive: true})
	refused(t, "delete a tree that holds another name", err, rootbound.RuleDenied)
	_, err = h.copy(guard.Request{Path: "holds", Dest: "copied"})
	refused(t, "copy a tree that holds another name", err, rootbound.RuleDenied)
	refused(t, "move a tree that holds another name", h.move(guard.Request{Path: "holds", Dest: "moved"}), rootbound.RuleDenied)
	h.has("p/holds/a", "a")
	must(t, os.RemoveAll(filepath.Join(h.dir, "p/holds")))
	refused(t, "move the directory above", h.move(guard.Request{Path: "state/locks", Dest: "l"}), rootbound.RuleDenied)
	h.has("p/audit.jsonl", "{}")
	var seen []string
	_ = h.do(guard.Request{Op: rootbound.OpTree, Path: "."}, func(ctx context.Context, t *guard.Target) error {
		return t.Walk(ctx, func(n *beneath.Node) (beneath.Step, error) {
			seen = append(seen, n.At().Path)
			return beneath.Into, nil
		}, nil)
	})
	if got := strings.Join(seen, " "); got != "f other way" { // another name of the same file is told only when it is opened
		t.Errorf("the tree shows %q", got)
	}
}

// The directory above our own files is neither copied nor deleted, and none is put in its place.
func TestWaysToOwnFilesStayForCopiesAndDeletions(t *testing.T) {
	var own []guard.Own
	h := build(t, guard.Options{NoSlow: true, Own: func() []guard.Own { return own }}, nil, one(rootbound.Full))
	for _, p := range []string{"p/a/conf/rootbound.yaml", "p/later/rootbound.yaml"} {
		own = append(own, guard.Own{Path: filepath.Join(h.dir, p)})
	}
	h.file("p/a/conf/rootbound.yaml", "ours")
	h.file("p/evil/rootbound.yaml", "theirs")
	h.link("p/a/l", "conf")
	for _, p := range []string{"a", "a/conf", "a/l/rootbound.yaml"} {
		_, err := h.delete(guard.Request{Path: p, Recursive: true})
		refused(t, "delete "+p, err, rootbound.RuleDenied)
		_, err = h.copy(guard.Request{Path: p, Dest: "copied"})
		refused(t, "copy "+p, err, rootbound.RuleDenied)
	}
	_, err := h.copy(guard.Request{Path: "evil", Dest: "later"})
	refused(t, "a copy in the place of what is above", err, rootbound.RuleDenied)
	_, err = h.with(rootbound.OpWrite, "later/rootbound.yaml", nil)
	refused(t, "parents to our own place", err, rootbound.RuleDenied)
	h.gone("p/later")
	h.has("p/a/conf/rootbound.yaml", "ours")
}

// Every way in which a file that other programs obey could come about, change or go away.
func TestExecutionPreset(t *testing.T) {
	lay := func(h *house) {
		h.file("p/repo/.git/config", "[core]")
		h.file("p/repo/.git/hooks/pre-commit", "#!old")
		h.file("p/repo/src/a", "a")
		h.file("p/ready/hooks/pre-commit", "#!new")
		h.file("p/ready/config", "[new]")
		h.file("p/prepared/.git/hooks/pre-commit", "#!new")
		h.file("p/prepared/.vscode/tasks.json", "{}")
		h.file("p/module/.git", "gitdir: ../evil")
		h.file("p/café/.envrc", "x")
		h.file("p/plain/a", "a")
		h.file("p/.mcp.json", "{}")
	}
	h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.Full))
	lay(h)
	must(t, os.Link(filepath.Join(h.dir, "p/repo/.git/hooks/pre-commit"), filepath.Join(h.dir, "p/repo/src/hook")))
	must(t, os.Link(filepath.Join(h.dir, "p/repo/.git/config"), filepath.Join(h.dir, "p/repo/conf")))
	must(t, os.Link(filepath.Join(h.dir, "p/.mcp.json"), filepath.Join(h.dir, "p/plain/m")))
	before := h.everything("p")
	moves := [][2]string{
		{"repo", "renamed"}, {"repo/.git", "renamed"}, {"repo/.git/hooks", "renamed"}, // an ancestor, and the place itself
		{"prepared", "renamed"}, {"prepared/.git", "plain/.git"}, {"ready", "plain/.git"}, {"ready/hooks", "repo/.git/hooks2/../hooks"}, // a prepared tree
		{"ready/config", "repo/.GIT/config"}, {"ready", "plain/.Git"}, {"ready", "plain/.GIT"}, {"ready/hooks", "repo/.gIt/hooks"}, // another case
		{"ready", "plain/.g\u200cit"}, {"ready", "plain/git~1"}, {"ready", "plain/.git."}, {"plain/a", "plain/.\uff45nvrc"}, // what a folding file system takes for it
		{"module", "renamed"}, {"module/.git", "plain/.git"}, {"ready/config", "plain/.git"}, // a .git file
		{"cafe\u0301", "renamed"}, {"café", "renamed"}, // NFD for NFC
	}
	for _, m := range moves {
		want := rootbound.RuleDenied
		if m[0] == "cafe\u0301" && h.missing("p/cafe\u0301") {
			want = rootbound.NotFound // a change names a file as its directory does
		}
		refused(t, "move "+m[0]+" → "+m[1], h.move(guard.Request{Path: m[0], Dest: m[1]}), want)
		if strings.HasPrefix(m[0], "repo/.git") || strings.HasPrefix(m[0], "prepared/.git") && !strings.HasSuffix(m[1], ".git") || strings.Contains(m[0], "hooks/") {
			continue // reading it is allowed, and the copy runs nothing
		}
		_, err := h.copy(guard.Request{Path: m[0], Dest: m[1]})
		refused(t, "copy "+m[0]+" → "+m[1], err, want)
	}
	for _, p := range []string{"repo", "repo/.git", "repo/.git/hooks", "repo/.git/hooks/pre-commit", "prepared", "module", "module/.git", "café", ".mcp.json"} {
		_, err := h.delete(guard.Request{Path: p, Recursive: true})
		refused(t, "delete "+p, err, rootbound.RuleDenied)
	}
	for _, p := range []string{"repo/src/hook", "repo/conf", "plain/m"} { // other names of them
		refused(t, "write "+p, h.write("", p, "X"), rootbound.RuleDenied)
		refused(t, "append "+p, h.append(p, "X"), rootbound.RuleDenied)
		refused(t, "edit "+p, h.do(guard.Request{Op: rootbound.OpEdit, Path: p}, nil), rootbound.RuleDenied)
		_, err := h.copy(guard.Request{Path: "plain/a", Dest: p, Overwrite: true})
		refused(t, "copy over "+p, err, rootbound.RuleDenied)
		refused(t, "move over "+p, h.move(guard.Request{Path: "plain/a", Dest: p, Overwrite: true}), rootbound.RuleDenied)
	}
	if now := h.everything("p"); now != before {
		t.Errorf("%s\nbefore %s", now, before)
	}
	h.has("p/repo/.git/hooks/pre-commit", "#!old")
	h.has("p/repo/.git/config", "[core]")
	must(t, os.Link(filepath.Join(h.dir, "p/plain/a"), filepath.Join(h.dir, "p/plain/b"))) // names that no rule knows
	must(t, h.write("", "plain/b", "X"))
	h.has("p/plain/a", "a")
	if _, err := h.delete(guard.Request{Path: "repo/src/hook"}); err != nil { // a name goes, what it named stays
		t.Error(err)
	}
	h.has("p/repo/.git/hooks/pre-commit", "#!old")
}
