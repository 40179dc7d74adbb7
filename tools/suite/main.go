// Command suite runs go test for the given packages, prints what go test prints, and fails on a skipped test that the
// committed list does not name.
//
//	go run ./tools/suite [-skips cases/skips.txt] [go test flags] ./...
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

func main() {
	skips := flag.String("skips", "cases/skips.txt", "list of the skips that are allowed")
	flag.Parse()
	code, err := run(*skips, flag.Args(), os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		code = 1
	}
	os.Exit(code)
}

// event is a line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

func run(skips string, args []string, out io.Writer) (int, error) {
	allowed, err := patterns(skips)
	if err != nil {
		return 1, err
	}
	c := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	c.Stderr = os.Stderr
	pipe, err := c.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := c.Start(); err != nil {
		return 1, err
	}
	skipped := show(pipe, out)
	failed := c.Wait() != nil
	var unlisted []string
	for _, s := range skipped {
		if !slices.ContainsFunc(allowed, func(p string) bool { ok, _ := path.Match(p, s); return ok }) {
			unlisted = append(unlisted, s)
		}
	}
	fmt.Fprintf(out, "skipped: %d tests, %d of them not in %s\n", len(skipped), len(unlisted), skips)
	for _, s := range unlisted {
		fmt.Fprintln(out, "FAIL: skipped, but not listed:", s)
	}
	if failed || len(unlisted) > 0 {
		return 1, nil
	}
	return 0, nil
}

// show prints packages as they end, and of tests only what failed. It returns the names of skipped tests, as the list
// spells them: room:Test. The cases check their own skips, case by case, and are left out.
func show(in io.Reader, out io.Writer) (skipped []string) {
	text := map[string]*strings.Builder{} // by package and test, until it ends
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				out.Write(line) // the build talks in plain text
			} else if s := e.take(text, out); s != "" {
				skipped = append(skipped, s)
			}
		}
		if err != nil {
			return skipped
		}
	}
}

func (e event) take(text map[string]*strings.Builder, out io.Writer) (skipped string) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		io.WriteString(out, e.Output)
	case "output":
		if e.Test == "" {
			if !strings.HasPrefix(e.Output, "skipped: ") && e.Output != "PASS\n" {
				io.WriteString(out, e.Output)
			}
			return ""
		}
		b := text[key]
		if b == nil {
			b = &strings.Builder{}
			text[key] = b
		}
		if !strings.HasPrefix(e.Output, "=== ") {
			b.WriteString(e.Output)
		}
	case "fail":
		if b := text[key]; b != nil {
			io.WriteString(out, b.String())
		}
		delete(text, key)
	case "pass", "skip":
		delete(text, key)
		if e.Action == "skip" && e.Test != "" && !strings.HasSuffix(e.Package, "/cases") {
			_, room, _ := strings.Cut(e.Package, "rootbound/rootbound")
			return strings.TrimPrefix(room, "/") + ":" + strings.ReplaceAll(e.Test, "/", ".")
		}
	}
	return ""
}

func patterns(file string) ([]string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 0 && !strings.HasPrefix(f[0], "#") {
			out = append(out, f[0])
		}
	}
	return out, nil
}
