package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rootbound/rootbound/cmd/rootbound/setting"
)

var update = flag.Bool("update", false, "write generated documents anew")

const docs = "../../docs/cli"

// TestCLIDocs keeps docs/cli equal to what --help says.
func TestCLIDocs(t *testing.T) {
	pages := map[string]string{}
	walk(command(setting.World{}), func(c *cobra.Command) {
		pages[strings.ReplaceAll(c.CommandPath(), " ", "_")+".md"] = page(t, c)
	})
	for name, want := range pages {
		file := filepath.Join(docs, name)
		if *update {
			if err := os.MkdirAll(docs, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s is stale: run make docs (%v)", file, err)
		}
	}
	there, err := os.ReadDir(docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range there {
		if _, ok := pages[e.Name()]; !ok {
			t.Errorf("%s belongs to no command", e.Name())
		}
	}
}

func walk(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" && sub.Name() != "completion" {
			walk(sub, visit)
		}
	}
}

func page(t *testing.T, c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nGenerated from the command by `make docs`; do not edit.\n\n%s.\n\n%s\n", c.CommandPath(), c.Short, strings.TrimSpace(c.Long))
	if c.Runnable() {
		fmt.Fprintf(&b, "\n    %s\n", c.UseLine())
	}
	fmt.Fprintf(&b, "\n## Examples\n\n")
	for line := range strings.SplitSeq(strings.TrimSpace(c.Example), "\n") {
		fmt.Fprintf(&b, "    %s\n", strings.TrimSpace(line))
	}
	if c.LocalFlags().HasFlags() {
		b.WriteString("\n## Flags\n\n| flag | default | meaning |\n|---|---|---|\n")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			arg, usage := pflag.UnquoteUsage(f)
			name := "--" + f.Name
			if arg != "" {
				name += " " + arg
			}
			if f.NoOptDefVal != "" && f.Value.Type() != "bool" {
				t.Errorf("%s --%s needs no value, and is shown as one that does", c.CommandPath(), f.Name)
			}
			standard := f.DefValue
			if standard == "false" || standard == "[]" {
				standard = ""
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, standard, usage)
		})
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n## Commands\n\n")
		walk(c, func(sub *cobra.Command) {
			if sub != c {
				fmt.Fprintf(&b, "- [%s](%s.md): %s\n", sub.CommandPath(), strings.ReplaceAll(sub.CommandPath(), " ", "_"), sub.Short)
			}
		})
	}
	return b.String()
}

// Every command tells its exit codes and gives three examples.
func TestHelpIsComplete(t *testing.T) {
	walk(command(setting.World{}), func(c *cobra.Command) {
		if !strings.Contains(c.Long, "Exit codes: 0 ") {
			t.Errorf("%s does not tell its exit codes", c.CommandPath())
		}
		if n := strings.Count(strings.TrimSpace(c.Example), "\n") + 1; n != 3 {
			t.Errorf("%s has %d examples", c.CommandPath(), n)
		}
	})
}
