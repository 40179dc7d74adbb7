package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// example is the file that docs/config.md shows. DIR stands for a directory of the test.
const example = `relative: unique
roots: {mode: narrow, on_empty: deny}
audit: {path: /var/log/me/rootbound.jsonl}
limits: {text: 512 KiB}
projects:
  - id: app
    dir: ~/src/app
    rights: rw
    deny: ["**/fixtures/private/**"]
    presets: {execution: off}
  - id: notes
    dir: ~/notes
    rights: ro
    allow_extensions: [.md, .txt]
    hardlinks: deny
environments:
  ci:
    only: [app]
    projects: [{id: app, rights: ro}]
`

// TestConfigDoc keeps docs/config.md equal to the settings, and its example valid.
func TestConfigDoc(t *testing.T) {
	home := t.TempDir()
	for _, d := range []string{"src/app", "notes"} {
		if err := os.MkdirAll(filepath.Join(home, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(home, "rootbound.yaml")
	if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string {
		if name == "HOME" {
			return home
		}
		return ""
	}
	c, warnings, err := Load(Input{File: file, Getenv: env, Cwd: home})
	if err != nil || len(warnings) > 0 || len(c.Projects) != 2 {
		t.Fatalf("the example of the page: %v %v", err, warnings)
	}

	var b bytes.Buffer
	b.WriteString("# Configuration\n\nGenerated from `internal/config/settings.go` by `make docs`; do not edit.\n\n" +
		"One YAML file, named by `--config FILE` or `ROOTBOUND_CONFIG`. A flag goes before the environment, the environment before the file, the\n" +
		"file before the default. Nothing else is read: no file of the working directory, none of a project. Only a person's commands\n" +
		"(`config`, `use`, `patch apply`, `undo`, `call`) take the file that `rootbound init` writes by itself where neither a file nor a\n" +
		"directory is named, and say so; `serve` is always told.\n" +
		"`rootbound init DIR…` writes one with every setting as a comment; `rootbound config check` names every mistake with its line;\n" +
		"`rootbound config show --origin` says where each value came from. A [JSON Schema](../schema/rootbound.config.v1.json) serves editors\n" +
		"(`rootbound config schema` prints it).\n\n```yaml\n" +
		example + "```\n\n## Settings\n\n| key | flag | environment | default | what it says | [waits](#what-was-accepted) | [counts](#what-a-running-server-takes) |\n|---|---|---|---|---|---|---|\n")
	for _, s := range Settings() {
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s | %s | %s |\n", s.Key, code(s.Flag, "--"), s.Env, code(s.Default, ""), s.Help, waits(s), counts(s))
	}
	b.WriteString(`
## Projects

` + "`projects:`" + ` is a list. A relative ` + "`dir`" + ` starts at the directory of the file. A directory may be named once; two projects may lie in one another, and
then the innermost decides. A directory that does not exist yet is served when it appears.

| key | default | what it says |
|---|---|---|
| ` + "`id`" + ` | from the directory's name | letters, digits, dot, dash and underscore, at most 64 bytes |
| ` + "`dir`" + ` | – | the directory; ` + "`~/`" + ` is the home directory |
| ` + "`rights`" + ` | ` + "`ro`" + ` | ` + "`ro`, `propose`, `rw`, `full`" + `, or a list of ` + "`list read search create write move delete propose`" + ` |
| ` + "`deny`" + ` | none | globs on the path inside the project: ` + "`*.key`" + ` is the top level only, ` + "`**/*.key`" + ` every level, ` + "`name/`" + ` a directory and what it holds; names are compared folded. No leading ` + "`!`" + `, ` + "`#`" + `, ` + "`./`" + ` or blank |
| ` + "`allow_extensions`" + ` | all | only files with these extensions |
| ` + "`max_read`, `max_write`" + ` | none | bytes of one file |
| ` + "`presets`" + ` | both on | ` + "`{credentials: off, execution: off}`" + ` lifts them, see [rules.md](rules.md) |
| ` + "`mounts`" + ` | ` + "`allow`" + ` | ` + "`deny`" + ` refuses to cross a mount point below the project |
| ` + "`hardlinks`" + ` | ` + "`allow`" + ` | ` + "`deny`" + ` refuses to read files with several names; not a boundary |
| ` + "`moves`" + ` | ` + "`within`" + ` | ` + "`across`" + ` lets files move to another project, if both say it; leaving one needs the right ` + "`delete`" + ` there |
| ` + "`copy_across`" + ` | ` + "`false`" + ` | a move to another file system copies, syncs, compares and then removes the source, if the project of each end says so; else it is ` + "`cross_device`" + ` |
| ` + "`description`" + ` | none | what the project is, for whoever chooses among several; at most 1,024 bytes |
| ` + "`writes`" + ` | ` + "`direct`" + ` | ` + "`direct`" + ` or ` + "`propose`" + `: changes are proposed with ` + "`propose_patch`" + ` and made when a person agrees, see [patches.md](patches.md) |

What a change replaces or deletes is kept as the three ` + "`undo.`" + ` settings say; [undo.md](undo.md) tells how it is taken back. ` + "`rootbound use`" + `
puts some of the projects in force: [serve.md](serve.md#choosing-projects).

A copy across file systems is compared byte by byte before it is published as a whole, and the source is removed only then; an error before that leaves the source whole,
an error after it says which steps were done. Permission bits, ACLs, ` + "`user.*`" + ` attributes, times and, where the system lets it, the owner are kept; set-id bits are not.
Links, special files and mount points are refused before anything is made, and ` + "`max_write`" + ` of the destination holds for each file.

With projects or directory arguments the roots mode ` + "`client`" + ` is a mistake. ` + "`--read-only`" + ` takes every right that changes something from the projects of the file too.
`)
	rest, err := os.ReadFile("testdata/config.md")
	if err != nil {
		t.Fatal(err)
	}
	b.Write(rest)
	const page = "../../docs/config.md"
	if *update {
		if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is stale: run make docs (%v)", page, err)
	}
}

func code(s, before string) string {
	if s = strings.TrimSpace(s); s == "" {
		return "–"
	}
	return "`" + before + s + "`"
}

// counts says when a changed setting is in force.
func counts(s Setting) string {
	switch {
	case s.Live == nil:
		return "next start"
	case s.shape.Kind == ShapeWord && slices.ContainsFunc(s.shape.Words, func(w string) bool { return !s.Live("", w, false) }):
		w := s.shape.Words[slices.IndexFunc(s.shape.Words, func(w string) bool { return !s.Live("", w, false) })]
		return "at once; `" + w + "` at the next start"
	case s.shape.Kind == ShapeSize && !s.Live("0", "1", true):
		return "at once; confined, from `0`: next start"
	}
	return "at once"
}

// waits says which change of a setting waits until it is accepted.
func waits(s Setting) string {
	switch {
	case s.Free:
		return "never"
	case s.shape.Kind == ShapeSize, s.shape.Kind == ShapeCount, s.shape.Kind == ShapeSpan:
		if s.Wide.Ranks() {
			return "more"
		}
	case s.shape.Kind == ShapeSwitch && s.Wide.Ranks():
		return "`true`"
	case s.shape.Kind == ShapeWord && s.Wide.Ranks():
		order := slices.Clone(s.shape.Words)
		table := Table()
		slices.SortFunc(order, func(a, b string) int {
			if table[s.Key].Wider(a, b) {
				return -1
			}
			return 1
		})
		return strings.Join(order, " < ")
	}
	return "every change"
}
