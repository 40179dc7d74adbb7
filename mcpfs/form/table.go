package form

import (
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/mcpscope"
)

// Arguments. Those of the classic server keep its types and bounds; ours are optional.
var (
	pathField      = must("path", `{"type":"string","description":"File or directory, relative to the project (preferred) or absolute below an allowed directory"}`).as(Object)
	rootField      = may("root", `{"type":"string","description":"Project id, root id or root name that relative paths start in; needed for changes when several projects are served"}`).as(Root)
	headField      = may("head", `{"type":"number","description":"Only the first N lines, from line or offset if one is given; a whole number, 0 or more"}`)
	tailField      = may("tail", `{"type":"number","description":"Only the last N lines, counted as tail(1) does, of what is before offset if that is given; a whole number, 0 or more"}`)
	lineField      = may("line", `{"type":"integer","minimum":1,"description":"First line to read, counted from 1"}`)
	linesField     = may("lines", `{"type":"integer","minimum":0,"description":"How many lines to read from line (1 if line is absent)"}`)
	offsetField    = may("offset", `{"type":"integer","minimum":0,"description":"First byte to read, counted from 0, in place of line; for files with very long lines"}`)
	cursorField    = may("cursor", `{"type":"string","description":"structuredContent.next.cursor of the answer to go on from; send the same other arguments with it"}`)
	excludeField   = may("excludePatterns", `{"type":"array","items":{"type":"string"},"default":[],"description":"Globs to leave out"}`)
	depthField     = may("depth", `{"type":"integer","minimum":1,"description":"How many levels to show; directories at the last one are marked truncated"}`)
	nodesField     = may("max_nodes", `{"type":"integer","minimum":1,"description":"How many entries to show at most; a cursor goes on from there"}`)
	gitignoreField = may("gitignore", `{"type":"boolean","default":false,"description":"Leave out what .gitignore and .ignore files of the project say, and .git"}`)
	versionField   = may("expected_version", `{"type":"string","description":"structuredContent.version of the read this change is based on, or absent for a file that must not exist; anything else there is a version_conflict"}`)
	overwriteField = may("overwrite", `{"type":"boolean","default":false,"description":"Replace a file that exists at destination"}`)
	parentsField   = may("create_parents", `{"type":"boolean","default":false,"description":"Make the directories that are missing above it"}`)
	recursiveField = may("recursive", `{"type":"boolean","default":false,"description":"Delete a directory with all that it holds"}`)
)

// Schemas of results.
var (
	undoOut    = may("undo", `{"type":"string","description":"What was replaced or deleted is kept: a person can bring it back with rootbound undo and this id"}`)
	versionOut = may("version", `{"type":"string","description":"Opaque version of the file, for expected_version"}`)
	cutOut     = may("truncated", `{"type":"boolean","description":"The answer was cut"}`)
	nextOut    = may("next", `{"type":"object","description":"Arguments that go on where the answer was cut, to be sent beside the same others"}`)
	hitsOut    = cutBy("hits", "text", "time")
	treeOut    = cutBy("depth", "nodes", "text", "time")
	skippedOut = may("skipped", `{"type":"array","description":"What could not be read","items":{"type":"object","properties":{"path":{"type":"string"},"reason":{"type":"string"}},"required":["path","reason"],"additionalProperties":false}}`)
	linksOut   = may("links", `{"type":"array","description":"Symbolic links among the entries and what they lead to inside","items":{"type":"object","properties":{"name":{"type":"string"},"leads_to":{"type":"string","enum":["directory","file or nothing inside"]}},"required":["name","leads_to"],"additionalProperties":false}}`)
	noteOut    = may("note", `{"type":"string","description":"What the caller should know about how the answer came about"}`)
)

// cutBy declares which bound ended an answer.
func cutBy(bounds ...string) Field {
	return may("cut_by", `{"type":"string","enum":["`+strings.Join(bounds, `","`)+`"],"description":"The bound at which the answer was cut"}`)
}

const editsSchema = `{"type":"array","description":"Replacements, made one after the other","items":{"type":"object","properties":{` +
	`"oldText":{"type":"string","description":"Text to replace, exactly as it stands in the file; must occur once"},` +
	`"newText":{"type":"string","description":"Text to put there"},` +
	`"replaceAll":{"type":"boolean","description":"Replace every occurrence of oldText"}},"required":["oldText","newText"]}}`

