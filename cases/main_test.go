//go:build linux

package cases

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound/internal/rig"
)

// roleEnv tells a re-executed test binary what it is: the test inside its mount namespace, a launcher that arranges the
// process under test and then becomes it, or its tracer.
const roleEnv = "RB_CASES_ROLE"

// base is the directory all worlds are made in; others may search it, since some servers run as another user.
var base string

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleEnv); {
	case role == "" && os.Getuid() == 0:
		os.Exit(inNamespace())
	case role == "" || role == "inner":
		os.Exit(inner(m))
	case strings.HasPrefix(role, "{"):
		var l launch
		if err := json.Unmarshal([]byte(role), &l); err != nil {
			fmt.Fprintln(os.Stderr, "cases:", err)
			os.Exit(99)
		}
		os.Unsetenv(roleEnv)
		if l.Trace {
			os.Exit(tracer(l))
		}
		fmt.Fprintln(os.Stderr, "cases: launch:", l.become())
		os.Exit(99)
	}
}

// inNamespace runs the same test binary with mounts of its own, so that whatever a case mounts ends with the test.
func inNamespace() int {
	c := exec.Command("/proc/self/exe", os.Args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = append(os.Environ(), roleEnv+"=inner")
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the death signal follows the thread that started the child
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "cases: no private mount namespace:", err)
	return inner2()
}

// inner2 goes on without a namespace: the cases that mount are skipped by name.
func inner2() int {
	c := exec.Command("/proc/self/exe", os.Args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = append(os.Environ(), roleEnv+"=inner", "RB_CASES_NO_MOUNTS=1")
	if err := c.Run(); err != nil {
		return 1
	}
	return 0
}

func inner(m *testing.M) int {
	os.Unsetenv(roleEnv)
	unix.Umask(0o022)
	dir, err := os.MkdirTemp("", "rb-cases-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "cases:", err)
		return 1
	}
	if dir, err = filepath.EvalSymlinks(dir); err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cases:", err)
		return 1
	}
	base = dir
	flag.Parse()
	flag.Set("test.parallel", "6") // a case mostly waits for processes
	code := m.Run()
	if bad := skips.unlisted(); len(bad) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: skipped, but not in skips.txt:\n\t%s\n", strings.Join(bad, "\n\t"))
		code = max(code, 1)
	}
	if os.Getenv("RB_CASES_KEEP") == "" {
		os.RemoveAll(base)
		rig.Clean()
	}
	return code
}

// mounts reports whether this process may mount in a namespace of its own.
func mounts() bool { return os.Getuid() == 0 && os.Getenv("RB_CASES_NO_MOUNTS") == "" }

// skipList holds skips.txt and what was skipped. A line is "LIST/ID reason"; '*' in the ID stands for any text.
type skipList struct {
	mu     sync.Mutex
	loaded bool
	lines  []string
	bad    []string
}

var skips skipList

// skip ends a subtest whose case cannot be expressed here and checks that the committed list says so.
func skip(t *testing.T, name, reason string) {
	t.Helper()
	skips.mu.Lock()
	listed := skips.lists(name)
	if !listed {
		skips.bad = append(skips.bad, name+" "+reason)
	}
	skips.mu.Unlock()
	fmt.Printf("skipped: %s: %s\n", name, reason)
	t.Skip(reason)
}

func (s *skipList) lists(name string) bool {
	if !s.loaded {
		s.loaded = true
		f, err := os.Open("skips.txt")
		if err != nil {
			return false
		}
		defer f.Close()
		for r := bufio.NewScanner(f); r.Scan(); {
			if line := strings.TrimSpace(r.Text()); line != "" && line[0] != '#' {
				s.lines = append(s.lines, strings.Fields(line)[0])
			}
		}
	}
	return slices.ContainsFunc(s.lines, func(p string) bool {
		ok, _ := filepath.Match(p, name)
		return ok
	})
}

func (s *skipList) unlisted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bad)
}
