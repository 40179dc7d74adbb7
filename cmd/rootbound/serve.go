package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/cmd/rootbound/setting"
	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/serve"
)

func serveCommand(w setting.World) *cobra.Command {
	f := &setting.Flags{}
	var onlyCheck, banner bool
	c := &cobra.Command{
		Use:   "serve [DIR…]",
		Short: "Serve directories to one MCP client on stdin and stdout",
		Long: `Serves the named directories, and those of the configuration, to the client at the other end of stdin and stdout.
The client's roots narrow what is served and never widen it; without any directory they are the only grant
(--roots=client). ROOTBOUND_ALLOWED_DIRS and MCP_ALLOWED_ROOTS name directories too. stderr stays silent unless
something is wrong or stdin is a terminal.
` + setting.ExitHelp,
		Example: `  rootbound serve ~/src/app
  rootbound serve --read-only --roots=ignore ~/notes ~/papers
  rootbound serve --check --config rootbound.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, dirs []string) error {
			s, err := f.Gather(c, w, dirs)
			if err != nil {
				return err
			}
			w.Say(s.Warnings...)
			if onlyCheck {
				return check(s, w)
			}
			if len(s.Projects) == 0 && (s.StrictStart || w.Terminal()) {
				return s.NothingGranted()
			}
			if s.File != "" && s.Granting() != nil { // a file that was emptied is not what the operator means by it
				w.Say("Warning: no project of " + rootbound.Clean(s.File) + " is in force: " + s.Instead())
			}
			return serveStdio(c.Context(), s, w, banner)
		},
	}
	f.Register(c)
	c.Flags().BoolVar(&onlyCheck, "check", false, "print every granted directory, its rights and where they come from, and end")
	c.Flags().BoolVar(&banner, "banner", false, "print a line on stderr when serving begins, for wrappers that wait for one")
	return c
}

func serveStdio(ctx context.Context, s *setting.Settings, w setting.World, banner bool) error {
	s.Options.Widen = tune(w)
	s.Options.Transport = "stdio"
	h, err := s.Furnish(ctx, w)
	if err != nil {
		return err
	}
	defer h.Close()
	service, err := serve.New(s.Options)
	if err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	choice, err := chosen(s, w, service)
	if err != nil {
		return err
	}
	defer choice.follow(ctx)()
	acceptFirst(s, w)
	stop, err := followFile(ctx, s, w, h, service)
	if err != nil {
		return err
	}
	if banner {
		w.Say("Secure MCP Filesystem Server running on stdio")
	}
	if w.Terminal() {
		w.Say("rootbound waits for an MCP client on stdin. A host starts it by itself: docs/serve.md shows the entry. Ctrl-C ends it")
	}
	signal.Ignore(syscall.SIGPIPE) // a client that is gone ends the session, not the process in the midst of a change
	if err = service.Stdio(ctx, w.In, w.Out); errors.Is(err, syscall.EPIPE) {
		err = nil
	}
	stop()
	closing, end := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer end()
	if cerr := service.Close(closing); err == nil && cerr != nil && !errors.Is(cerr, context.DeadlineExceeded) {
		err = cerr
	}
	if err != nil {
		return setting.Failed("the session ended: %s", setting.Text(err))
	}
	return nil
}

// tune fits the runtime to one client that mostly waits for each answer. A call goes through several goroutines: on one
// processor they follow each other without waking a second one, which takes longer than the call itself; calls that wait
// for the file system hold no processor. Garbage is collected less often than is the rule: what a call makes is gone with
// its answer, and the heap is small. The limit keeps large answers from growing it. GOMAXPROCS, GOGC and GOMEMLIMIT go
// before.
//
// What it returns gives a search that works side by side the other processors; nil: it has them.
func tune(w setting.World) (widen func() (narrow func())) {
	if w.Getenv("GOMAXPROCS") == "" {
		p := &processors{all: runtime.GOMAXPROCS(1)}
		widen = p.widen
	}
	if w.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if w.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(128 << 20)
	}
	return widen
}

// check prints what would be granted. Where the confinement is required it is tried, on this process, which then ends.
func check(s *setting.Settings, w setting.World) error {
	if err := s.Granting(); err != nil {
		return err
	}
	if len(s.Projects) == 0 {
		if _, err := fmt.Fprintln(w.Out, setting.OnlyRoots); err != nil {
			return setting.Failed("%s", setting.Text(err))
		}
	}
	inForce := s.InForce(w)
	for _, p := range s.Projects {
		rights := config.Granted(p)
		if !inForce(p.ID) {
			rights += " (not in force: rootbound use chose others)"
		}
		_, err := fmt.Fprintf(w.Out, "%s\n  id      %s\n  rights  %s\n  from    %s\n",
			rootbound.Clean(p.Dir), p.ID, rights, rootbound.Clean(s.Origin("projects."+string(p.ID)).String()))
		if err != nil {
			return setting.Failed("%s", setting.Text(err))
		}
	}
	if s.Config.Confine != "require" {
		return nil
	}
	c, err := authority.Open(s.Projects, authority.CeilingOptions{AcceptRetarget: s.Options.AcceptRetarget})
	if err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	defer c.Close()
	dir, _ := s.State()                              // serve does without it too
	if _, err := os.Stat(s.Audit.Path); err != nil { // serve makes it; a check leaves no file behind
		s.Audit.Path = ""
	}
	st, err := s.Enclose(w, dir, c)
	if err != nil {
		return setting.Failed("--confine=require cannot be kept: %s", setting.Text(err))
	}
	if _, err := fmt.Fprintf(w.Out, "confine  %s\n", rootbound.Clean(st)); err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	return nil
}
