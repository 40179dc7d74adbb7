package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config/source"
)

// Lengths, in bytes.
const (
	LongestID          = 64
	LongestDescription = 1024
)

// checkID keeps ids apart from paths and readable in messages.
func checkID(s string) error {
	switch {
	case s == "":
		return errors.New("a project id must not be empty")
	case len(s) > LongestID:
		return fmt.Errorf("a project id has at most %d bytes", LongestID)
	case s == "." || s == "..":
		return fmt.Errorf("%s is not a project id", source.Word(s))
	case cleanID(s) != s:
		return fmt.Errorf("project id %s: only letters, digits, dot, dash and underscore, and no dash at its ends", source.Word(s))
	}
	return nil
}

// cleanID replaces what an id may not hold by dashes.
func cleanID(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || r != '.' && r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return '-'
		}
		return r
	}, s)
	return strings.Trim(s, "-")
}

// freeID makes a project id of the directory's base name that no project has yet.
func (c *Config) freeID(dir string) rootbound.RootID {
	base := cleanID(filepath.Base(dir))
	for len(base) > LongestID-8 {
		base = base[:strings.LastIndexFunc(base, func(rune) bool { return true })]
	}
	base = cleanID(base) // a cut may end in a dash
	if checkID(base) != nil {
		base = "project"
	}
	id := base
	for n := 2; c.hasID(rootbound.RootID(id)); n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	return rootbound.RootID(id)
}

func (c *Config) hasID(id rootbound.RootID) bool {
	for i := range c.Projects {
		if c.Projects[i].ID == id {
			return true
		}
	}
	return false
}

// checkGlob refuses patterns that can never match what they seem to mean.
func checkGlob(s string) error {
	switch {
	case s == "":
		return errors.New("an empty pattern matches nothing")
	case strings.HasPrefix(s, "/"):
		return fmt.Errorf("pattern %s starts at the project: write it without the leading /", source.Word(s))
	case s == ".." || strings.HasPrefix(s, "../") || strings.Contains(s, "/../") || strings.HasSuffix(s, "/.."):
		return fmt.Errorf("pattern %s: .. matches nothing, patterns stay inside the project", source.Word(s))
	case strings.TrimSpace(s) != s:
		return fmt.Errorf("pattern %s begins or ends with a blank, which is part of no name you mean: take it out", source.Word(s))
	case s[0] == '!' || s[0] == '#':
		return fmt.Errorf("pattern %s: %c has no meaning here; for a name that begins with it write \\%[2]c", source.Word(s), s[0])
	case strings.Contains(s, "//"):
		return fmt.Errorf("pattern %s: an empty name between slashes matches nothing, write one slash", source.Word(s))
	case s == "." || strings.HasPrefix(s, "./") || strings.Contains(s, "/./") || strings.HasSuffix(s, "/."):
		return fmt.Errorf("pattern %s: . matches nothing, patterns start at the project without it", source.Word(s))
	case !doublestar.ValidatePattern(s):
		return fmt.Errorf("pattern %s is not a valid glob: check its brackets, braces and backslashes", source.Word(s))
	}
	return nil
}

// checkDir reports a file where a directory should be, and warns of one that is missing.
func (d *decoder) checkDir(dir string, at source.Position) {
	d.stat(dir)
	switch st, err := d.looked[dir].info, d.looked[dir].err; {
	case err == nil && !st.IsDir():
		d.At(at, "%s is not a directory", dir)
	case errors.Is(err, fs.ErrNotExist):
		d.warnings = append(d.warnings, fmt.Sprintf("Warning: directory %s does not exist (%s); it is served when it appears%s", dir, d.where(at), literal(dir)))
	case err != nil:
		d.warnings = append(d.warnings, fmt.Sprintf("Warning: directory %s cannot be read (%s): %s", dir, d.where(at), withoutPath(err)))
	}
}

// looked is a directory as it was when it was looked at.
type looked struct {
	info fs.FileInfo
	err  error
}

// stat looks at a directory once; nil if it is not there.
func (l *loader) stat(dir string) fs.FileInfo {
	at, ok := l.looked[dir]
	if !ok {
		at.info, at.err = os.Stat(dir)
		if l.looked == nil {
			l.looked = map[string]looked{}
		}
		l.looked[dir] = at
	}
	if at.err != nil {
		return nil
	}
	return at.info
}

func sameFile(a, b fs.FileInfo) bool { return b != nil && os.SameFile(a, b) }

