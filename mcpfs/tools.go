package mcpfs

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Instructions is what a server that offers these tools should tell its clients (ServerOptions.Instructions).
const Instructions = "Files are served below approved directories only; list_allowed_directories shows them. " +
	"Prefer paths relative to the project, such as src/main.go. Absolute paths work below an allowed directory. " +
	"With several projects name one in the argument root; changes always need root or an absolute path. " +
	"The client's roots can narrow what is approved at any time: a refusal says why and what to do next. " +
	"Long answers are cut: structuredContent.truncated is then true and structuredContent.next holds the arguments that go on."

const (
	pathRules = " Paths are relative to the project, or absolute below a directory that list_allowed_directories shows; relative ones are preferred."
	linkRules = " Symbolic links are followed only where they stay inside."
	bound     = " Long answers are cut and say how to go on."
)

// tool is one row of the table: what tools/list shows.
type tool struct {
	name, title, description string
	in                       []field
	out                      []field // beside content, error
	media                    bool
	reads                    bool // readOnlyHint
	idempotent, destructive  bool
}

type field struct {
	name     string
	schema   string // JSON
	required bool
}

// Schemas of arguments. Those of the classic server keep its types and bounds; ours are optional.
var (
	pathField    = field{"path", `{"type":"string","description":"File or directory, relative to the project (preferred) or absolute below an allowed directory"}`, true}
	rootField    = field{"root", `{"type":"string","description":"Project id, root id or root name that relative paths start in; needed for changes when several projects are served"}`, false}
	headField    = field{"head", `{"type":"number","description":"Only the first N lines; a whole number, 0 or more"}`, false}
	tailField    = field{"tail", `{"type":"number","description":"Only the last N lines, counted as tail(1) does; a whole number, 0 or more"}`, false}
	lineField    = field{"line", `{"type":"integer","minimum":1,"description":"First line to read, counted from 1"}`, false}
	linesField   = field{"lines", `{"type":"integer","minimum":0,"description":"How many lines to read from line (1 if line is absent)"}`, false}
	offsetField  = field{"offset", `{"type":"integer","minimum":0,"description":"First byte to read, counted from 0; for files with very long lines"}`, false}
	cursorField  = field{"cursor", `{"type":"string","description":"structuredContent.next.cursor of the answer to go on from"}`, false}
	excludeField = field{"excludePatterns", `{"type":"array","items":{"type":"string"},"default":[],"description":"Globs to leave out"}`, false}
	versionField = field{"expected_version", `{"type":"string","description":"structuredContent.version of the read this change is based on, or absent for a file that must not exist; anything else there is a version_conflict"}`, false}
)

// Schemas of results.
var (
	versionOut = field{"version", `{"type":"string","description":"Opaque version of the file, for expected_version"}`, false}
	cutOut     = field{"truncated", `{"type":"boolean","description":"The answer was cut"}`, false}
	nextOut    = field{"next", `{"type":"object","description":"Arguments that go on where the answer was cut, to be sent beside the same others"}`, false}
	skippedOut = field{"skipped", `{"type":"array","description":"What could not be read","items":{"type":"object","properties":{"path":{"type":"string"},"reason":{"type":"string"}},"required":["path","reason"],"additionalProperties":false}}`, false}
	linksOut   = field{"links", `{"type":"array","description":"Symbolic links among the entries and what they lead to inside","items":{"type":"object","properties":{"name":{"type":"string"},"leads_to":{"type":"string","enum":["directory","file or nothing inside"]}},"required":["name","leads_to"],"additionalProperties":false}}`, false}
	noteOut    = field{"note", `{"type":"string","description":"What the caller should know about how the answer came about"}`, false}
)

const errorSchema = `{"type":"object","description":"Why the call was refused","properties":{"reason":{"type":"string"},"detail":{"type":"string"},` +
	`"operation":{"type":"string"},"path":{"type":"string"},"root":{"type":"string"},"retryable":{"type":"boolean"},"decision_id":{"type":"string"}},` +
	`"required":["reason","retryable"],"additionalProperties":false}`

