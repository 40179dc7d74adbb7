package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound/cmd/rootbound/setting"
)

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// ran is what a command line comes to, where nothing may be started: the code and what was said.
func ran(t *testing.T, args ...string) (code int, out, said string) {
	t.Helper()
	var o, e bytes.Buffer
	w := setting.World{In: io.NopCloser(strings.NewReader("")), Out: discard{&o}, Err: &e, Getenv: func(string) string { return "" }, Terminal: func() bool { return false }}
	code = run(t.Context(), w, args)
	return code, o.String(), e.String()
}

// TestMisuse: whatever the command, a flag, a word or a command that it does not have is code 2 and one line that says where
// to look, and its help is code 0.
func TestMisuse(t *testing.T) {
	var commands, groups, closed [][]string
	walk(command(setting.World{}), func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		commands = append(commands, path)
		switch {
		case c.HasSubCommands():
			groups = append(groups, path)
		case c.Args != nil && c.Args(c, []string{"x"}) != nil && c.Args(c, nil) == nil:
			closed = append(closed, path)
		}
	})
	groups, commands = append(groups, []string{"completion"}), append(commands, []string{"completion"}, []string{"completion", "bash"})
	if len(commands) < 18 || len(groups) < 4 || len(closed) < 4 {
		t.Fatalf("%d commands, %d groups, %d without arguments", len(commands), len(groups), len(closed))
	}
	// What an amount of words comes to is in our words, whatever the command takes.
	walk(command(setting.World{}), func(c *cobra.Command) {
		for n := range 4 {
			if c.Args == nil {
				continue
			}
			if err := c.Args(c, []string{"x", "y", "z"}[:n]); err != nil && strings.Contains(misuse(c, err), "arg(s)") {
				t.Errorf("%s with %d words: %q", c.CommandPath(), n, misuse(c, err))
			}
		}
	})
	misused := func(args []string, want string) {
		code, out, said := ran(t, args...)
		if code != setting.ExitMisused || out != "" || strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "Error: ") || !strings.Contains(said, want) || !strings.Contains(said, "--help)") {
			t.Errorf("%q: code %d, %q, %q, want 2 and %q", args, code, out, said, want)
		}
	}
	with := func(path []string, more ...string) []string { return append(append([]string{}, path...), more...) }
	for _, path := range commands {
		misused(with(path, "--no-such-flag"), "unknown flag: --no-such-flag")
		misused(with(append([]string{"help"}, path...), "nothing"), `"nothing"`)
		for _, help := range [][]string{with(path, "--help"), with([]string{"help"}, path...)} {
			if code, out, said := ran(t, help...); code != setting.ExitDone || !strings.Contains(out, "Usage:") || said != "" {
				t.Errorf("%q: code %d, %.80q, %q", help, code, out, said)
			}
		}
	}
	for _, path := range groups {
		misused(with(path, "nothing"), `unknown command "nothing" for "`+strings.TrimSpace("rootbound "+strings.Join(path, " "))+`"; there are `)
	}
	for _, path := range closed {
		misused(with(path, "x"), `"x" is too much: rootbound `+strings.Join(path, " ")+" takes no arguments")
	}
	misused([]string{"config", "chekc"}, "did you mean check?")
	misused([]string{"help", "serv"}, "did you mean serve?")
	misused([]string{"help", "no\x1b[2Jthing"}, `"no\x1b[2Jthing"`)
}
