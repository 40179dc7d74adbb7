package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/internal/serve"
)

// flags are those that serve and call share.
type flags struct {
	config        string
	roots         string
	rootsTimeout  time.Duration
	allowedDirs   string
	onEmpty       string
	askModern     string
	wideRoots     bool
	acceptRetaget bool
	readOnly      bool
	allowDelete   bool
	noSlow        bool
	audit         string
	confine       string
}

func (f *flags) register(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.config, "config", "", "configuration `FILE` (YAML) with the projects to serve")
	fs.StringVar(&f.roots, "roots", "", "what the client's roots mean: narrow, client, ignore or require (default narrow with directories, else client)")
	fs.DurationVar(&f.rootsTimeout, "roots-timeout", 5*time.Second, "how long a call waits for the client's roots")
	fs.StringVar(&f.allowedDirs, "allowed-dirs", "", "more directories to serve, as a `LIST` separated by "+strconv.Quote(string(os.PathListSeparator)))
	fs.StringVar(&f.onEmpty, "on-empty", "deny", "an empty first roots answer: deny, or ceiling (no opinion)")
	fs.StringVar(&f.askModern, "ask-modern", "auto", "ask for roots in protocol 2026-07-28: auto or never")
	fs.BoolVar(&f.wideRoots, "allow-wide-roots", false, "with --roots=client: also take /, home directories and what contains one")
	fs.BoolVar(&f.acceptRetaget, "accept-retarget", false, "approve anew a project whose path leads to another directory than at start")
	fs.BoolVar(&f.readOnly, "read-only", false, "grant directories for reading only")
	fs.BoolVar(&f.allowDelete, "allow-delete", false, "grant directories with the right to delete")
	fs.BoolVar(&f.noSlow, "no-slow", false, "never slow a client whose calls are refused in numbers")
	fs.StringVar(&f.audit, "audit", "", "append the decision records to `PATH` (JSON lines)")
	fs.StringVar(&f.confine, "confine", "auto", "confine this process to what it serves: auto, require or off")
}

func oneOf(name, value string, of ...string) error {
	for _, v := range of {
		if value == v {
			return nil
		}
	}
	return misused("--%s=%s: use %s", name, rootbound.Clean(value), strings.Join(of, ", "))
}

// granted is a project and where its grant comes from.
type granted struct {
	rootbound.Project
	origin string
}

// settings is what flags, environment and configuration come to.
type settings struct {
	opt      serve.Options
	granted  []granted
	warnings []string
	named    int // directories that were named
	refused  int // and cannot be served now
}

func (f *flags) gather(w world, args []string) (*settings, error) {
	for _, c := range []error{
		oneOf("on-empty", f.onEmpty, "deny", "ceiling"), oneOf("ask-modern", f.askModern, "auto", "never"),
		oneOf("confine", f.confine, "auto", "require", "off"),
	} {
		if c != nil {
			return nil, c
		}
	}
	if f.roots != "" {
		if err := oneOf("roots", f.roots, "narrow", "client", "ignore", "require"); err != nil {
			return nil, err
		}
	}
	if f.readOnly && f.allowDelete {
		return nil, misused("--read-only and --allow-delete exclude each other")
	}
	if f.rootsTimeout <= 0 {
		return nil, misused("--roots-timeout must be more than 0")
	}
	s := &settings{}
	rights := rootbound.ReadWrite
	switch {
	case f.readOnly:
		rights = rootbound.ReadOnly
	case f.allowDelete:
		rights = rootbound.Full
	}
	for i, a := range args {
		if err := s.directory(a, fmt.Sprintf("argument %d", i+1), rights); err != nil {
			return nil, err
		}
	}
	for _, list := range [][2]string{{f.allowedDirs, "--allowed-dirs"}, {w.getenv("ROOTBOUND_ALLOWED_DIRS"), "ROOTBOUND_ALLOWED_DIRS"},
		{w.getenv("MCP_ALLOWED_ROOTS"), "MCP_ALLOWED_ROOTS"}} {
		for _, d := range filepath.SplitList(list[0]) {
			if d == "" {
				continue
			}
			if err := s.directory(d, list[1], rights); err != nil {
				return nil, err
			}
		}
	}
	mode := authority.Mode(f.roots)
	if mode == "" {
		mode = authority.Narrow
		if len(s.granted) == 0 {
			mode = authority.Client
		}
	}
	s.opt = serve.Options{
		Version: version(), AcceptRetarget: f.acceptRetaget, Mode: mode, RootsTimeout: f.rootsTimeout, EmptyIsCeiling: f.onEmpty == "ceiling",
		NeverAskModern: f.askModern == "never", AllowWide: f.wideRoots, ClientProject: rootbound.Project{Rights: rights}, NoSlow: f.noSlow,
		Transport: "stdio",
	}
	for _, g := range s.granted {
		s.opt.Projects = append(s.opt.Projects, g.Project)
	}
	return s, nil
}

// directory grants one named directory. A missing one is kept: it is served and pinned when it appears.
func (s *settings) directory(named, origin string, rights rootbound.Rights) error {
	s.named++
	dir := named
	if dir == "~" || strings.HasPrefix(dir, "~/") {
		home, err := os.UserHomeDir()
		if err != nil {
			return failed("%s: no home directory is known for ~", origin)
		}
		dir = home + dir[1:]
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return failed("%s: the working directory cannot be read", origin)
	}
	info, err := os.Stat(abs)
	switch {
	case err == nil && !info.IsDir():
		s.warnings = append(s.warnings, "Warning: "+rootbound.Clean(named)+" is not a directory, skipping")
		s.refused++
		return nil
	case err != nil:
		s.warnings = append(s.warnings, "Warning: Cannot access directory "+rootbound.Clean(named)+", skipping")
		s.refused++
	}
	for _, g := range s.granted {
		if g.Dir == abs {
			return nil
		}
	}
	s.granted = append(s.granted, granted{rootbound.Project{ID: s.unique(filepath.Base(abs)), Dir: abs, Rights: rights}, origin})
	return nil
}

func (s *settings) unique(base string) rootbound.RootID {
	if base == string(filepath.Separator) || base == "." {
		base = "root"
	}
	id, n := base, 2
	for taken := true; taken; {
		taken = false
		for _, g := range s.granted {
			if string(g.ID) == id {
				taken = true
				id = base + "-" + strconv.Itoa(n)
				n++
				break
			}
		}
	}
	return rootbound.RootID(id)
}
