package mcpfs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// No tool of either form, by none of its arguments that name something, reaches what the presets or own files hide: as
// itself, through a link that is followed, in another case, or by another name where that is known. Nothing of it is told, and nothing changes.
func TestNoToolReachesWhatIsHidden(t *testing.T) {
	for _, form := range []mcpfs.Tools{mcpfs.Classic, mcpfs.Project} {
		var own []guard.Own
		l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.Full)}, Tools: form, Own: func() []guard.Own { return own }}, clientOptions{})
		const secret = "SECRET-0123456789"
		for _, f := range []string{".env", ".ssh/id", "state/key"} {
			l.file(f, secret)
		}
		l.file("repo/.git/config", "[core]")
		l.file("f", "f")
		l.link("env", ".env")
		l.link("keys", ".ssh")
		l.link("conf", "repo/.git/config")
		must(t, os.Link(l.path("state/key"), l.path("other"))) // ours by identity
		own = append(own, guard.Own{Path: realpath(t, l.path("state"))}, guard.Own{ID: identity(t, l, "other")})
		hidden := []string{".env", "env", ".ENV", ".ssh/id", "keys/id", ".ssh", "state", "state/key", "other", "none/../.env"}
		obeyed := []string{"repo/.git/config", "conf", "repo/.GIT/config", "repo/.git/hooks/new", ".mcp.json", "new/.claude/settings.json"}
		tools, err := l.session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, l)
		calls := 0
		for _, tool := range tools.Tools {
			schema := tool.InputSchema.(map[string]any)
			props := schema["properties"].(map[string]any)
			required, _ := schema["required"].([]any)
			changes := !tool.Annotations.ReadOnlyHint
			for _, name := range []string{"path", "relative_path", "source", "destination", "relative_destination", "paths", "relative_paths"} {
				if _, has := props[name]; !has {
					continue
				}
				targets := hidden
				if changes && tool.Name != "create_directory" && (tool.Name != "copy_file" || strings.Contains(name, "destination")) {
					targets = append(append([]string{}, hidden...), obeyed...)
				}
				itself := tool.Name == "delete_file" || tool.Name == "move_file" || strings.Contains(name, "destination")
				for _, p := range targets {
					if itself && (p == "env" || p == "conf") { // a link is moved, replaced and deleted as the link
						continue
					}
					if p == "other" && !changes && strings.Contains(tool.Name, "directory") { // a name like others, and no directory
						continue
					}
					if form == mcpfs.Project && strings.Contains(p, "..") { // no such path there
						continue
					}
					a := minimal(tool.Name, required)
					for k := range a {
						if k != name && (k == "source" || k == "relative_path" || k == "path") {
							a[k] = "f"
						}
					}
					a[name] = p
					for _, flag := range []string{"overwrite", "recursive", "create_parents"} {
						if _, has := props[flag]; has {
							a[flag] = true
						}
					}
					if strings.HasSuffix(name, "paths") {
						a[name] = []string{p}
					}
					calls++
					res := l.call(tool.Name, a)
					text := textOf(res)
					if !strings.Contains(text, "rule_denied") {
						t.Errorf("%s %s=%q: %s", tool.Name, name, p, text)
					}
					if strings.Contains(text, secret) {
						t.Errorf("%s %s=%q tells what is hidden: %s", tool.Name, name, p, text)
					}
				}
			}
		}
		if now := snapshot(t, l); now != before {
			t.Errorf("%v: %s\nbefore %s", form, now, before)
		}
		if calls < 150 {
			t.Errorf("%v: %d calls only", form, calls)
		}
	}
}

func realpath(t *testing.T, p string) string {
	t.Helper()
	at, err := filepath.EvalSymlinks(p)
	must(t, err)
	return at
}

func identity(t *testing.T, l *live, rel string) beneath.ObjectID {
	t.Helper()
	root, err := beneath.OpenRoot(l.dir)
	must(t, err)
	defer root.Release()
	o, err := beneath.NewSet([]beneath.Member{{Root: root}}, nil).Open(beneath.Ref{Path: rel}, beneath.Handle)
	must(t, err)
	defer o.Close()
	return o.Info().ID
}

// snapshot is every name below the project with what it holds.
func snapshot(t *testing.T, l *live) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(l.dir, func(p string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := ""
		if e.Type().IsRegular() {
			raw, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text = string(raw)
		}
		b.WriteString(p[len(l.dir):] + "=" + text + "\n")
		return nil
	}))
	return b.String()
}
