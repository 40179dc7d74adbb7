// Command bench measures rootbound against named rivals and writes docs/benchmarks.md.
//
// Everything is a ratio of medians from interleaved rounds of one run: the rival and ours take turns, so that a noisy
// machine is noisy for both. Rivals are bare system calls, os.Root and filepath.WalkDir inside Go benchmarks, and over
// stdio a bare go-sdk server and the official filesystem server, driven by one small client.
//
// Usage: go run ./tools/bench [-only go|stdio|reads|contents] [-rounds N] [-quick] [-out FILE]. It needs npm for the official server, whose rows are
// left out, and said to be, where it cannot be installed. Exit 1 if a ratio misses its bound.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// row is one line of the table.
type row struct {
	what, rival string
	bound       string  // as written in the table
	limit       float64 // of ratio; 0: reported only
	atLeast     bool    // the ratio must not be smaller than the limit
	ratio       float64
	rate        float64 // of calls a second, where calls were counted
	note        string
	missing     string // why it was not measured
}

func (r row) holds() bool {
	switch {
	case r.missing != "":
		return false
	case r.limit == 0:
		return true
	case r.atLeast:
		return r.ratio >= r.limit
	}
	return r.ratio <= r.limit
}

// progress shows on stderr what was measured so far: a whole run takes some fifteen minutes.
func progress(what string, ratio float64) {
	fmt.Fprintf(os.Stderr, "%s  %-7.3g %s\n", time.Now().Format("15:04:05"), ratio, what)
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "-echo" {
		echo(os.Args[2])
		return
	}
	rounds := flag.Int("rounds", 7, "interleaved rounds of each process-level row")
	quick := flag.Bool("quick", false, "few rounds and small trees: shows that it runs, proves nothing")
	only := flag.String("only", "", "go, stdio or, of the latter, reads or contents: measure only that, and write no file")
	out := flag.String("out", "docs/benchmarks.md", "file to write; empty: none")
	flag.Parse()
	if *only != "" {
		*out = ""
	}
	if err := run(*rounds, *quick, *only, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(rounds int, quick bool, only, out string) error {
	tmp, err := os.MkdirTemp("", "rootbound-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	binary := filepath.Join(tmp, "rootbound")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "./cmd/rootbound") // as make build does
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building: %v\n%s", err, b)
	}
	var rows []row
	if only != "stdio" && only != "reads" && only != "contents" {
		if rows, err = inGo(quick); err != nil {
			return err
		}
	}
	if only == "contents" {
		if rows, err = contents(tmp, binary, rounds, quick); err != nil {
			return err
		}
	} else if only != "go" {
		more, err := overStdio(tmp, binary, rounds, quick, only)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	text := table(rows, quick)
	fmt.Print(text)
	if out != "" && !quick {
		if err := os.WriteFile(out, []byte(text), 0o644); err != nil {
			return err
		}
	}
	bad := 0
	for _, r := range rows {
		if !r.holds() {
			bad++
		}
	}
	if bad > 0 && !quick {
		return fmt.Errorf("%d of %d rows miss their bound or were not measured", bad, len(rows))
	}
	return nil
}

func table(rows []row, quick bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmarks\n\nWritten by `make bench` on %s with %s, %d processors, %s; do not edit. Each figure is a ratio of medians from interleaved\n"+
		"rounds of this one run; absolute times depend on the machine and stand only in the notes.\n\n", time.Now().UTC().Format("2006-01-02"), runtime.Version(), runtime.NumCPU(), kernel())
	if quick {
		b.WriteString("A quick run: it shows that the programs run and proves nothing.\n\n")
	}
	b.WriteString("| measured | against | bound | ratio | holds | notes |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		if r.missing != "" {
			fmt.Fprintf(&b, "| %s | %s | %s | – | not measured | %s |\n", r.what, r.rival, r.bound, r.missing)
			continue
		}
		holds := "yes"
		if r.limit == 0 {
			holds = "reported"
		} else if !r.holds() {
			holds = "**no**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.3g | %s | %s |\n", r.what, r.rival, r.bound, r.ratio, holds, r.note)
	}
	return b.String()
}

func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return "Linux " + strings.SplitN(strings.TrimSpace(string(b)), "-", 2)[0]
}
