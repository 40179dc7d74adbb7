package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/cmd/rootbound/setting"
)

// misuse is what the command line's own parser says, in one line, with what was probably meant and where to look.
func misuse(c *cobra.Command, err error) string {
	text, near, _ := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	names := strings.Fields(near)
	if name, ok := strings.CutPrefix(text, "unknown flag: --"); ok {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if plain(f.Name) == plain(name) || strings.HasPrefix(f.Name, name) || edits(f.Name, name) <= min(2, len(name)/3) {
				names = append(names, "--"+f.Name)
			}
		})
	}
	rest, unknown := strings.CutPrefix(text, "unknown command ")
	switch {
	case len(names) > 0:
		text += "; did you mean " + strings.Join(names, " or ") + "?"
	case unknown && c.HasSubCommands():
		text += "; there are " + strings.Join(commands(c), ", ")
	case unknown:
		word, _, _ := strings.Cut(rest, " for ")
		text = word + " is too much: " + c.CommandPath() + " takes no arguments"
	}
	return text + " (see " + c.CommandPath() + " --help)"
}

// strict lets no word pass that names nothing: cobra shows the help of the command above it, and ends well.
func strict(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	root.SetHelpCommand(helpCommand(root))
	for _, group := range root.Commands() {
		if group.HasSubCommands() && !group.Runnable() {
			group.Args = cobra.ArbitraryArgs
			group.DisableFlagsInUseLine = true
			group.RunE = func(c *cobra.Command, args []string) error {
				if len(args) == 0 {
					return c.Help()
				}
				return noCommand(c, args[0])
			}
		}
	}
}

func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Tell what a command does",
		Long: "Tells what a command does, as COMMAND --help does. What the tools of a server take is told by: rootbound call --dir . help TOOL",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return commands(c), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				if c == nil || len(rest) == 0 {
					c, rest = root, args
				}
				return noCommand(c, rest[0])
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

// noCommand says what there is in its place.
func noCommand(c *cobra.Command, word string) error {
	text := "unknown command " + rootbound.Quote(word) + " for " + rootbound.Quote(c.CommandPath())
	if c.SuggestionsMinimumDistance == 0 {
		c.SuggestionsMinimumDistance = 2
	}
	switch near := c.SuggestionsFor(word); {
	case len(near) > 0:
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	case c.HasSubCommands():
		text += "; there are " + strings.Join(commands(c), ", ")
	default:
		text = rootbound.Quote(word) + " is no command below " + rootbound.Quote(c.CommandPath())
	}
	return setting.Misused("%s (see %s --help)", text, c.CommandPath())
}

func plain(flag string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(flag))
}

// edits is how many bytes must be put in, taken out or replaced to make one word of the other.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			other := 1
			if a[i] == b[j] {
				other = 0
			}
			row[j+1] = min(last[j]+other, last[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// commands are the names of those directly below.
func commands(c *cobra.Command) (names []string) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}
