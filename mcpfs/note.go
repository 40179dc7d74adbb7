package mcpfs

import (
	"fmt"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/mcpfs/show"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/search"
)

// noteUnread tells of ignore files that do not show in what is left out.
func noteUnread(out *wire.Reply, u search.Unread) {
	note := func(some search.Some, one, more, what string) {
		if some.Count > 0 {
			out.Note(counted(some.Count, one, more) + " " + what + "; the first of them " + rootbound.Quote(show.Path(some.Paths[0])))
		}
	}
	note(u.Some, "ignore file was", "ignore files were", "not read or had too many or too long rules, and did not count")
	note(u.Spent, "ignore file has", "ignore files have", "patterns that took too long: from then on they were not applied, so that what they leave out may be shown")
}

// noteEnd explains why a read that began at a line or byte, from 0, has no text; -1: it began at none. A file that is read
// from its front is as empty as it looks.
func noteEnd(out *wire.Reply, t fileop.Text, line, offset int64, back bool) {
	size := counted(int(t.Size), "byte", "bytes")
	switch {
	case t.Truncated:
	case back && offset == 0:
		out.Note("no line stands before byte 0, from where tail counts back")
	case offset >= 0 && !back:
		out.Note(fmt.Sprintf("nothing is left to read from byte %d on: the file has %s", offset, size))
	case line > 0:
		out.Note(fmt.Sprintf("nothing is left to read from line %d on: the file has %s and %s", line, counted(int(t.Lines), "line", "lines"), size))
	}
}

// noteNoName explains why a search of names found nothing, as far as the pattern tells.
func noteNoName(out *wire.Reply, p *search.Pattern, pattern string) {
	what := "the pattern"
	if strings.Contains(pattern, "{") {
		what = "one of the patterns that the braces stand for"
	}
	switch {
	case noteVain(out, what, p.Vain()):
	case noteUnclosed(out, "the pattern", pattern):
	case strings.Contains(pattern, `\`):
		out.Note(`names are separated by / in a pattern; \ takes the character behind it as it is`)
	case !strings.HasPrefix(pattern, "**") && !strings.HasPrefix(pattern, "!"):
		out.Note("the pattern is compared with whole paths below the directory that was searched; " + rootbound.Quote("**/"+pattern) + " finds it at every depth")
	}
}

// noteExcludes tells of exclude patterns that leave out nothing.
func noteExcludes(out *wire.Reply, x search.Excludes, patterns []string) {
	noteVain(out, "an exclude pattern", x.Vain())
	noteUnclosed(out, "an exclude pattern", patterns...)
}

// noteVain tells of a pattern for which no path is right; why is empty if there is none.
func noteVain(out *wire.Reply, what, why string) bool {
	if why != "" {
		out.Note(what + " can match nothing: " + why)
	}
	return why != ""
}

// noteUnclosed explains why nothing was found, where it may be that.
func noteUnclosed(out *wire.Reply, what string, patterns ...string) bool {
	for _, p := range patterns {
		if search.Unclosed(p) {
			out.Note("nothing closes a bracket or brace of " + what + ", so it stands for itself; write \\[ if that is meant")
			return true
		}
	}
	return false
}
