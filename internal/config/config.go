// Package config reads what the operator wants: a YAML file, environment variables, flags and directory arguments, in
// rising order of weight. It validates all of it, says where each value came from, and returns projects and settings. It
// opens no project and starts nothing.
//
//	tools: project                    # classic, project
//	relative: unique                  # unique, first, explicit
//	roots: narrow                     # or a mapping:
//	roots: {mode: narrow, timeout: 5s, on_empty: deny, ask_modern: auto, allow_wide: false}
//	audit: {path: /var/log/rootbound/audit.jsonl, fsync: mutations, paths: plain, max_size: 64 MiB, keep: 10}
//	limits: {text: 1 MiB, media: 4 MiB, tree: 50000, list: 1000, search: 100, edit: 16 MiB, trees: 50000}
//	confine: auto                     # auto, require, off
//	fs_timeout: 5s
//	projects:
//	  - id: app                       # default: from the directory's name
//	    dir: ~/src/app                # from the file's directory, if relative
//	    description: the web shop     # for whoever chooses among projects
//	    rights: rw                    # ro, propose, rw, full, or a list of rights
//	    deny: ["**/secret/**"]
//	    allow_extensions: [.go, .md]
//	    max_read: 10 MiB
//	    max_write: 1 MiB
//	    presets: {credentials: off}   # credentials and execution are on by default
//	    mounts: deny                  # allow, deny
//	    hardlinks: allow              # allow, deny
//	    moves: within                 # within, across
//	    copy_across: false
//	    writes: direct                # direct, propose
//	environments:                     # chosen by --env or ROOTBOUND_ENV, laid over the rest
//	  ci:
//	    only: [app]                   # the projects that are served
//	    roots: ignore
//	    projects: [{id: app, rights: ro}]
//	  work: {widens: true, projects: [{dir: ~/work}]}
//
// What a file may do is held to what a person accepted of it (package held): Load takes the accepted scope as an input
// and says what waits; where it is kept is the caller's business.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config/held"
	"github.com/rootbound/rootbound/internal/config/source"
)

// Problem is one mistake, with its place.
type Problem = source.Problem

// Config is a valid configuration. A value once loaded: nothing changes it.
type Config struct {
	Projects []rootbound.Project // in the operator's order: file, then arguments
	Client   rootbound.Project   // mode client: rights and rules of each root the client declares

	Tools     string // classic, project
	Relative  string // unique, first, explicit
	Roots     Roots
	Audit     Audit
	Limits    Limits
	Undo      Undo
	Confine   string // auto, require, off
	FSTimeout time.Duration
	NoSlow    bool

	StrictStart bool // without a grant serve ends, on a pipe too

	File        string    // absolute path of the configuration file; empty: none
	Environment string    // the chosen environment of the file; empty: none
	Waiting     []Waiting // what the file says and what is not in force
	First       bool      // nothing was accepted of this file yet

	origins map[string]Origin
	scopes  held.Accepted // what the file says, by environment
	inForce held.Scope    // of the file, as it is held

	accepted []byte      // what it was held to
	stamp    fs.FileInfo // of the file before it was read
	empty    bool        // the file held nothing
}

// Roots says what the client's roots mean (contract §2).
type Roots struct {
	Mode      string // narrow, client, ignore, require
	Timeout   time.Duration
	OnEmpty   string // deny, ceiling
	AskModern string // auto, never
	AllowWide bool
}

// Audit says where decision records go (contract §7).
type Audit struct {
	Path    string // absolute; empty: no file
	Fsync   string // never, mutations, always
	Paths   string // plain, hash
	MaxSize int64  // bytes; 0: never set aside
	Keep    int    // files set aside that are kept; 0: all
}

// Limits bound what one call returns (contract §6).
type Limits struct {
	Text   int64 // bytes of one text read
	Media  int64 // bytes of one media file
	Tree   int   // nodes
	List   int   // entries of a page
	Search int   // hits of a page
	Edit   int64 // bytes of a file that is edited, and of a patch
	Trees  int   // entries of a tree that is moved, copied or deleted

	Subscriptions int // of one session or listen

	SearchBytes int64         // read by one search of contents
	SearchFiles int           // looked into by one search of contents
	SearchTime  time.Duration // of one search of contents or names, or one tree
}

