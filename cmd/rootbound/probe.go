package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/cmd/rootbound/setting"
	"github.com/rootbound/rootbound/probe"
	"github.com/rootbound/rootbound/probe/profile"
	"github.com/rootbound/rootbound/probe/report"
	"github.com/rootbound/rootbound/probe/script"
)

// asking is what the flags of probe say.
type asking struct {
	o                                  probe.Options
	server                             probe.Server
	format, output, profile, dir, eras string
	compare                            bool
}

func probeCommand(w setting.World) *cobra.Command {
	a := &asking{}
	c := &cobra.Command{
		Use:   "probe [flags] -- COMMAND ARGS…",
		Short: "Ask any MCP server that serves files whether it keeps its boundary",
		Long: `Starts the server as a client would, once for each case, on a throw-away tree with random canaries outside what is
granted, and judges by what came back and what changed on the disk. {app} {docs} {ws} in the arguments become directories
of that tree; ws holds the other two. Tools are mapped by a built-in profile, by --profile, or by their names in
tools/list; what cannot be asked is skipped, never passed. docs/probe.md tells what each case means and how to mend what
falls. Linux only.

Exit codes: 0 every case that could be asked held; 1 something fell, or a case could not be put; 2 wrong usage, or the
server could not be probed at all.`,
		Example: `  rootbound probe -- rootbound serve {app} {docs}
  rootbound probe --race 10s --format html --output report.html --http http://127.0.0.1:{port}/mcp -- my-server --port {port} --root {ws}
  rootbound probe --compare ours.json theirs.json --format markdown`,
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(report.Formats(), a.format) {
				return setting.Misused("--format is one of %s", strings.Join(report.Formats(), ", "))
			}
			if a.compare {
				return a.beside(w, args)
			}
			return a.ask(c.Context(), w, args)
		},
	}
	f := c.Flags()
	f.StringVar(&a.format, "format", "table", "table, json, junit, sarif, markdown or html")
	f.StringVar(&a.output, "output", "", "write the report to a file; the terminal then shows the live table and the sum")
	f.BoolVar(&a.compare, "compare", false, "start nothing: show the given JSON reports beside each other")
	f.StringVar(&a.server.URL, "http", "", "the server speaks Streamable HTTP at this URL; {port} becomes a free port in it and in COMMAND")
	f.StringVar(&a.profile, "profile", "", "file that maps the server's tools to operations")
	f.StringVar(&a.dir, "cases", "", "directory of further cases, *.yaml")
	f.StringSliceVar(&a.o.Only, "only", nil, "ids, families or patterns such as 'L*'; may be repeated")
	f.StringVar(&a.eras, "era", "", "legacy or modern; default every era the server speaks")
	f.DurationVar(&a.o.Race, "race", 0, "how long each race lasts; 0: races are skipped")
	f.DurationVar(&a.o.Timeout, "timeout", 10*time.Second, "how long one answer may take")
	f.DurationVar(&a.o.Start, "start", 15*time.Second, "how long a server of --http may take until it listens")
	f.DurationVar(&a.o.StateLife, "state-life", 0, "how long a requestState of the server lives; 0: whether one expires is not asked")
	f.Uint64Var(&a.o.Seed, "seed", 1, "of the canaries")
	f.IntVar(&a.o.Jobs, "jobs", 4, "cases at once")
	f.StringArrayVar(&a.server.Env, "env", nil, "NAME or NAME=VALUE for the server, which else gets PATH, locale and a home in the tree")
	f.BoolVar(&a.o.Keep, "keep", false, "keep the trees of cases that fell")
	return c
}

