package profile

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/rootbound/rootbound/probe/truth"
)

// hint tells how a tool for an operation is called and which arguments it needs.
type hint struct {
	op    string
	names []string // regular expressions on the name without separators, best first
	needs []string // roles that must be found among the parameters
}

// The first Tool that fits wins; "delete" and "move" come before the vaguer names.
var hints = []hint{
	{"read", []string{`^readtextfile$`, `^readfile$`, `^(fs)?read(text|file|afile)?$`, `^(get|view|open|cat|show)(file|filecontents?)$`, `^getfilecontents?$`, `^filesystemread$`}, []string{"path"}},
	{"tree", []string{`^(directory|dir|file|folder|project|get)?tree$`, `^getdirectorytree$`, `^listrecursive`}, []string{"path"}},
	{"list", []string{`^list(directory|dir|files?|folder|contents?)?$`, `^ls$`, `^(dir|fs)?list$`, `^listdirectorycontents?$`, `^readdirectory$`}, []string{"path"}},
	{"search", []string{`^search(files?|withinfiles|content)?$`, `^(find|glob)(files?)?$`, `^grep$`}, []string{"path", "pattern"}},
	{"edit", []string{`^edit(file|block|afile)?$`, `^(str)?replace(infile|text)?$`, `^searchandreplace$`, `^modifyfile$`}, []string{"path", "old"}},
	{"write", []string{`^write(file|text|textfile|tofile)?$`, `^(save|put|overwrite)(file)?$`, `^createorupdatefile$`}, []string{"path", "content"}},
	{"create", []string{`^createfile$`, `^newfile$`, `^write(file|text|textfile|tofile)?$`, `^(save|put)(file)?$`}, []string{"path", "content"}},
	{"mkdir", []string{`^(create|make)(directory|dir|folder)$`, `^mkdir$`}, []string{"path"}},
	{"move", []string{`^(move|rename)(file|path|files)?$`, `^mv$`}, []string{"from", "to"}},
	{"stat", []string{`^(get)?(file|path)?(info|stats?|metadata)$`, `^getfilestatus$`, `^stat$`}, []string{"path"}},
	{"delete", []string{`^(delete|remove)(file|path)?$`, `^rm$`, `^unlink$`}, []string{"path"}},
}

// roles are the names parameters go by.
var roles = map[string][]string{
	"path":    {"path", "filepath", "file", "filename", "uri", "directory", "dir", "dirpath", "directorypath", "folder", "folderpath", "relativepath", "target", "targetpath", "absolutepath", "root"},
	"content": {"content", "contents", "text", "data", "filetext", "newcontent", "body"},
	"pattern": {"pattern", "query", "glob", "regex", "searchpattern", "search", "keyword", "name"},
	"from":    {"source", "src", "from", "oldpath", "sourcepath", "frompath", "origin", "path"},
	"to":      {"destination", "dest", "dst", "to", "newpath", "destinationpath", "destpath", "topath", "target", "newname"},
	"old":     {"oldtext", "oldstring", "oldstr", "old", "find", "search", "searchtext", "edits"},
	"new":     {"newtext", "newstring", "newstr", "new", "replace", "replacement", "replacetext"},
}

var separators = regexp.MustCompile(`[^a-z0-9]`)

func plain(s string) string { return separators.ReplaceAllString(strings.ToLower(s), "") }

// guess maps tools to operations by their names and parameters. A tool that requires an argument nobody understands is
// not used: better skipped than asked wrongly.
func guess(tools []Tool) *Profile {
	p := &Profile{Name: "guessed from tools/list", Ops: map[string]Invocation{}}
	for _, h := range hints {
		for _, name := range h.names {
			re := regexp.MustCompile(name)
			at := slices.IndexFunc(tools, func(t Tool) bool { return re.MatchString(plain(t.Name)) })
			if at < 0 {
				continue
			}
			if args, ok := h.arguments(tools[at]); ok {
				p.Ops[h.op] = Invocation{Tool: tools[at].Name, Args: args}
				if h.op == "search" {
					p.pattern, _ = parameter(tools[at], roles["pattern"])
				}
				break
			}
		}
	}
	return p
}

// arguments fills a tool's parameters by their roles.
func (h hint) arguments(t Tool) (map[string]any, bool) {
	value := map[string]any{"path": "{path}", "from": "{path}", "to": "{to}", "content": "{content}", "old": "{old}", "new": "{new}", "pattern": pattern(t.Name)}
	needs := h.needs
	if h.op == "edit" {
		needs = append(slices.Clone(needs), "new")
	}
	args := map[string]any{}
	for _, role := range needs {
		name, ok := parameter(t, roles[role])
		if !ok {
			return nil, false
		}
		args[name] = value[role]
		if role == "old" && plain(name) == "edits" {
			item, ok := edits(t.InputSchema.Properties[name])
			if !ok {
				return nil, false
			}
			args[name] = []any{item}
			break
		}
	}
	for _, r := range t.InputSchema.Required {
		if _, ok := args[r]; !ok {
			return nil, false
		}
	}
	return args, true
}

// Patterns are texts that may find everything, the likeliest first; one empty text where what to search for is not guessed.
func (p *Profile) Patterns() []string {
	if p.pattern == "" {
		return []string{""}
	}
	first, _ := p.Ops["search"].Args[p.pattern].(string)
	list := []string{first}
	for _, t := range []string{"**/*", truth.Mark, "*", "."} {
		if t != first {
			list = append(list, t)
		}
	}
	return list
}

// Seek makes search look for a text, where what to search for is guessed.
func (p *Profile) Seek(text string) {
	if p.pattern != "" {
		p.Ops["search"].Args[p.pattern] = text
	}
}

// pattern finds everything: by a part of every text where contents are searched, by a glob where names are.
func pattern(name string) string {
	if n := plain(name); strings.Contains(n, "content") || strings.Contains(n, "within") || n == "grep" {
		return truth.Mark
	}
	return "**/*"
}

func parameter(t Tool, names []string) (string, bool) {
	for _, n := range names {
		for p := range t.InputSchema.Properties {
			if plain(p) == n {
				return p, true
			}
		}
	}
	return "", false
}

// edits reads the shape of one element of a list of edits.
func edits(schema json.RawMessage) (map[string]any, bool) {
	var s struct {
		Items struct {
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"items"`
	}
	json.Unmarshal(schema, &s)
	var t Tool
	t.InputSchema.Properties = s.Items.Properties
	o, had := parameter(t, roles["old"])
	n, has := parameter(t, roles["new"])
	return map[string]any{o: "{old}", n: "{new}"}, had && has
}