// Undo bounds what is kept of what changes replaced or deleted.
type Undo struct {
	MaxSize int64         // bytes; 0: nothing is kept
	Keep    time.Duration // age
	Entries int           // changes
}

// Origin says where a value came from.
type Origin struct {
	Source string // default, file, env, flag, argument
	Where  string // "FILE:LINE:COLUMN", the variable, the flag; empty for defaults
}

// String is the origin for people.
func (o Origin) String() string {
	if o.Where == "" {
		return o.Source
	}
	return o.Source + " " + o.Where
}

// Input is what the command line and the environment hold.
type Input struct {
	File        string              // --config; empty: ROOTBOUND_CONFIG, or none
	Flags       map[string]string   // flags that were given, by name without dashes, of those in Settings
	Dirs        []string            // directory arguments
	AllowedDirs string              // --allowed-dirs: more of them, with the system's list separator
	ReadOnly    bool                // --read-only: arguments are granted ro, and projects of the file lose what ro lacks
	AllowDelete bool                // --allow-delete: arguments are granted full
	Getenv      func(string) string // os.Getenv
	Cwd         string              // where relative arguments start; empty: the working directory
	Env         string              // --env: an environment of the file; empty: ROOTBOUND_ENV, or none

	// What the file is held to. Variables, flags and arguments are the operator's own words and are not.
	Accepted       func(name string) ([]byte, error) // what was accepted of the file of that Name, fs.ErrNotExist if nothing; nil: never held
	Within         []Base                            // more that it is held to
	Instead        *held.Scope                       // what the file says, where it cannot be opened any more; nil: it is read
	AcceptRetarget bool                              // a project whose path leads elsewhere now is the one that was accepted
}

// ErrNoDirectories is in the error of Load when arguments were given and none of them can be used (exit code 1).
var ErrNoDirectories = errors.New("None of the specified directories are accessible") //nolint:staticcheck // printed as it is

// Load reads everything and returns the configuration and warnings, each a line for stderr. The error joins one *Problem
// for each mistake.
func Load(in Input) (*Config, []string, error) {
	if in.Getenv == nil {
		in.Getenv = os.Getenv
	}
	if in.Cwd == "" {
		cwd, err := os.Getwd()
		if err != nil {
			cwd = "" // deleted, perhaps: absolute arguments still work
		}
		in.Cwd = cwd
	}
	c := &Config{origins: make(map[string]Origin)}
	for _, s := range Settings() {
		c.origins[s.Key] = Origin{Source: "default"}
		if s.Default != "" {
			if err := s.set(c, s.Default); err != nil {
				return nil, nil, fmt.Errorf("default of %s: %w", s.Key, err)
			}
		}
	}
	l := loader{Config: c, in: in}
	if err := l.file(); err != nil {
		return nil, nil, err
	}
	if err := l.environment(); err != nil {
		return nil, nil, err
	}
	if err := l.flags(); err != nil {
		return nil, nil, err
	}
	if err := l.directories(); err != nil {
		return nil, l.warnings, err
	}
	if err := l.finish(); err != nil {
		return nil, l.warnings, err
	}
	return c, l.warnings, nil
}

type loader struct {
	*Config
	in       Input
	warnings []string
	shut     map[rootbound.RootID]bool // projects of the file that nobody may touch until they are accepted
	looked   map[string]looked         // directories of projects
}

