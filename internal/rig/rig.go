// Package rig builds the server under test once for a test binary and tells how it is started.
//
// RB_SERVER replaces the built server by another command line, words separated by blanks: the same cases can be put to
// any server that takes directories as arguments, which is how a case list is checked to have teeth.
package rig

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// place is the directory of the built server, once there is one.
var place atomic.Pointer[string]

// build is done once for a process; the directory is left to the caller of Clean.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rb-server-")
	if err != nil {
		return "", err
	}
	place.Store(&dir)
	if err := os.Chmod(dir, 0o755); err != nil { // some servers run as another user
		return "", err
	}
	if err := watch(); err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "rootbound")
	return bin, Build(bin, "")
})

// watch looks at every source file of the module, so that go test does not take a cached verdict for a server that was
// built from other sources: it remembers what a test looked at.
func watch() error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	return filepath.WalkDir(strings.TrimSpace(string(out)), func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") {
			_, err = os.Stat(p)
		}
		return err
	})
}

// Sabotaged builds the server with a patch of sabotage/ applied and gives its path. Only the files that the patch names are
// copied, and stand in for those of the module: what the patch does not reach is not compiled again.
func Sabotaged(tb testing.TB, patch string) string {
	tb.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		tb.Fatal(err)
	}
	from, to := strings.TrimSpace(string(out)), tb.TempDir()
	patch = filepath.Join(from, "sabotage", patch)
	text, err := os.ReadFile(patch)
	if err != nil {
		tb.Fatal(err)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for line := range strings.Lines(string(text)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "+++ b/")
		if !ok {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			tb.Fatal(err)
		}
		overlay.Replace[filepath.Join(from, name)] = filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	c := exec.Command("git", "apply", patch)
	c.Dir, c.Env = to, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(to))
	if out, err := c.CombinedOutput(); err != nil {
		tb.Fatalf("%s does not apply: %s", patch, out)
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "overlay.json"), list, 0o644); err != nil {
		tb.Fatal(err)
	}
	bin := filepath.Join(to, "rootbound-sabotaged")
	if err := Build(bin, "", "-overlay", filepath.Join(to, "overlay.json")); err != nil {
		tb.Fatal(err)
	}
	return bin
}

// Build compiles cmd/rootbound of the module at dir (empty: this one) into bin.
func Build(bin, dir string, flags ...string) error {
	c := exec.Command("go", append(append([]string{"build", "-o", bin}, flags...), "github.com/rootbound/rootbound/cmd/rootbound")...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %v\n%s", err, out)
	}
	return nil
}

// Foreign reports whether another server stands in for ours: some cases then make no sense.
func Foreign() bool { return os.Getenv("RB_SERVER") != "" }

// Binary is the path of our built binary.
func Binary(tb testing.TB) string {
	tb.Helper()
	if bin := os.Getenv("ROOTBOUND_BIN"); bin != "" {
		return bin
	}
	bin, err := build()
	if err != nil {
		tb.Fatal(err)
	}
	return bin
}

// Server is the command line that serves: to be followed by flags and directories.
func Server(tb testing.TB) []string {
	tb.Helper()
	if s := os.Getenv("RB_SERVER"); s != "" {
		argv := strings.Fields(s)
		path, err := exec.LookPath(argv[0])
		if err != nil {
			tb.Fatal(err)
		}
		argv[0] = path
		return argv
	}
	return []string{Binary(tb), "serve"}
}

// Clean removes what was built, if anything was. To be called after the last test.
func Clean() {
	if dir := place.Load(); dir != nil {
		os.RemoveAll(*dir)
	}
}
