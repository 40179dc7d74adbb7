// Package person holds the commands of the person who owns the files: what is granted and in force, which patches that wait
// are applied, and what is taken back.
package person

import (
	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound/cmd/rootbound/setting"
)

// Commands are all of them.
func Commands(w setting.World) []*cobra.Command {
	return []*cobra.Command{configCommand(w), initCommand(w), useCommand(w), patchCommand(w), undoCommand(w)}
}
