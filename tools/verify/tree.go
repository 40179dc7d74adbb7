package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// workCopy is a copy of the working tree in which controls are removed. Its place is always the same, so that the build
// cache knows what a patch does not touch.
type workCopy struct{ dir string }

func newCopy(n int) (*workCopy, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("rootbound-verify-%d-%d", os.Getuid(), n))
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if err := copyFile(name, filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return &workCopy{dir}, nil
}

func copyFile(from, to string) error {
	st, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if st.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, b, st.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(to, st.ModTime(), st.ModTime()) // what a test reads keeps its cached result
}

func (c *workCopy) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(c.dir), "ROOTBOUND_BIN=", "RB_STORM_SECONDS=2")
	return cmd
}

// apply removes the control; undo brings it back.
func (c *workCopy) apply(patch string) (undo func(), err error) {
	if _, err := os.Stat(filepath.Join(c.dir, patch)); err != nil {
		return nil, errors.New("there is no " + patch)
	}
	if out, err := c.command("git", "apply", "--unidiff-zero", patch).CombinedOutput(); err != nil {
		if out3, err3 := c.command("patch", "-p1", "--fuzz=0", "-s", "-i", patch).CombinedOutput(); err3 != nil {
			return nil, fmt.Errorf("%s does not apply: %s%s", patch, out, out3)
		}
	}
	return func() {
		if out, err := c.command("git", "apply", "-R", "--unidiff-zero", patch).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "verify: %s cannot be taken back: %s\n", patch, out)
		}
	}, nil
}

func (c *workCopy) build() error {
	if out, err := c.command("go", "build", "./...").CombinedOutput(); err != nil {
		return fmt.Errorf("%s", out)
	}
	return nil
}

// test runs the tests that match and gives the verdict of each top-level one. A test that never ended because its process
// died counts as failed.
func (c *workCopy) test(packages []string, pattern string) (map[string]string, error) {
	args := append([]string{"test", "-json", "-vet=off", "-timeout=180s", "-run", pattern}, packages...)
	cmd := c.command("go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	verdict := map[string]string{}
	var built strings.Builder
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadBytes('\n')
		var e struct{ Action, Test, Output string }
		if json.Unmarshal(line, &e) == nil && e.Test != "" && !strings.Contains(e.Test, "/") {
			switch e.Action {
			case "run":
				verdict[e.Test] = "fail" // until it says otherwise
			case "pass", "fail", "skip":
				verdict[e.Test] = e.Action
			}
		} else if e.Action == "build-output" {
			built.WriteString(e.Output)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return nil, err
			}
			break
		}
	}
	cmd.Wait() // the verdicts say more than the exit code
	if len(verdict) == 0 {
		return nil, fmt.Errorf("no test ran: %s%s", built.String(), stderr.String())
	}
	return verdict, nil
}

// find gives each guarantee its test. Two tests for one guarantee are an error.
func find() (map[string][2]string, error) {
	out, err := exec.Command("go", "list", "-f", "{{$p := .}}{{range .TestGoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}\n{{end}}{{range .XTestGoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}\n{{end}}", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	found := map[string][2]string{}
	for line := range strings.Lines(string(out)) {
		pkg, file, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for l := range strings.Lines(string(src)) {
			rest, ok := strings.CutPrefix(l, "func ")
			if !ok {
				continue
			}
			name, _, _ := strings.Cut(rest, "(")
			m := named.FindStringSubmatch(name)
			if m == nil {
				continue
			}
			if old, twice := found[m[1]]; twice {
				return nil, fmt.Errorf("%s has two tests: %s and %s", m[1], old[1], name)
			}
			found[m[1]] = [2]string{pkg, name}
		}
	}
	return found, nil
}

const redSets = "sabotage/red-sets.txt"

func readRedSets() (map[string][]string, error) {
	sets := map[string][]string{}
	b, err := os.ReadFile(redSets)
	if errors.Is(err, os.ErrNotExist) {
		return sets, nil
	}
	for line := range strings.Lines(string(b)) {
		id, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok && !strings.HasPrefix(line, "#") {
			sets[id] = strings.Fields(rest)
		}
	}
	return sets, err
}

func writeRedSets(rows []*row, old map[string][]string) error {
	for _, r := range rows {
		if r.set != nil {
			old[r.id] = r.set
		}
	}
	var b strings.Builder
	b.WriteString("# Which guarantees' tests turn red when the control of one is removed. Written by: go run ./tools/verify -full -update\n")
	for _, id := range guarantees {
		if set := old[id]; len(set) > 0 {
			slices.Sort(set)
			fmt.Fprintf(&b, "%s: %s\n", id, strings.Join(set, " "))
		}
	}
	return os.WriteFile(redSets, []byte(b.String()), 0o644)
}
