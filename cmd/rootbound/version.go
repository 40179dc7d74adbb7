package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is the module's version, or the commit it was built from.
func version() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := b.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				v += "+" + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return v
}

func versionText() string { return "rootbound " + version() }

func versionCommand(w world) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version and the protocol revisions that are spoken", Args: cobra.NoArgs,
		Long: "Prints the version of this program and the revisions of the Model Context Protocol it speaks.\n" + exitHelp,
		Example: `  rootbound version
  rootbound --version
  rootbound version | head -1`,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(w.out, "%s\nMCP 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28\n", versionText())
			return err
		},
	}
}
