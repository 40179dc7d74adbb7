// Package rig builds the server under test once for a test binary and tells how it is started.
//
// RB_SERVER replaces the built server by another command line, words separated by blanks: the same cases can be put to
// any server that takes directories as arguments, which is how a case list is checked to have teeth.
package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// build is done once for a process; the directory is left to the caller of Clean.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rb-server-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // some servers run as another user
		return "", err
	}
	bin := filepath.Join(dir, "rootbound")
	return bin, Build(bin, "")
})

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

// Clean removes what was built. To be called after the last test.
func Clean() {
	if bin, err := build(); err == nil {
		os.RemoveAll(filepath.Dir(bin))
	}
}