const mediaSchema = `{"type":"array","items":{"anyOf":[{"type":"object","properties":{"type":{"type":"string","enum":["image","audio"]},"data":{"type":"string"},` +
	`"mimeType":{"type":"string"}},"required":["type","data","mimeType"],"additionalProperties":false},{"type":"object","properties":{"type":{"type":"string",` +
	`"const":"resource"},"resource":{"type":"object","properties":{"uri":{"type":"string"},"mimeType":{"type":"string"},"blob":{"type":"string"}},` +
	`"required":["uri","blob"],"additionalProperties":false}},"required":["type","resource"],"additionalProperties":false}]}}`

const editsSchema = `{"type":"array","description":"Replacements, made one after the other","items":{"type":"object","properties":{` +
	`"oldText":{"type":"string","description":"Text to replace, exactly as it stands in the file; must occur once"},` +
	`"newText":{"type":"string","description":"Text to put there"},` +
	`"replaceAll":{"type":"boolean","description":"Replace every occurrence of oldText"}},"required":["oldText","newText"]}}`

// table lists the tools in the order clients see them.
func table() []tool {
	readArgs := []field{pathField, tailField, headField, lineField, linesField, offsetField, rootField}
	readOut := []field{versionOut, cutOut, nextOut, noteOut}
	const readText = "Reads a text file as UTF-8, whole or in part: head or tail for its first or last lines, line and lines for a range. " +
		"A file that is not text is refused; read_media_file gives its bytes."
	return []tool{
		{name: "read_file", title: "Read File (Deprecated)", reads: true, in: readArgs, out: readOut,
			description: "The former name of read_text_file, which should be used instead." + pathRules},
		{name: "read_text_file", title: "Read Text File", reads: true, in: readArgs, out: readOut,
			description: readText + pathRules + linkRules + bound},
		{name: "read_media_file", title: "Read Media File", reads: true, media: true, in: []field{pathField, rootField}, out: []field{versionOut},
			description: "Reads the bytes of a file: images and audio as such, anything else as an embedded resource in base64." + pathRules + linkRules},
		{name: "read_multiple_files", title: "Read Multiple Files", reads: true,
			in: []field{{"paths", `{"type":"array","items":{"type":"string"},"minItems":1,"description":"Files to read, each as path of read_text_file"}`, true}, rootField},
			out: []field{cutOut, nextOut, {"files", `{"type":"array","description":"One entry for each file that was tried, in the order asked","items":{"type":"object","properties":{"path":{"type":"string"},"version":{"type":"string"},` +
				`"error":` + errorSchema + `},"required":["path"],"additionalProperties":false}}`, false}},
			description: "Reads several text files at once, each shown under its path. One that cannot be read is reported in its place and does not stop the others." + pathRules + linkRules + bound},
		{name: "write_file", title: "Write File", idempotent: true, destructive: true,
			in:          []field{pathField, {"content", `{"type":"string","description":"The whole text of the file"}`, true}, versionField, rootField},
			out:         []field{versionOut, noteOut},
			description: "Makes a file or replaces all of it, atomically: a reader sees the old bytes or the new ones. The directory must exist. expected_version guards against replacing what somebody else wrote." + pathRules},
		{name: "edit_file", title: "Edit File", destructive: true,
			in: []field{pathField, {"edits", editsSchema, true},
				{"dryRun", `{"type":"boolean","default":false,"description":"Show the diff and change nothing"}`, false}, versionField, rootField},
			out:         []field{versionOut, noteOut, cutOut},
			description: "Replaces text in a file and shows the change as a unified diff. oldText must occur exactly once unless replaceAll is set; everything else in the file, line endings included, stays as it is." + pathRules},
		{name: "create_directory", title: "Create Directory", idempotent: true,
			in:          []field{pathField, rootField},
			description: "Makes a directory and the missing ones above it. One that exists is left as it is." + pathRules},
		{name: "list_directory", title: "List Directory", reads: true, in: []field{pathField, cursorField, rootField}, out: []field{cutOut, nextOut, linksOut},
			description: "Lists a directory sorted by name, one entry a line, [DIR] or [FILE] before its name. Unusual characters in names are shown as \\xHH and can be sent back so." + pathRules + bound},
		{name: "list_directory_with_sizes", title: "List Directory with Sizes", reads: true,
			in: []field{pathField, {"sortBy", `{"type":"string","enum":["name","size"],"default":"name","description":"Order of the entries"}`, false},
				cursorField, rootField},
			out:         []field{cutOut, nextOut, linksOut},
			description: "Lists a directory with the size of each file and their total, sorted by name or by size, largest first." + pathRules + bound},
		{name: "directory_tree", title: "Directory Tree", reads: true, in: []field{pathField, excludeField, rootField}, out: []field{cutOut, nextOut, skippedOut},
			description: "Shows everything below a directory as JSON: name, type and, for directories, children. An exclude pattern without * leaves out that name at any depth. Links are shown and not followed." + pathRules + bound},
		{name: "move_file", title: "Move File", destructive: true, out: []field{noteOut},
			in: []field{{"source", `{"type":"string","description":"File, directory or link to move"}`, true},
				{"destination", `{"type":"string","description":"Its new path, name included; the directory must exist"}`, true},
				{"overwrite", `{"type":"boolean","default":false,"description":"Replace a file that exists at destination"}`, false}, rootField},
			description: "Moves or renames a file or directory inside one project. A link is moved itself, not what it leads to. What exists at destination stays unless overwrite is set." + pathRules},
		{name: "search_files", title: "Search Files", reads: true,
			in:          []field{pathField, {"pattern", `{"type":"string","description":"Glob on the path below path: *.go is the top level, **/*.go every level"}`, true}, excludeField, cursorField, rootField},
			out:         []field{cutOut, nextOut, skippedOut},
			description: "Finds files and directories whose path matches a glob (*, **, ?, classes, braces), hidden ones too, sorted. An exclude pattern that matches a directory leaves out all of it." + pathRules + bound},
		{name: "get_file_info", title: "Get File Info", reads: true, in: []field{pathField, rootField}, out: []field{versionOut},
			description: "Tells size, times, kind and permissions of a file or directory." + pathRules + linkRules},
		{name: "list_allowed_directories", title: "List Allowed Directories", reads: true,
			out: []field{{"directories", `{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},"path":{"type":"string"},"rights":{"type":"array","items":{"type":"string"}}},` +
				`"required":["id","path","rights"],"additionalProperties":false}}`, false}, noteOut},
			description: "Lists the directories that are approved now. Absolute paths must begin with one of them; their ids can be sent as root. The client's roots may change this list at any time."},
	}
}

