package undo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/state"
	"github.com/rootbound/rootbound/patch"
)

// The child of the tests below applies one patch on one thread, between two marks that a system-call trace shows.
const (
	childEnv  = "ROOTBOUND_UNDO_CHILD" // what to do, the directory that holds the project, and the state directory
	beginMark = "/rootbound-test-begins"
	endMark   = "/rootbound-test-ends"
)

// init keeps the child's main goroutine on the process's first thread, the same in every run.
func init() {
	if os.Getenv(childEnv) != "" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	f := strings.Fields(os.Getenv(childEnv))
	if len(f) != 3 {
		os.Exit(m.Run())
	}
	do := map[string]func(tmp, stateDir string) error{"apply": child, "full": full, "bound": bound}[f[0]]
	if err := do(f[1], f[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	fmt.Println("applied")
	os.Exit(0)
}

func child(tmp, stateDir string) error {
	h, err := furnish(tmp, stateDir, Options{})
	if err != nil {
		return err
	}
	d, err := state.Open(stateEnv(h.state))
	if err != nil {
		return err
	}
	journal, err := d.Journal()
	if err != nil {
		return err
	}
	h.g = guard.New(guard.Options{Keep: h.s, Locks: h.locks, Journal: journal})
	ctx, done, err := h.enter()
	if err != nil {
		return err
	}
	defer done()
	_, _ = os.Open(beginMark)
	_, err = patch.Apply(ctx, h.g, "p", change(), nil)
	_, _ = os.Open(endMark)
	return err
}

// change is a patch with a file of each kind.
func change() []patch.File {
	on := true
	return []patch.File{
		{Path: "a", After: []byte("new a\n")},
		{Path: "d/b", Delete: true},
		{Path: "d/c", Before: "absent", After: []byte("new c\n")},
		{Path: "run", After: []byte("#!/bin/sh\n"), Exec: &on},
	}
}

func project(t testing.TB, dir string) {
	put(t, dir+"/a", "old a\n")
	put(t, dir+"/d/b", "old b\n")
	put(t, dir+"/run", "#!/bin/sh\n")
}

var changing = []string{"openat", "openat2", "write", "pwrite64", "ftruncate", "fallocate", "copy_file_range", "fsync", "fdatasync", "fchmod", "fchmodat",
	"fchown", "fchownat", "fsetxattr", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdirat", "symlinkat"}

func needStrace(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("environment: strace is not installed (Debian package strace)")
	}
	if out, err := exec.Command(path, "-qq", "-e", "trace=fsync", "/bin/true").CombinedOutput(); err != nil {
		t.Skipf("environment: strace may not trace here: %s", out)
	}
	return path
}

func childCommand(name string, args []string, do, tmp, stateDir string) *exec.Cmd {
	cmd := exec.Command(name, append(args, os.Args[0])...)
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{do, tmp, stateDir}, " "))
	return cmd
}

type call struct {
	name, args string
	nth        int // of that name since the thread began, from 1
}

var callLine = regexp.MustCompile(`^(\w+)\((.*)\) += (\S+)`)

// traced gives the calls of one whole run between the marks.
func traced(t *testing.T, strace, tmp, stateDir string) (calls []call) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "trace")
	cmd := childCommand(strace, []string{"-ff", "-qq", "-s", "64", "-e", "trace=" + strings.Join(changing, ","), "-o", out}, "apply", tmp, stateDir)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, msg)
	}
	files, err := filepath.Glob(out + ".*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		between, seen := false, map[string]int{}
		for line := range strings.Lines(string(text)) {
			m := callLine.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			seen[m[1]]++
			switch {
			case strings.Contains(m[2], beginMark):
				between = true
			case strings.Contains(m[2], endMark):
				between = false
			case between && (!strings.HasPrefix(m[1], "openat") || strings.Contains(m[2], "O_CREAT")):
				calls = append(calls, call{m[1], m[2], seen[m[1]]})
			}
		}
	}
	if len(calls) < 20 {
		t.Fatalf("the trace shows %d calls: %+v", len(calls), calls)
	}
	return calls
}

// restart is what a server does at its start: roll back, then remove temporary files.
func restart(t *testing.T, tmp, stateDir string) (h *house, notes []string) {
	t.Helper()
	// Two hours later, so that what was cut short in the store is no longer taken for what is being made.
	h, err := furnish(tmp, stateDir, Options{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.s.Close(); h.locks.Close() })
	notes = h.s.Recover(t.Context(), h.projects, h.locks)
	d, err := state.Open(stateEnv(h.state))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Recover(t.Context(), state.RemoveLeftover); err != nil {
		t.Error(err)
	}
	return h, notes
}

