package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound/cmd/rootbound/setting"
)

func versionText() string { return "rootbound " + setting.Version() }

func versionCommand(w setting.World) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version and the protocol revisions that are spoken", Args: cobra.NoArgs,
		Long: "Prints the version of this program and the revisions of the Model Context Protocol it speaks.\n" + setting.ExitHelp,
		Example: `  rootbound version
  rootbound --version
  rootbound version | head -1`,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(w.Out, "%s\nMCP 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28\n", versionText())
			return err
		},
	}
}