func (a *asking) ask(ctx context.Context, w setting.World, args []string) error {
	if len(args) == 0 {
		return setting.Misused("which server? Give its command after --, with {app} and {docs} where it takes directories")
	}
	a.server.Command = args
	var err error
	if a.o.Cases, err = script.Cases(a.dir); err != nil {
		return setting.Misused("%s", report.Plain(err.Error())) // the files may be somebody else's
	}
	if a.profile != "" {
		if a.server.Profile, err = profile.Load(a.profile); err != nil {
			return setting.Misused("%s", report.Plain(err.Error()))
		}
	}
	if a.eras != "" {
		if a.eras != script.EraLegacy && a.eras != script.EraModern {
			return setting.Misused("--era is legacy or modern")
		}
		a.o.Eras = []string{a.eras}
	}
	// A terminal that closes and a pipe that nobody reads end the run, not this process: its servers and trees go first.
	ctx, hangup := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer hangup()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	a.o.Alone = true
	live := a.output != "" || a.format != "table" || isTerminal(os.Stderr)
	began := time.Now()
	a.o.Met = func(s probe.Subject) {
		for _, l := range met(s) {
			w.Say(report.Plain(l)) // the names are the server's
		}
	}
	a.o.Told = func(done, all int, o probe.Outcome) {
		if live {
			if _, err := fmt.Fprintf(w.Err, "%3d/%d %5.1fs  %s\n", done, all, time.Since(began).Seconds(), report.Line(o)); err != nil {
				hangup()
			}
		}
	}
	r, err := probe.Judge(ctx, a.server, a.o)
	switch {
	case r == nil || errors.Is(err, probe.ErrCannotRun):
		lines := strings.Split(err.Error(), "\n") // the server's stderr and names among them
		for i := range lines {
			lines[i] = report.Plain(lines[i])
		}
		line := strings.Join(lines, "\n")
		if b := filepath.Base(args[0]); b == "npx" || b == "uvx" || b == "bunx" || b == "pipx" {
			line += "\n" + b + " fetches a package anew for each start: install it, and name its program in the command"
		}
		return setting.Misused("%s", line)
	case err != nil:
		return setting.Failed("stopped: %v", err)
	}
	if err := a.write(w, r); err != nil {
		return err
	}
	if a.output != "" {
		w.Say(report.Sentence(r)+".", "The report is "+rootbound.Clean(a.output)+".")
	}
	switch s := r.Summary; {
	case s.Fell+s.Error > 0:
		return &setting.Failure{Code: setting.ExitFailed}
	case s.Held == 0:
		return setting.Misused("nothing could be asked: every case was skipped")
	}
	return nil
}

// met tells who was asked and which tool does what.
func met(s probe.Subject) []string {
	lines := []string{fmt.Sprintf("%s, %s, profile %s", s.Title(), strings.Join(s.Eras, " and "), s.Profile)}
	var tools []string
	for _, op := range script.Operations() {
		if t := s.Tools[op]; t != "" {
			tools = append(tools, op+"="+t)
		}
	}
	lines = append(lines, "  "+strings.Join(tools, " "))
	if len(s.Unmapped) > 0 {
		lines = append(lines, "  no tool for "+strings.Join(s.Unmapped, " ")+": such cases are skipped")
	}
	return lines
}

func (a *asking) write(w setting.World, reports ...*probe.Report) error {
	var b bytes.Buffer
	if err := report.Write(&b, a.format, reports...); err != nil {
		return setting.Misused("%v", err)
	}
	if a.output == "" {
		_, err := w.Out.Write(b.Bytes())
		return err
	}
	if err := os.WriteFile(a.output, b.Bytes(), 0o644); err != nil {
		return setting.Failed("%v", err)
	}
	return nil
}

func (a *asking) beside(w setting.World, files []string) error {
	var reports []*probe.Report
	for _, f := range files {
		in, err := os.Open(f)
		if err != nil {
			return setting.Misused("%v", err)
		}
		r, err := report.Read(in)
		in.Close()
		if err != nil {
			return setting.Misused("%s: %s", f, report.Plain(err.Error()))
		}
		reports = append(reports, r)
	}
	if len(reports) == 0 {
		return setting.Misused("which reports? Give JSON files that --format json wrote")
	}
	return a.write(w, reports...)
}
