package form

import "github.com/rootbound/rootbound"

// searchContent is the row of search_content: its schemas are longer than those of the other tools.
func searchContent() Tool {
	globs := func(name, text string) Field {
		return may(name, `{"type":"array","items":{"type":"string"},"default":[],"description":"`+text+`"}`)
	}
	truth := func(name, text string) Field {
		return may(name, `{"type":"boolean","default":false,"description":"`+text+`"}`)
	}
	return Tool{Name: "search_content", Title: "Search Content", Op: rootbound.OpSearchContent, Reads: true,
		In: []Field{pathField,
			must("pattern", `{"type":"string","description":"Regular expression (RE2 syntax) that is looked for in each line"}`),
			truth("literal", "pattern is text to be found as it stands, not a regular expression"),
			truth("ignore_case", "Letters match in either case"),
			truth("word", "A match must not begin or end inside a word"),
			globs("include", "Globs: only files that match one are searched; *.go is that name at any depth, src/**/*.go a path below that directory"),
			globs("exclude", "Globs of what is left out, read as those of include; one that matches a directory leaves out all of it"),
			may("context", `{"type":"integer","minimum":0,"maximum":100,"default":0,"description":"How many lines before and after each match are shown too"}`),
			truth("include_ignored", "Search what .gitignore and .ignore files leave out, too"),
			may("max_results", `{"type":"integer","minimum":1,"description":"How many matching lines one answer holds at most; the operator's limit holds too"}`),
			cursorField, rootField},
		Out: []Field{
			may("matches", `{"type":"array","description":"One entry for each line with a match, in the order of the text","items":{"type":"object","properties":{`+
				`"path":{"type":"string"},"line":{"type":"integer","description":"Number of the line, from 1"},`+
				`"column":{"type":"integer","description":"Where the first match begins in the line, in bytes from 1"},`+
				`"columns":{"type":"array","description":"The matches in the line, at most 100: first byte and the byte behind the last","items":{"type":"object",`+
				`"properties":{"start":{"type":"integer"},"end":{"type":"integer"}},"required":["start","end"],"additionalProperties":false}},`+
				`"offset":{"type":"integer","description":"Byte of the file at which the line begins, from 0"},`+
				`"text":{"type":"string","description":"The line"},`+
				`"at":{"type":"integer","description":"Byte of the line at which text begins, where it is not 0"},`+
				`"cut":{"type":"boolean","description":"text is not all of the line"},`+
				`"before":{"type":"array","items":{"type":"string"}},"after":{"type":"array","items":{"type":"string"}}},`+
				`"required":["path","line","column","columns","offset","text"],"additionalProperties":false}}`),
			may("searched", `{"type":"object","description":"What was looked into for this answer","properties":{"files":{"type":"integer"},"bytes":{"type":"integer"},`+
				`"binary":{"type":"integer","description":"Files left out because they are not text"}},"required":["files","bytes"],"additionalProperties":false}`),
			cutOut, cutBy("hits", "text", "files", "bytes", "time"), nextOut, skippedOut, noteOut},
		Description: "Finds lines that match a regular expression, in a file or in all text files below a directory, hidden ones too, as path:line:text. " +
			"Files that .gitignore and .ignore leave out and files that are not text are not searched." + pathRules + bound}
}
