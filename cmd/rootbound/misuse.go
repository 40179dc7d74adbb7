package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// misuse is what the command line's own parser says, in one line, with what was probably meant and where to look.
func misuse(c *cobra.Command, err error) string {
	text, near, _ := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	names := strings.Fields(near)
	if name, ok := strings.CutPrefix(text, "unknown flag: --"); ok {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if plain(f.Name) == plain(name) || strings.HasPrefix(f.Name, name) || edits(f.Name, name) <= 2 {
				names = append(names, "--"+f.Name)
			}
		})
	}
	if len(names) > 0 {
		text += "; did you mean " + strings.Join(names, " or ") + "?"
	}
	return text + " (see " + c.CommandPath() + " --help)"
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
