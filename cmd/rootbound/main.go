// Command rootbound serves files inside approved roots to MCP hosts.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes, the same for all commands and told by every --help.
const (
	exitDone    = 0 // ended as it should
	exitFailed  = 1 // could not start, or the call was refused
	exitMisused = 2 // wrong usage, or nothing is granted
)

const exitHelp = `
Exit codes: 0 ended as it should; 1 could not start, or the call was refused; 2 wrong usage, or nothing is granted.`

// failure ends the program with a code and one line on stderr.
type failure struct {
	code int
	line string // empty: everything was said
}

func (f *failure) Error() string { return f.line }

func failed(format string, a ...any) error  { return &failure{exitFailed, fmt.Sprintf(format, a...)} }
func misused(format string, a ...any) error { return &failure{exitMisused, fmt.Sprintf(format, a...)} }

// world is what the program stands in; tests make their own.
type world struct {
	in       io.ReadCloser
	out      io.WriteCloser
	err      io.Writer
	getenv   func(string) string
	terminal func() bool // stdin is a person
}

// say prints lines for the person who started the program.
func (w world) say(lines ...string) {
	for _, l := range lines {
		fmt.Fprintln(w.err, l)
	}
}

func main() { os.Exit(realMain()) }

func realMain() int {
	if os.Getenv("MCPGODEBUG") != "" {
		// It takes fixes of the protocol library back, and was read before main: begin again without it.
		if err := restart("MCPGODEBUG"); err != nil {
			fmt.Fprintln(os.Stderr, "Error: unset MCPGODEBUG: it takes fixes of the protocol library back")
			return exitMisused
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w := world{in: stdin(), out: os.Stdout, err: os.Stderr, getenv: os.Getenv, terminal: func() bool { return isTerminal(os.Stdin) }}
	return run(ctx, w, os.Args[1:])
}

func run(ctx context.Context, w world, args []string) int {
	root := command(w)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{exitMisused, err.Error() + " (see rootbound --help)"} // cobra's own: flags and arguments
	}
	if f.line != "" {
		fmt.Fprintln(w.err, "Error: "+f.line)
	}
	return f.code
}

func command(w world) *cobra.Command {
	root := &cobra.Command{
		Use:   "rootbound",
		Short: "Serve files inside approved roots to MCP hosts",
		Long: `rootbound serves files to MCP hosts, inside the directories an operator granted and no wider than the client's
roots. Every path is resolved once to a handle, the handle that was checked is the one used, what is stale is refused,
and why is recorded.
` + exitHelp,
		Example: `  rootbound serve ~/src/app
  rootbound call --dir . list_directory path=.
  rootbound serve --check ~/src/app ~/notes`,
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Version:           versionText(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(w.in)
	root.SetOut(w.out)
	root.SetErr(w.err)
	root.AddCommand(serveCommand(w), callCommand(w), configCommand(w), initCommand(w), versionCommand(w))
	root.AddCommand(probeCommand(w), useCommand(w), patchCommand(w), undoCommand(w))
	return root
}
