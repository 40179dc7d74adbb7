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
	"github.com/rootbound/rootbound/internal/serve"
)

func serveCommand(w world) *cobra.Command {
	f := &flags{}
	var check, banner bool
	c := &cobra.Command{
		Use:   "serve [DIR…]",
		Short: "Serve directories to one MCP client on stdin and stdout",
		Long: `Serves the named directories, and those of the configuration, to the client at the other end of stdin and stdout.
The client's roots narrow what is served and never widen it; without any directory they are the only grant
(--roots=client). ROOTBOUND_ALLOWED_DIRS and MCP_ALLOWED_ROOTS name directories too. stderr stays silent unless
something is wrong.
` + exitHelp,
		Example: `  rootbound serve ~/src/app
  rootbound serve --read-only --roots=ignore ~/notes ~/papers
  rootbound serve --check --config rootbound.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, dirs []string) error {
			s, err := f.gather(c, w, dirs)
			if err != nil {
				return err
			}
			w.say(s.warnings...)
			if check {
				return s.check(w)
			}
			if len(s.Projects) == 0 && (s.StrictStart || w.terminal()) {
				return nothingGranted()
			}
			return s.serve(c.Context(), w, banner)
		},
	}
	f.register(c)
	c.Flags().BoolVar(&check, "check", false, "print every granted directory, its rights and where they come from, and end")
	c.Flags().BoolVar(&banner, "banner", false, "print a line on stderr when serving begins, for wrappers that wait for one")
	return c
}

func nothingGranted() error {
	return misused("no directory is granted. Name the directories to serve as arguments (rootbound serve DIR…), with --allowed-dirs or with --config")
}

func (s *settings) serve(ctx context.Context, w world, banner bool) error {
	s.opt.Transport = "stdio"
	h, err := s.furnish(ctx, w)
	if err != nil {
		return err
	}
	defer h.close()
	service, err := serve.New(s.opt)
	if err != nil {
		return failed("%s", text(err))
	}
	choice, err := s.chosen(w, service)
	if err != nil {
		return err
	}
	defer choice.follow(ctx)()
	s.acceptFirst(w)
	stop, err := s.follow(ctx, w, h, service)
	if err != nil {
		return err
	}
	tune(w)
	if banner {
		w.say("Secure MCP Filesystem Server running on stdio")
	}
	signal.Ignore(syscall.SIGPIPE) // a client that is gone ends the session, not the process in the midst of a change
	if err = service.Stdio(ctx, w.in, w.out); errors.Is(err, syscall.EPIPE) {
		err = nil
	}
	stop()
	closing, end := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer end()
	if cerr := service.Close(closing); err == nil && cerr != nil && !errors.Is(cerr, context.DeadlineExceeded) {
		err = cerr
	}
	if err != nil {
		return failed("the session ended: %s", text(err))
	}
	return nil
}

// tune fits the runtime to one client that mostly waits for each answer. A call goes through several goroutines: on one
// processor they follow each other without waking a second one, which takes longer than the call itself; calls that wait
// for the file system hold no processor. Garbage is collected less often than is the rule: what a call makes is gone with
// its answer, and the heap is small. The limit keeps large answers from growing it. GOMAXPROCS, GOGC and GOMEMLIMIT go
// before.
func tune(w world) {
	if w.getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	if w.getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if w.getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(128 << 20)
	}
}

// text is an error as the operator may read it: the cause is welcome here.
func text(err error) string {
	var e *rootbound.Error
	if errors.As(err, &e) && e.Err != nil {
		return rootbound.Clean(e.Error() + " (" + e.Err.Error() + ")")
	}
	return rootbound.Clean(err.Error())
}

// check prints what would be granted. Where the confinement is required it is tried, on this process, which then ends.
func (s *settings) check(w world) error {
	if len(s.Projects) == 0 {
		return nothingGranted()
	}
	inForce := s.inForce(w)
	for _, p := range s.Projects {
		rights := p.Rights.String()
		if !inForce(p.ID) {
			rights += " (not in force: rootbound use chose others)"
		}
		_, err := fmt.Fprintf(w.out, "%s\n  id      %s\n  rights  %s\n  from    %s\n",
			rootbound.Clean(p.Dir), p.ID, rights, rootbound.Clean(s.Origin("projects."+string(p.ID)).String()))
		if err != nil {
			return failed("%s", text(err))
		}
	}
	if s.Config.Confine != "require" {
		return nil
	}
	c, err := authority.Open(s.Projects, authority.CeilingOptions{AcceptRetarget: s.opt.AcceptRetarget})
	if err != nil {
		return failed("%s", text(err))
	}
	defer c.Close()
	dir, _ := s.state()                              // serve does without it too
	if _, err := os.Stat(s.Audit.Path); err != nil { // serve makes it; a check leaves no file behind
		s.Audit.Path = ""
	}
	st, err := s.confine(w, dir, c)
	if err != nil {
		return failed("--confine=require cannot be kept: %s", text(err))
	}
	if _, err := fmt.Fprintf(w.out, "confine  %s\n", rootbound.Clean(st)); err != nil {
		return failed("%s", text(err))
	}
	return nil
}