// Names lists the tools of this package in the order in which clients see them.
func Names() []string {
	var out []string
	for _, t := range table() {
		out = append(out, t.name)
	}
	return out
}

// Mutates reports whether the named tool may change something; unknown tools do.
func Mutates(name string) bool {
	for _, t := range table() {
		if t.name == name {
			return !t.reads
		}
	}
	return true
}

func (t tool) describe() *mcp.Tool {
	no := false
	a := &mcp.ToolAnnotations{OpenWorldHint: &no, ReadOnlyHint: t.reads, IdempotentHint: t.idempotent}
	if !t.reads {
		a.DestructiveHint = &t.destructive
	}
	content := `{"type":"string"}`
	if t.media {
		content = mediaSchema
	}
	out := append([]field{{"content", content, true}, {"error", errorSchema, false}}, t.out...)
	return &mcp.Tool{Name: t.name, Title: t.title, Description: t.description, Annotations: a,
		InputSchema: object(t.in, true), OutputSchema: object(out, false)}
}

// object writes a schema. Inputs are open, since hosts add keys of their own; outputs are closed.
func object(fields []field, open bool) json.RawMessage {
	b := []byte(`{"type":"object","properties":{`)
	var required []byte
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(b, f.name)
		b = append(append(b, ':'), f.schema...)
		if f.required {
			if required != nil {
				required = append(required, ',')
			}
			required = appendJSON(required, f.name)
		}
	}
	b = append(b, '}')
	if required != nil {
		b = append(append(append(b, `,"required":[`...), required...), ']')
	}
	if !open {
		b = append(b, `,"additionalProperties":false`...)
	}
	return append(b, '}')
}