// sameDir reports whether two paths are one directory, by identity where both exist.
func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	sa, err := os.Stat(a)
	if err != nil {
		return false
	}
	sb, err := os.Stat(b)
	return err == nil && os.SameFile(sa, sb)
}

type argument struct{ dir, from string }

// literal is what to know of a path that looks as if something were to be put in place of a part of it.
func literal(dir string) string {
	if strings.ContainsAny(dir, "$%*") {
		return ". Variables and patterns are not replaced, only ~/ at the beginning"
	}
	return ""
}

// directories turns directory arguments into projects (contract §1 and §2). Their warnings are those that the official
// file system server prints.
func (l *loader) directories() error {
	rights := rootbound.ReadWrite
	switch {
	case l.in.ReadOnly && l.in.AllowDelete:
		return &Problem{File: "--read-only", Text: "contradicts --allow-delete"}
	case l.in.ReadOnly:
		rights = rootbound.ReadOnly
		for i := range l.Projects {
			l.Projects[i].Rights &= rootbound.ReadOnly
		}
	case l.in.AllowDelete:
		rights = rootbound.Full
	}
	l.Client = rootbound.Project{Rights: rights}

	arguments := l.arguments()
	usable := 0
	for _, a := range arguments {
		if a.dir == "" { // an unset variable of a script; never the working directory in its place
			return &Problem{File: a.from, Text: `"" names no directory`}
		}
		dir := l.absolute(a.dir, l.in.Cwd)
		if !filepath.IsAbs(dir) {
			return &Problem{File: a.from, Text: fmt.Sprintf("%s is relative, and there is no working directory", source.Word(a.dir))}
		}
		// Opened, not only looked at: what cannot be read cannot be served.
		st, err := openDir(dir)
		switch {
		case err != nil:
			l.warnings = append(l.warnings, fmt.Sprintf("Warning: Cannot access directory %s, skipping", dir))
			if !errors.Is(err, fs.ErrNotExist) {
				continue // it would never appear
			}
		case !st.IsDir():
			l.warnings = append(l.warnings, fmt.Sprintf("Warning: %s is not a directory, skipping", dir))
			continue
		default:
			usable++
		}
		if err := l.grant(dir, rights, a.from); err != nil {
			return err
		}
	}
	if len(arguments) > 0 && usable == 0 && !l.anyUsable() {
		return ErrNoDirectories
	}
	return nil
}

func openDir(dir string) (fs.FileInfo, error) {
	st, err := os.Stat(dir)
	if err != nil || !st.IsDir() {
		return st, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	return st, f.Close()
}

// anyUsable reports whether a project of the file has its directory.
func (l *loader) anyUsable() bool {
	for i := range l.Projects {
		if l.origins["projects."+string(l.Projects[i].ID)].Source == "file" {
			if _, err := openDir(l.Projects[i].Dir); err == nil {
				return true
			}
		}
	}
	return false
}

func (l *loader) arguments() []argument {
	var out []argument
	for _, d := range l.in.Dirs {
		out = append(out, argument{d, "argument"})
	}
	for _, list := range []argument{
		{l.in.AllowedDirs, "--allowed-dirs"},
		{l.in.Getenv("ROOTBOUND_ALLOWED_DIRS"), "ROOTBOUND_ALLOWED_DIRS"},
		{l.in.Getenv("MCP_ALLOWED_ROOTS"), "MCP_ALLOWED_ROOTS"},
	} {
		for _, d := range filepath.SplitList(list.dir) {
			if d != "" {
				out = append(out, argument{d, list.from})
			}
		}
	}
	return out
}

// grant adds a project for an argument, unless the directory is granted already with the same rights.
func (l *loader) grant(dir string, rights rootbound.Rights, from string) error {
	for i := range l.Projects {
		p := &l.Projects[i]
		if !sameDir(p.Dir, dir) {
			continue
		}
		if p.Rights == rights || l.shut[p.ID] {
			return nil
		}
		o := l.origins["projects."+string(p.ID)]
		return &Problem{File: from, Text: fmt.Sprintf("directory %s is granted twice with different rights: %s here, %s as project %s (%s). Name it in one of the two places",
			dir, rights, p.Rights, source.Word(string(p.ID)), o)}
	}
	id := l.freeID(dir)
	l.Projects = append(l.Projects, rootbound.Project{ID: id, Dir: dir, Rights: rights})
	source := "argument"
	if from != "argument" {
		source = "flag"
		if !strings.HasPrefix(from, "-") {
			source = "env"
		}
		l.origins["projects."+string(id)] = Origin{source, from}
		return nil
	}
	l.origins["projects."+string(id)] = Origin{Source: source}
	return nil
}
