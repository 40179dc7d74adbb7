// Command rootbound serves files inside approved roots to MCP hosts.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound/cmd/rootbound/person"
	"github.com/rootbound/rootbound/cmd/rootbound/setting"
)

func main() { os.Exit(realMain()) }

func realMain() int {
	if os.Getenv("MCPGODEBUG") != "" {
		// It takes fixes of the protocol library back, and was read before main: begin again without it.
		if err := restart("MCPGODEBUG"); err != nil {
			fmt.Fprintln(os.Stderr, "Error: unset MCPGODEBUG: it takes fixes of the protocol library back")
			return setting.ExitMisused
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w := setting.World{In: stdin(), Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Terminal: func() bool { return isTerminal(os.Stdin) }}
	return run(ctx, w, os.Args[1:])
}

func run(ctx context.Context, w setting.World, args []string) int {
	root := command(w)
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	if err == nil {
		return setting.ExitDone
	}
	var f *setting.Failure
	if !errors.As(err, &f) {
		f = &setting.Failure{Code: setting.ExitMisused, Line: misuse(c, err)} // cobra's own: flags and arguments
	}
	if f.Line != "" {
		fmt.Fprintln(w.Err, "Error: "+f.Line)
	}
	return f.Code
}

func command(w setting.World) *cobra.Command {
	root := &cobra.Command{
		Use:   "rootbound",
		Short: "Serve files inside approved roots to MCP hosts",
		Long: `rootbound serves files to MCP hosts, inside the directories an operator granted and no wider than the client's
roots. Every path is resolved once to a handle, the handle that was checked is the one used, what is stale is refused,
and why is recorded.
` + setting.ExitHelp,
		Example: `  rootbound serve ~/src/app
  rootbound call --dir . list_directory path=.
  rootbound serve --check ~/src/app ~/notes`,
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Version:           versionText(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(w.In)
	root.SetOut(w.Out)
	root.SetErr(w.Err)
	root.AddCommand(serveCommand(w), callCommand(w), probeCommand(w), versionCommand(w))
	root.AddCommand(person.Commands(w)...)
	strict(root)
	return root
}
