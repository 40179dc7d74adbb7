package mcpfs

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
	const last = "The client's roots can narrow what is approved at any time: a refusal says why and what to do next; scope_status tells what is in force. " +
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
	projectID = must("project_id", `{"type":"string","description":"Id of the project, one that list_projects shows"}`).as(root)

	relativePath = must("relative_path", `{"type":"string","description":"File or directory inside the project, such as src/main.go; . is the project itself"}`).as(object)
)

// shaped gives a row its form.
func (t tool) shaped(form Tools) tool {
	t.form = form
	if form == Classic {
		return t
	}
	t.description = strings.ReplaceAll(t.description, pathRules, projectPathRules)
	in := make([]field, 0, len(t.in))
	named := false
	for _, f := range t.in {
		switch f.is {
		case root:
			named = true
			continue
		case object:
			if f.Name == "path" {
				f = relativePath
			}
			f.Name = relativePath.Name
		case objects:
			f.Name = "relative_paths"
			f.Schema = strings.ReplaceAll(f.Schema, "as path of", "as relative_path of")
		case destination:
			f.Name = "relative_destination"
		case patched:
			f.Schema = strings.ReplaceAll(f.Schema, `"path"`, `"`+relativePath.Name+`"`)
		}
		in = append(in, f)
	}
	if named {
		in = append([]field{projectID}, in...)
	}
	t.in = in
	return t
}

// open tells whether arguments nobody knows are dropped: hosts add keys of their own to the tools of the classic server.
func (t *tool) open() bool { return t.form == Classic && !t.ours }

// rows are the tools of a form, made at their first use.
func (t Tools) rows() []tool {
	if t == Project {
		return projectRows()
	}
	return classicRows()
}

var (
	classicRows = sync.OnceValue(func() []tool { return shape(Classic) })
	projectRows = sync.OnceValue(func() []tool { return shape(Project) })
)

func shape(form Tools) []tool {
	var out []tool
	for _, t := range table() {
		if !t.classicOnly || form == Classic {
			out = append(out, t.shaped(form))
		}
	}
	return out
}

// row finds a tool of a form; nil if there is none of that name.
func (t Tools) row(name string) *tool {
	all := t.rows()
	if i := slices.IndexFunc(all, func(t tool) bool { return t.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Names lists the tools of the form in the order in which clients see them.
func (t Tools) Names() []string {
	var out []string
	for _, row := range t.rows() {
		out = append(out, row.name)
	}
	return out
}

// Mutates tells mcpscope.Options whether a call may change something; that of a tool which is not in the form may.
func (t Tools) Mutates(method, name string) bool {
	row := t.row(name)
	return method == "tools/call" && (row == nil || !row.reads)
}

func fieldsOf(fields []field) []wire.Field {
	out := make([]wire.Field, len(fields))
	for i, f := range fields {
		out[i] = f.Field
	}
	return out
}
