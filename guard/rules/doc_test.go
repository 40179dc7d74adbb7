package rules

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write generated documents anew")

// TestRulesDoc keeps docs/rules.md equal to the presets.
func TestRulesDoc(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Rules

Generated from the patterns in the package guard/rules by ` + "`make docs`" + `; do not edit.

Rules judge what was *reached* as well as what was written, in the project the object lies in. Names are compared folded: case,
Unicode normalization, ignorable characters, trailing dots and blanks make no difference, on any file system. A pattern that ends
in ` + "`/**`" + ` means the directory and everything below it. A denied entry appears in no list, tree, search, count or cursor, and a
path that would match is refused whether it exists or not.

## Preset credentials (on by default): no access

Lifted for a project by ` + "`presets: {credentials: off}`" + `.

`)
	list := func(patterns []string) {
		for _, p := range patterns {
			fmt.Fprintf(&b, "- `%s`\n", p)
		}
	}
	list(credentials)
	fmt.Fprintf(&b, "\nNot meant by `**/.env*`: `%s`.\n", strings.Join(exceptEnv, "`, `"))
	b.WriteString(`
## Preset execution (on by default): no change

What makes other programs run code may be read and not changed. Lifted for a project by ` + "`presets: {execution: off}`" + `.

`)
	list(execution)
	fmt.Fprintf(&b, "- `%s` as a file or link: it would point at a repository elsewhere, whose configuration runs commands\n", gitFile)
	b.WriteString(`
## Directories that do not move

A directory, or a link that may lead to one, whose name begins one of the patterns above cannot be moved or be the destination of a
move: `)
	heads := map[string]bool{}
	var names []string
	for _, p := range append(append([]string{}, credentials...), execution...) {
		first, _, longer := strings.Cut(strings.TrimPrefix(p, "**/"), "/")
		if longer && !heads[first] && !strings.ContainsAny(first, meta) {
			heads[first] = true
			names = append(names, "`"+first+"`")
		}
	}
	b.WriteString(strings.Join(names, ", "))
	b.WriteString(`. Every other tree that is moved is judged entry by entry, at its old and at its new place, up to a bound; over
the bound the move is refused.

## Own files

The configuration, the state directory, keys, journals, the audit log, sockets and the binary of rootbound are out of reach in every
project, by identity. Nothing lifts that.

## What remains possible

The presets keep an agent away from secrets by their usual names and from files that other programs obey without being asked. They
do not make a writable project safe to build: whoever may write a source file, a Makefile, a package script, a workflow of a CI
service or a test decides what runs when a person or a CI builds the project. A bare repository's ` + "`hooks`" + ` directory has no telling
name and is not covered. Secrets under other names are not known to be secrets: add them to ` + "`deny:`" + `. A hard link to a secret that
lies in the project under another name is readable (` + "`hardlinks: deny`" + ` refuses to read files with several names).
`)
	const file = "../../docs/rules.md"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != b.String() {
		t.Errorf("%s is stale: run make docs (%v)", file, err)
	}
}
