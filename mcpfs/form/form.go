package form

import (
	"slices"
	"strings"
	"sync"

	"github.com/rootbound/rootbound/mcpfs/wire"
)

// Tools is the form of the tools (--tools). It is never chosen by the protocol era, so that an upgrade of a host changes
// nothing.
type Tools uint8

const (
	// Classic has the arguments that clients of the classic server know: paths relative to the project or absolute below an
	// allowed directory, and a project's name in root.
	Classic Tools = iota
	// Project has a project's id and a plain relative path in each call, and no path of the host in either direction.
	Project
)

// String is the word of the configuration.
func (t Tools) String() string {
	if t == Project {
		return "project"
	}
	return "classic"
}

// Instructions is what a server that offers these tools should tell its clients (ServerOptions.Instructions).
func (t Tools) Instructions() string {
	const first = "Files are served inside approved directories only; "
	const last = "search_content finds lines in files, search_files finds names. The client's roots can narrow what is approved at any time: a refusal says why and what to do next; scope_status tells what is in force. " +
		"Long answers are cut: structuredContent.truncated is then true and structuredContent.next holds the arguments that go on."
	if t == Project {
		return first + "list_projects shows their project_id. Each call names one project_id, and paths relative to that project, such as src/main.go; . is the project itself. " +
			"Absolute paths and .. are not taken. " + last
	}
	return first + "list_allowed_directories shows them. " +
		"Prefer paths relative to the project, such as src/main.go. Absolute paths work below an allowed directory. " +
		"With several projects name one in the argument root; changes always need root or an absolute path. " + last
}

const (
	pathRules        = " Paths are relative to the project, or absolute below a directory that list_allowed_directories shows; relative ones are preferred."
	projectPathRules = " Paths are relative to the project that project_id names; list_projects shows which there are."
	linkRules        = " Symbolic links are followed only where they stay inside."
	bound            = " Long answers are cut and say how to go on."
)

// Arguments of the project form. The ids are filled in when tools are listed: see projects.go.
var (
	projectID = must("project_id", `{"type":"string","description":"Id of the project, one that list_projects shows"}`).as(Root)

	relativePath = must("relative_path", `{"type":"string","description":"File or directory inside the project, such as src/main.go; . is the project itself"}`).as(Object)
)

// shaped gives a row its form.
func (t Tool) shaped(form Tools) Tool {
	t.Form = form
	if form == Classic {
		return t
	}
	t.Description = strings.ReplaceAll(t.Description, pathRules, projectPathRules)
	in := make([]Field, 0, len(t.In))
	named := false
	for _, f := range t.In {
		switch f.Is {
		case Root:
			named = true
			continue
		case Object:
			if f.Name == "path" {
				f = relativePath
			}
			f.Name = relativePath.Name
		case Objects:
			f.Name = "relative_paths"
			f.Schema = strings.ReplaceAll(f.Schema, "as path of", "as relative_path of")
		case Destination:
			f.Name = "relative_destination"
		case Patched:
			f.Schema = strings.ReplaceAll(f.Schema, `"path"`, `"`+relativePath.Name+`"`)
		}
		in = append(in, f)
	}
	if named {
		in = append([]Field{projectID}, in...)
	}
	t.In = in
	return t
}

// Open tells whether arguments nobody knows are dropped: hosts add keys of their own to the tools of the classic server.
func (t *Tool) Open() bool { return t.Form == Classic && !t.Ours }

// Rows are the tools of a form, made at their first use.
func (t Tools) Rows() []Tool {
	if t == Project {
		return projectRows()
	}
	return classicRows()
}

var (
	classicRows = sync.OnceValue(func() []Tool { return shape(Classic) })
	projectRows = sync.OnceValue(func() []Tool { return shape(Project) })
)

func shape(form Tools) []Tool {
	var out []Tool
	for _, t := range table() {
		if !t.ClassicOnly || form == Classic {
			out = append(out, t.shaped(form))
		}
	}
	return out
}

// Row finds a tool of a form; nil if there is none of that name.
func (t Tools) Row(name string) *Tool {
	all := t.Rows()
	if i := slices.IndexFunc(all, func(t Tool) bool { return t.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Names lists the tools of the form in the order in which clients see them.
func (t Tools) Names() []string {
	var out []string
	for _, row := range t.Rows() {
		out = append(out, row.Name)
	}
	return out
}

// Mutates tells mcpscope.Options whether a call may change something; that of a tool which is not in the form may.
func (t Tools) Mutates(method, name string) bool {
	row := t.Row(name)
	return method == "tools/call" && (row == nil || !row.Reads)
}

// FieldsOf leaves the roles away.
func FieldsOf(fields []Field) []wire.Field {
	out := make([]wire.Field, len(fields))
	for i, f := range fields {
		out[i] = f.Field
	}
	return out
}

// PathKey is the key of a path inside a list's objects.
func (t *Tool) PathKey() string {
	if t.Form == Project {
		return relativePath.Name
	}
	return pathField.Name
}