const proposedEditsSchema = `{"type":"array","minItems":1,"description":"Replacements, as those of edit_file; those of one file are made one after the other","items":{"type":"object","properties":{` +
	`"path":{"type":"string","description":"File, relative to the project"},` +
	`"oldText":{"type":"string","description":"Text to replace, exactly as it stands in the file; must occur once. Empty to make a file"},` +
	`"newText":{"type":"string","description":"Text to put there"},` +
	`"replaceAll":{"type":"boolean","description":"Replace every occurrence of oldText"},` +
	`"expected_version":{"type":"string","description":"structuredContent.version of the read the edit is based on, or absent"}},"required":["path","oldText","newText"]}}`

var patchedOut = may("files", `{"type":"array","description":"What happens to which file","items":{"type":"object","properties":{"path":{"type":"string"},`+
	`"action":{"type":"string","enum":["create","write","delete","mode"]},"version":{"type":"string"}},"required":["path","action"],"additionalProperties":false}}`)

// table lists the tools in the order clients see them: those of the classic server, then ours.
func table() []Tool {
	rows := classicTable()
	for _, t := range ourTable() {
		t.Ours = true
		rows = append(rows, t)
	}
	return rows
}

func classicTable() []Tool {
	readArgs := []Field{pathField, tailField, headField, lineField, linesField, offsetField, rootField}
	readOut := []Field{versionOut, cutOut, nextOut, noteOut}
	const readText = "Reads a text file as UTF-8, whole or in part: head or tail for its first or last lines, line and lines for a range. " +
		"A file that is not text is refused; read_media_file gives its bytes."
	return []Tool{
		{Name: "read_file", Title: "Read File (Deprecated)", Op: rootbound.OpRead, Reads: true, In: readArgs, Out: readOut,
			Description: "The former name of read_text_file, which should be used instead." + pathRules},
		{Name: "read_text_file", Title: "Read Text File", Op: rootbound.OpRead, Reads: true, In: readArgs, Out: readOut,
			Description: readText + pathRules + linkRules + bound},
		{Name: "read_media_file", Title: "Read Media File", Op: rootbound.OpRead, Reads: true, Media: true, In: []Field{pathField, rootField}, Out: []Field{versionOut},
			Description: "Reads the bytes of a file: images and audio as such, anything else as an embedded resource in base64." + pathRules + linkRules},
		{Name: "read_multiple_files", Title: "Read Multiple Files", Op: rootbound.OpRead, Reads: true,
			In: []Field{must("paths", `{"type":"array","items":{"type":"string"},"minItems":1,"description":"Files to read, each as path of read_text_file"}`).as(Objects),
				may("skip", `{"type":"integer","minimum":0,"description":"How many of the files to leave out from the front; next of a cut answer says it"}`),
				may("offset", `{"type":"integer","minimum":0,"description":"First byte to read of the first file that is not left out, counted from 0"}`), rootField},
			Out: []Field{cutOut, nextOut, noteOut, may("files", `{"type":"array","description":"One entry for each file that was tried, in the order asked","items":{"type":"object","properties":{"path":{"type":"string"},"version":{"type":"string"},`+
				`"error":`+wire.ErrorSchema+`},"required":["path"],"additionalProperties":false}}`)},
			Description: "Reads several text files at once, each shown under its path. One that cannot be read is reported in its place and does not stop the others." + pathRules + linkRules + bound},
		{Name: "write_file", Title: "Write File", Op: rootbound.OpWrite, Idempotent: true, Destructive: true,
			In:          []Field{pathField, must("content", `{"type":"string","description":"The whole text of the file"}`), parentsField, versionField, rootField},
			Out:         []Field{versionOut, undoOut, noteOut},
			Description: "Makes a file or replaces all of it, atomically: a reader sees the old bytes or the new ones. The directory must exist unless create_parents is set. expected_version guards against replacing what somebody else wrote." + pathRules},
		{Name: "edit_file", Title: "Edit File", Op: rootbound.OpEdit, Destructive: true,
			In: []Field{pathField, must("edits", editsSchema),
				may("dryRun", `{"type":"boolean","default":false,"description":"Show the diff and change nothing"}`), versionField, rootField},
			Out:         []Field{versionOut, undoOut, noteOut, cutOut},
			Description: "Replaces text in a file and shows the change as a unified diff. oldText must occur exactly once unless replaceAll is set; everything else in the file, line endings included, stays as it is." + pathRules},
		{Name: "create_directory", Title: "Create Directory", Op: rootbound.OpMkdir, Idempotent: true,
			In:          []Field{pathField, rootField},
			Description: "Makes a directory and the missing ones above it. One that exists is left as it is." + pathRules},
		{Name: "list_directory", Title: "List Directory", Op: rootbound.OpList, Reads: true, In: []Field{pathField, cursorField, rootField}, Out: []Field{cutOut, nextOut, linksOut},
			Description: "Lists a directory sorted by name, one entry a line, [DIR] or [FILE] before its name. Unusual characters in names are shown as \\xHH and can be sent back so." + pathRules + bound},
		{Name: "list_directory_with_sizes", Title: "List Directory with Sizes", Op: rootbound.OpList, Reads: true,
			In: []Field{pathField, may("sortBy", `{"type":"string","enum":["name","size"],"default":"name","description":"Order of the entries"}`),
				cursorField, rootField},
			Out:         []Field{cutOut, nextOut, linksOut},
			Description: "Lists a directory with the size of each file and their total (a KB is 1024 bytes), sorted by name or by size, largest first." + pathRules + bound},
		{Name: "directory_tree", Title: "Directory Tree", Op: rootbound.OpTree, Reads: true, In: []Field{pathField, excludeField, depthField, nodesField, gitignoreField, cursorField, rootField}, Out: []Field{cutOut, treeOut, nextOut, skippedOut, noteOut},
			Description: "Shows everything below a directory as JSON: name, type and, for directories, children; of large trees take depth, gitignore or max_nodes. A directory marked continued is there for the rest of what it holds; ask for one marked truncated by its path. " +
				"An exclude pattern without * leaves out that name at any depth. Links are shown and not followed." + pathRules + bound},
		{Name: "move_file", Title: "Move File", Op: rootbound.OpMove, Destructive: true, Out: []Field{undoOut, noteOut},
			In: []Field{must("source", `{"type":"string","description":"File, directory or link to move"}`).as(Object),
				must("destination", `{"type":"string","description":"Its new path, name included; the directory must exist unless create_parents is set"}`).as(Destination),
				overwriteField, parentsField, rootField},
			Description: "Moves or renames a file or directory inside one project. A link is moved itself, not what it leads to. What exists there stays unless overwrite is set." + pathRules},
		{Name: "search_files", Title: "Search Files", Op: rootbound.OpSearch, Reads: true,
			In:          []Field{pathField, must("pattern", `{"type":"string","description":"Glob on what lies below that directory: *.go is its top level, **/*.go every level"}`), excludeField, gitignoreField, cursorField, rootField},
			Out:         []Field{cutOut, hitsOut, nextOut, skippedOut, noteOut},
			Description: "Finds files and directories whose path matches a glob (*, **, ?, classes, braces), hidden ones too, sorted. An exclude pattern that matches a directory leaves out all of it." + pathRules + bound},
		{Name: "get_file_info", Title: "Get File Info", Op: rootbound.OpStat, Reads: true, In: []Field{pathField, rootField}, Out: []Field{versionOut},
			Description: "Tells size, times, kind and permissions of a file or directory." + pathRules + linkRules},
		{Name: "list_allowed_directories", Title: "List Allowed Directories", Op: rootbound.OpList, ClassicOnly: true, Reads: true, In: []Field{cursorField},
			Out: []Field{may("directories", `{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},"path":{"type":"string"},"rights":{"type":"array","items":{"type":"string"}}},`+
				`"required":["id","path","rights"],"additionalProperties":false}}`), cutOut, nextOut, noteOut},
			Description: "Lists the directories that are approved now. Absolute paths must begin with one of them; their ids can be sent as root. The client's roots may change this list at any time."},
	}
}

