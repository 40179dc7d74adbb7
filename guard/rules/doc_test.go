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
## Operations

| operation | what is judged |
|---|---|
| read, list, tree, search | what was reached; for walks each entry, which is left out if a rule denies it |
| write, create, edit, append | the file, as a change; the file's other names where they are known (below) |
| missing parents that are made | each directory, and the entry in the last of them, before the first is made |
| move | the source and the destination, as changes; of a directory each entry at its old and at its new place |
| copy | the source, as read; the destination, as a change; of a directory each entry at its old place as read and at its new place as a change |
| delete | what goes, as a change; of a directory each entry |

One entry that may not be moved, copied or deleted refuses the whole tree, before anything is changed. A tree with more than 50,000
entries is refused. So a directory that holds a repository or a project's editor settings is deleted or moved by a person, or after
its preset was lifted.

## Directories that do not move

A directory, or a link that may lead to one, whose name begins one of the patterns above cannot be moved, be deleted, or be the
destination of a move or a copy: `)
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
	b.WriteString(`.

## Copies

A copy makes no links: a link, a pipe, a socket, a device or a ` + "`.git`" + ` file below a copied directory refuses the copy, with every preset
lifted too. Copying out of a directory of the preset execution is reading and allowed; copying into one is not.

## Hard links

A file that has other names (hard links) is not written, edited, appended to or overwritten where one of them stands where a rule
without wildcards expects it: at the pattern's place below the project or below a directory above the file, or in a directory that the
pattern covers. Nothing is ever written in place: a write puts a new file under the one name, and every other name keeps the old
bytes. Deleting or moving one name leaves the others as they are.

## Links

A link is followed only where every place on the way may be known: each link that is met on the way, and each directory that a ` + "`..`" + `
leaves again, is judged by the rules of its project, by our own files, and by the rights there. So a link that leads through a denied
directory and back to an allowed file is refused, as it is where that directory holds nothing. A project whose right to list is lacking,
and every right that would show it, tells nobody what is in it, whatever the request. A change passes through no link of another root.
To plan a patch needs the right read, also for a file that is not there yet.

With ` + "`allow_extensions`" + ` a file, link or special file without one of the extensions is denied, and a name that is missing is answered as
if a file were there; where more names follow, as if it were missing. A directory needs no extension.

## What a change tells

Nothing can be made where something is, nor taken as a whole without its parts, so these tell that something is hidden: to make a
directory, or to move one to a place, where a file without an allowed extension is; to delete, move or copy a directory that holds what
is denied; to change a file of which a denied entry is another name; and to delete as empty a directory that is not. That is all they
tell: which rule hides it, and with that perhaps its name, stands in the record of the refusal and not in its answer. Sizes and times of
a directory are those that the file system tells.

## Own files

The configuration, the state directory, keys, journals, the audit log, sockets and the binary of rootbound are out of reach in every
project, by identity, and so is what lies below them by every mount that shows it, as it stood at most a second ago (where a confinement
forbids to look at the mounts again, as it stood at the start). Nothing lifts that.

## What remains possible

The presets keep an agent away from secrets by their usual names and from files that other programs obey without being asked. They
do not make a writable project safe to build: whoever may write a source file, a Makefile, a package script, a workflow of a CI
service or a test decides what runs when a person or a CI builds the project. A bare repository's ` + "`hooks`" + ` directory has no telling
name and is not covered. Secrets under other names are not known to be secrets: add them to ` + "`deny:`" + `. A hard link to a secret that
lies in the project under another name is readable, and so can be copied (` + "`hardlinks: deny`" + ` refuses to read files with several
names). Where a protected file is a symbolic link, the file it leads to is judged by its own name: a hook that links to a script of the
project runs what that script holds. A directory that is copied out of ` + "`.git`" + ` under another name is an ordinary directory.
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