// between lets a test act when everything is staged and written down and nothing is visible.
type between struct {
	guard.Keeper
	act func()
}

func (b between) Keep(ctx context.Context, c guard.Change) (guard.Kept, error) {
	k, err := b.Keeper.Keep(ctx, c)
	b.act()
	return k, err
}

// TestG35ApplyIsAllOrNothing: whatever stops a patch, every file holds what it held, or every file what it was to hold.
func TestG35ApplyIsAllOrNothing(t *testing.T) {
	t.Run("another program changes one of the files", func(t *testing.T) {
		for _, file := range []string{"a", "d/b", "d/c", "run"} {
			h := build(t, Options{})
			project(t, h.dir)
			before := listing(t, h.dir)
			after := ""
			_, err := patch.Apply(h.ctx, h.g, "p", change(), between{h.s, func() {
				put(t, h.dir+"/"+file, "theirs\n")
				after = listing(t, h.dir)
			}})
			if r := rootbound.ReasonOf(err); r != rootbound.VersionConflict && r != rootbound.Exists {
				t.Errorf("%s: %v", file, err)
			}
			after = visible(after)
			if got := visible(listing(t, h.dir)); got != after || !strings.Contains(got, "theirs") {
				t.Errorf("%s: from\n%s\nto\n%s", file, before, got)
			}
			if left := names(t, h.state+"/undo/begun"); len(left) > 0 {
				t.Errorf("%s: the journal still says that it has begun: %v", file, left)
			}
		}
	})
	t.Run("killed", func(t *testing.T) { killed(t, func(tmp string) string { return tmp + "/state" }) })
	t.Run("killed, with the state on another file system", func(t *testing.T) {
		if os.Getenv("RB_LONG") == "" {
			t.Skip("environment: set RB_LONG=1 for the long form")
		}
		killed(t, func(string) string { return elsewhere(t) })
	})
}

// visible leaves temporary names out.
func visible(list string) string {
	var b strings.Builder
	for line := range strings.Lines(list) {
		if !strings.Contains(line, beneath.TempPrefix) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// killed ends the process in front of every call that changes something, and starts anew.
func killed(t *testing.T, stateFor func(tmp string) string) {
	strace := needStrace(t)
	fresh := func() (tmp, stateDir, before string) {
		tmp = t.TempDir()
		stateDir = stateFor(tmp)
		project(t, tmp+"/p")
		h, err := furnish(tmp, stateDir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		h.s.Close()
		h.locks.Close()
		return tmp, stateDir, listing(t, tmp+"/p")
	}
	tmp, stateDir, old := fresh()
	calls := traced(t, strace, tmp, stateDir)
	done := listing(t, tmp+"/p")
	if strings.Contains(done, beneath.TempPrefix) || done == old {
		t.Fatalf("without a kill:\n%s", done)
	}
	back, forth := 0, 0
	for _, c := range calls {
		tmp, stateDir, old := fresh()
		inject := fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", c.name, c.nth)
		cmd := childCommand(strace, []string{"-f", "-qq", "-o", "/dev/null", "-e", "trace=" + c.name, "-e", inject}, "apply", tmp, stateDir)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err == nil || !errors.As(err, &exit) {
			t.Errorf("not killed at %s number %d: %v %s", c.name, c.nth, err, out)
			continue
		}
		h, notes := restart(t, tmp, stateDir)
		// A file that was made and not yet written down is empty and has a name that tells what it is.
		got := visible(listing(t, tmp+"/p"))
		switch {
		case got == old:
			back++
		case got == done:
			forth++
		default:
			t.Errorf("killed at %s(%s): neither all old nor all new:\n%s%q", c.name, c.args, got, notes)
		}
		if acknowledged := strings.Contains(string(out), "applied"); acknowledged && got != done {
			t.Errorf("killed at %s(%s): acknowledged and taken back", c.name, c.args)
		}
		for _, note := range notes {
			if !strings.Contains(note, "was rolled back") {
				t.Errorf("killed at %s(%s): %s", c.name, c.args, note)
			}
		}
		if n := names(t, h.state+"/undo/begun"); len(n) > 0 {
			t.Errorf("killed at %s(%s): begun holds %v", c.name, c.args, n)
		}
		if n := names(t, h.state+"/undo/data"); got == old && len(n) > 0 {
			t.Errorf("killed at %s(%s): the store holds %v", c.name, c.args, n)
		}
	}
	t.Logf("killed at %d calls: %d times all old, %d times all new", len(calls), back, forth)
	if back == 0 || forth == 0 {
		t.Error("the calls before and after the end of the change are not both among them")
	}
}
