package form

import (
	"errors"
	"runtime"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
)

// advice names tools and arguments of this package where the registry's own line, which every importer shares, cannot.
// The second line is that of the project form, where it differs.
func advice(e *rootbound.Error, tools Tools) string {
	classic, project := "", ""
	switch e.Reason {
	case rootbound.OutsideRoot:
		classic, project = "Use a path below one of the directories that list_allowed_directories shows.",
			"Use a path inside the project; list_projects shows what is approved now."
		if e.Root != "" { // it began inside
			classic, project = "Use a path below one of the directories that list_allowed_directories shows, and on which no symbolic link leads out.",
				"Use a path inside the project on which no symbolic link leads out; list_projects shows what is approved now."
		}
	case rootbound.NotFound:
		if runtime.GOOS != "windows" && strings.Contains(e.Path, `\`) {
			classic = `Write / between names, if \ was meant so; else list the directory above it to see what exists.`
		} else if e.Op == rootbound.OpRead || e.Op == rootbound.OpStat { // or who lists it and sees the name asks again
			classic = "List the directory above it to see what exists; a link that leads nowhere is listed too."
		}
	case rootbound.Exists:
		switch e.Op {
		case rootbound.OpMove, rootbound.OpCopy:
			classic = "Choose another name, or set overwrite to replace a file by a file."
		case rootbound.OpMkdir:
			classic = "Choose another name."
		}
	case rootbound.PathAmbiguous, rootbound.RootRequired:
		classic, project = "Name the project in the argument root, or send an absolute path.", "Name the project in project_id."
	case rootbound.ProjectUnknown:
		classic, project = "Send as root an id that list_projects shows.", "Send as project_id an id that list_projects shows."
	case rootbound.ParentMissing:
		classic = "Create that directory first with create_directory."
		if e.Op != rootbound.OpEdit && e.Op != rootbound.OpMkdir && e.Op != rootbound.OpPropose { // these lack the argument
			classic = "Create that directory first with create_directory, or set create_parents."
		}
	case rootbound.VersionPartial:
		classic = "Read the whole file first, or use edit_file."
	case rootbound.EditNoMatch:
		classic = "Read the file and send oldText exactly as it stands there."
	case rootbound.EditAmbiguous:
		classic = "Send a longer oldText that occurs once, or set replaceAll."
	case rootbound.NotText:
		classic = "Use read_media_file for its bytes."
	case rootbound.NotADirectory:
		classic = "Use the path of a directory, or read_text_file for what a file holds."
		if e.Op != rootbound.OpList && e.Op != rootbound.OpTree && e.Op != rootbound.OpSearch { // it asked for a file
			classic = "Use a path on which every name but the last is that of a directory."
		}
	case rootbound.IsADirectory:
		classic = "Use the path of a file, or list_directory for what it holds."
	}
	if tools == Project && project != "" {
		return project
	}
	return classic
}

// Advise completes a refusal with the way out that these tools offer, where nothing finer is said or they offer just that. Other errors, nil too,
// are given back as they are.
func Advise(err error, tools Tools) error {
	var e *rootbound.Error
	if !errors.As(err, &e) {
		return err
	}
	next := ""
	switch {
	case e.Reason == rootbound.RightMissing && e.Next == guard.ProposeInstead:
		next = "Propose the change with propose_patch: a person can agree to it."
		if e.Op == rootbound.OpDelete || e.Op == rootbound.OpMove { // which edits cannot say
			next = "Propose the change with propose_patch, as a diff: a person can agree to it."
		}
	case e.Reason == rootbound.RightMissing && e.Next == guard.ProposeFiles:
		next = "Propose the files that it is to hold with propose_patch: missing directories are made with them, and a person can agree to it."
	case e.Reason == rootbound.RightMissing && e.Next == guard.ProposeWithin:
		next = "Propose what is to become of the files in it with propose_patch, as a diff: a person can agree to it. A patch moves and removes no directory, so ask the operator for what is left."
	case e.Reason == rootbound.RightMissing && e.Next == guard.AskFor:
		next = "Ask the operator to do it: propose_patch cannot hold this change."
	case e.Next == "":
		next = advice(e, tools)
	}
	if next == "" {
		return err
	}
	known := *e
	known.Next = next
	return &known
}