func (l *loader) file() error {
	path := l.in.File
	if path == "" {
		path = l.in.Getenv("ROOTBOUND_CONFIG")
	}
	if path == "" {
		if l.in.Env != "" {
			return &Problem{File: "--env", Text: "names an environment of the configuration file, and there is no file"}
		}
		return nil
	}
	path = l.absolute(path, l.in.Cwd)
	if l.in.Instead != nil {
		l.File = path
		return l.instead(*l.in.Instead)
	}
	stamp, _ := os.Stat(path) // what it is now may be another one already
	text, err := readBounded(path)
	if err != nil {
		return &Problem{File: path, Text: "cannot be read: " + withoutPath(err), Cause: err}
	}
	l.File, l.stamp, l.empty = path, stamp, len(bytes.TrimSpace(text)) == 0
	p := source.NewProblems(path, text)
	if root := source.Parse(text, p); root != nil {
		d := decoder{Problems: p, loader: l, dir: filepath.Dir(path)}
		d.document(root)
		d.environments(root)
	}
	if err := p.Err(); err != nil {
		return err
	}
	return l.hold()
}

// readBounded reads a regular file of at most source.Largest bytes; one byte more shows that it is larger.
func readBounded(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, min(st.Size(), source.Largest+1))
	n, err := f.ReadAt(b, 0)
	if n == len(b) {
		err = nil
	}
	return b[:n], err
}

// withoutPath is an error of the file system without its path.
func withoutPath(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func (l *loader) environment() error {
	var errs []error
	for _, s := range Settings() {
		if v := l.in.Getenv(s.Env); v != "" {
			if err := s.set(l.Config, v); err != nil {
				errs = append(errs, &Problem{File: s.Env, Text: err.Error()})
			}
			l.origins[s.Key] = Origin{"env", s.Env}
		}
	}
	return errors.Join(errs...)
}

func (l *loader) flags() error {
	var errs []error
	known := make(map[string]bool)
	for _, s := range Settings() {
		if s.Flag == "" {
			continue
		}
		known[s.Flag] = true
		if v, ok := l.in.Flags[s.Flag]; ok {
			if err := s.set(l.Config, v); err != nil {
				errs = append(errs, &Problem{File: "--" + s.Flag, Text: err.Error()})
			}
			l.origins[s.Key] = Origin{"flag", "--" + s.Flag}
		}
	}
	for name := range l.in.Flags {
		if !known[name] {
			errs = append(errs, &Problem{File: "--" + name, Text: "is not a setting"})
		}
	}
	return errors.Join(errs...)
}

// finish fills what depends on everything else and refuses what contradicts itself.
func (l *loader) finish() error {
	if l.Audit.Path != "" {
		l.Audit.Path = l.absolute(l.Audit.Path, l.base("audit.path"))
	}
	if l.Tools == "" {
		l.Tools = "classic"
		if l.File != "" && len(l.arguments()) == 0 {
			l.Tools = "project"
		}
	}
	if l.Roots.Mode == "" {
		l.Roots.Mode = "client"
		if len(l.Projects) > 0 {
			l.Roots.Mode = "narrow"
		}
	}
	if l.Roots.Mode == "client" && len(l.Projects) > 0 {
		return &Problem{File: l.whereOf("roots.mode"),
			Text: "client means that the client alone says which directories are served, so no project may be configured; use narrow"}
	}
	return nil
}

// base is the directory from which a setting's relative path starts: that of the file it stands in, else the working
// directory.
func (l *loader) base(key string) string {
	if l.origins[key].Source == "file" {
		return filepath.Dir(l.File)
	}
	return l.in.Cwd
}

func (l *loader) whereOf(key string) string {
	if o := l.origins[key]; o.Where != "" {
		return o.Where
	}
	return key
}

// absolute expands ~ and ~/ and makes the path absolute and clean. A path of another user (~name) is taken as a name.
func (l *loader) absolute(path, base string) string {
	if home := l.in.Getenv("HOME"); path == "~" || strings.HasPrefix(path, "~/") {
		if home == "" {
			home, _ = os.UserHomeDir()
		}
		if home != "" {
			path = home + path[1:]
		}
	}
	if !filepath.IsAbs(path) && base != "" {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path)
}

// Origin says where the value of a setting came from, or of a project by "projects.ID".
func (c *Config) Origin(key string) Origin { return c.origins[key] }