// ourTable are the tools that the classic server lacks. Their arguments are closed in both forms.
func ourTable() []Tool {
	return []Tool{
		searchContent(),
		{Name: "copy_file", Title: "Copy File", Op: rootbound.OpCopy, Destructive: true,
			In: []Field{must("source", `{"type":"string","description":"File or directory to copy"}`).as(Object),
				must("destination", `{"type":"string","description":"Path of the copy, name included; the directory must exist unless create_parents is set"}`).as(Destination),
				overwriteField, parentsField,
				may("expected_version", `{"type":"string","description":"structuredContent.version of the file that is overwritten, or absent for a file that must not exist; anything else there is a version_conflict"}`), rootField},
			Out:         []Field{versionOut, may("files", `{"type":"integer","description":"How many files were copied"}`), undoOut, noteOut},
			Description: "Copies a file, or a directory with all that it holds, which appears at once when the copy is complete. A copy never makes links: a directory that holds a link is refused. What exists there stays unless overwrite is set, which replaces a file by a file." + pathRules},
		{Name: "delete_file", Title: "Delete File", Op: rootbound.OpDelete, Idempotent: true, Destructive: true,
			In:          []Field{pathField, recursiveField, may("expected_version", `{"type":"string","description":"structuredContent.version of what is to be deleted; anything else there is a version_conflict"}`), rootField},
			Out:         []Field{may("entries", `{"type":"integer","description":"How many files, directories and links are gone"}`), undoOut, noteOut},
			Description: "Deletes a file, a link (not what it leads to) or an empty directory; with recursive a directory and all that it holds, or nothing of it if one entry may not be deleted. The project must grant the right delete." + pathRules},
		{Name: "append_file", Title: "Append to File", Op: rootbound.OpWrite,
			In:          []Field{pathField, must("content", `{"type":"string","description":"Text to put at the end of the file, as it is: no line break is added"}`), parentsField, versionField, rootField},
			Out:         []Field{versionOut, undoOut, noteOut},
			Description: "Adds text at the end of a file, atomically; makes the file if there is none. What the file holds stays as it is, byte for byte." + pathRules},
		{Name: "propose_patch", Title: "Propose Patch", Op: rootbound.OpPropose, Reads: true,
			In: []Field{may("edits", proposedEditsSchema).as(Patched), may("diff", `{"type":"string","description":"A unified diff over one or more files, as git diff writes it; its paths start at the project"}`).as(Patched), rootField},
			Out: []Field{may("plan", `{"type":"string","description":"Id of the plan, for apply_patch"}`), may("token", `{"type":"string","description":"Token of the plan; apply_patch takes it in place of the id"}`),
				may("expires", `{"type":"string","format":"date-time","description":"When the plan is forgotten"}`),
				may("waits_for_person", `{"type":"boolean","description":"The plan is only applied when a person agrees"}`), patchedOut, cutOut, noteOut},
			Description: "Plans a change of several files of one project, from edits or a unified diff, and shows it as a diff. Nothing is changed: apply_patch does that, all of it or nothing, if the files are then what they were. A diff is taken as git apply takes it; it may make, change, delete, rename and copy files and set the executable bit, but not touch links." + pathRules},
		{Name: "apply_patch", Title: "Apply Patch", Op: rootbound.OpApply, Destructive: true,
			In:          []Field{must("plan", `{"type":"string","description":"plan or token of the answer of propose_patch"}`).as(Patched), rootField},
			Out:         []Field{patchedOut, undoOut, noteOut},
			Description: "Applies a plan of propose_patch, once: every file is compared with what it was and all change together, or none does. Where the project wants changes proposed, a person has to agree first." + pathRules},
		{Name: "list_projects", Title: "List Projects", Op: rootbound.OpList, Reads: true, In: []Field{cursorField}, Out: []Field{projectsOut, cutOut, nextOut},
			Description: "Lists the projects that may be used now: id, rights, description, and the parts that are approved. A part's prefix is where paths inside the project begin; an empty one stands for all of it."},
		{Name: "scope_status", Title: "Scope Status", Op: rootbound.OpStat, Need: mcpscope.Informed, Reads: true, Out: scopeOut,
			Description: "Tells what may be touched now and why not more: where the scope comes from, each project's rights, approved parts and rules, the client's roots that were dropped and why, and the limits of one answer. Ask it when a refusal is not clear."},
	}
}
