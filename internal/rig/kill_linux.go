package rig

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// How a test kills a program in front of each of its system calls:
//
//	func init() { rig.FirstThread() }
//
//	func TestMain(m *testing.M) {
//		if told := rig.Told(); told != nil {
//			rig.Leave(work(told[0])) // work calls rig.Begin before and rig.End after what is looked at
//		}
//		os.Exit(m.Run())
//	}
//
//	for _, c := range rig.Trace(t, rig.Child(dir)) {
//		if dir := fresh(t); c.Changes() && rig.Kill(t, rig.Child(dir), c) {
//			// look at what is left in dir
//		}
//	}

const (
	toldEnv   = "RB_TEST_CHILD"
	beginMark = "/rootbound-test-begins"
	endMark   = "/rootbound-test-ends"
)

// Child is this test binary once more, to do what it is told instead of running tests.
func Child(told ...string) *exec.Cmd {
	words, _ := json.Marshal(told)
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), toldEnv+"="+string(words))
	return c
}

// Told is what a Child is to do; nil in a process that runs tests.
func Told() (words []string) {
	json.Unmarshal([]byte(os.Getenv(toldEnv)), &words)
	return words
}

// FirstThread keeps a child's main goroutine on the process's first thread, the same in every run, for calls are counted by
// thread. To be called by an init function: later the goroutine may be on any.
func FirstThread() {
	if os.Getenv(toldEnv) != "" {
		runtime.LockOSThread()
	}
}

// Begin and End are called by a child around the calls that Trace is to give.
func Begin() {
	level()
	mark(beginMark)
}

// End is the other one of Begin.
func End() { mark(endMark) }

// wake is how the runtime wakes a thread that waits for files, eventfd(2). Whether one waits at that moment is chance.
const wake = `, "\1\0\0\0\0\0\0\0", 8`

// level makes the thread's writes so far as many in every run: calls are counted from the thread's beginning, and how often
// the runtime woke another thread by a write differs. proc_pid_io(5) tells how many there were.
func level() {
	const all = 64 // more than a child writes before it begins
	io, err := syscall.Open("/proc/thread-self/io", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return // the kernel does not count: then a kill is in front of an earlier write now and then
	}
	defer syscall.Close(io)
	b := make([]byte, 512)
	n, _ := syscall.Read(io, b)
	_, count, _ := strings.Cut(string(b[:max(n, 0)]), "syscw: ")
	done := 0
	fmt.Sscan(count, &done)
	null, err := syscall.Open(os.DevNull, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(null)
	for ; done < all; done++ {
		syscall.Write(null, []byte{0})
	}
}

func mark(name string) {
	if f, err := os.Open(name); err == nil { // never there: the name is what the trace shows
		f.Close()
	}
}

// Leave ends a child, with an error as its output.
func Leave(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

// Call is a system call of the child's thread between Begin and End.
type Call struct {
	Name, Args, Result string
	Nth                int // of that name since the thread began, from 1
}

// Changes is false for what only opens a file.
func (c Call) Changes() bool {
	return !strings.HasPrefix(c.Name, "openat") || strings.Contains(c.Args, "O_CREAT")
}

func (c Call) String() string { return fmt.Sprintf("%s(%s), number %d", c.Name, c.Args, c.Nth) }

// changing are the calls that change a file system, and openat, which creates.
var changing = []string{"openat", "openat2", "write", "pwrite64", "ftruncate", "fallocate", "copy_file_range", "fsync", "fdatasync", "fchmod", "fchmodat",
	"fchown", "fchownat", "fsetxattr", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdirat", "symlinkat"}

var callLine = regexp.MustCompile(`^(\w+)\((.*)\) += (\S+)`)

// Trace runs a child to its end and gives, in order, what it called between Begin and End: what changes a file system, and
// what opens a file. The test is skipped where nothing can be traced.
func Trace(t *testing.T, child *exec.Cmd) (calls []Call) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "trace")
	mayTrace(t)
	// A file for each thread: in a common one a call that another thread interrupts is split over two lines.
	c := strace(t, child, "-ff", "-s", "64", "-e", "trace="+strings.Join(changing, ","), "-o", out)
	if msg, err := c.CombinedOutput(); err != nil {
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
			if m[1] == "write" && strings.HasSuffix(m[2], wake) {
				continue // no change, and perhaps not there in the next run
			}
			seen[m[1]]++
			switch {
			case strings.Contains(m[2], beginMark):
				between = true
			case strings.Contains(m[2], endMark):
				between = false
			case between:
				calls = append(calls, Call{m[1], m[2], m[3], seen[m[1]]})
			}
		}
	}
	if len(calls) == 0 {
		t.Fatal("the trace shows nothing between Begin and End")
	}
	return calls
}

// Kill runs a child, whose output the caller may collect, up to that call of a Trace and kills it there; it is false, and
// the test failed, if the child ended otherwise.
func Kill(t *testing.T, child *exec.Cmd, at Call) bool {
	t.Helper()
	err := inject(t, child, at.Name, fmt.Sprintf("signal=SIGKILL:when=%d", at.Nth)).Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	t.Errorf("not killed at %v: %v", at, err)
	return false
}

// Failing is the child with the nth call of that name failed by errno, as in "EIO".
func Failing(t *testing.T, child *exec.Cmd, call string, nth int, errno string) *exec.Cmd {
	t.Helper()
	mayTrace(t)
	return inject(t, child, call, fmt.Sprintf("error=%s:when=%d", errno, nth))
}

func inject(t *testing.T, child *exec.Cmd, call, what string) *exec.Cmd {
	t.Helper()
	return strace(t, child, "-f", "-o", os.DevNull, "-e", "trace="+call, "-e", "inject="+call+":"+what)
}

// mayTrace skips the test where nothing can be traced. Kill does not ask again: it comes after a Trace.
func mayTrace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("environment: strace is not installed (Debian package strace)")
	}
	if out, err := exec.Command("strace", "-qq", "-e", "trace=fsync", "/bin/true").CombinedOutput(); err != nil {
		t.Skipf("environment: strace may not trace here: %s", out)
	}
}

func strace(t *testing.T, child *exec.Cmd, flags ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command("strace", append(append([]string{"-qq"}, flags...), child.Args...)...)
	c.Env, c.Dir, c.Stdout, c.Stderr = child.Env, child.Dir, child.Stdout, child.Stderr
	return c
}
