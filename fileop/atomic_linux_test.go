package fileop

import (
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

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/text"
)

// The child of the tests below: one operation on one thread, between two marks that a system-call trace shows.
const (
	childEnv  = "ROOTBOUND_FILEOP_CHILD" // operation and directory
	beginMark = "/rootbound-test-begins"
	endMark   = "/rootbound-test-ends"
)

// init keeps the child's main goroutine on the process's first thread, the same in every run: later it may be any.
func init() {
	if os.Getenv(childEnv) != "" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	op, dir, ok := strings.Cut(os.Getenv(childEnv), " ")
	if !ok {
		os.Exit(onFilesystem(m))
	}
	if err := child(op, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

const (
	oldLine = "the old line\r\n"
	newLine = "the new line\r\n"
)

// oldBytes and newBytes are what "f" holds before and after each operation; create begins without a file.
func oldBytes() string { return strings.Repeat(oldLine, 2000) + "edit me\r\n" }

func newBytes(op string) string {
	if op == "edit" {
		return strings.Repeat(oldLine, 2000) + "edited\r\n"
	}
	if op == "append" {
		return oldBytes() + newLine
	}
	return strings.Repeat(newLine, 3000)
}

func child(op, dir string) error {
	if op == "full" {
		return fullDisk(dir)
	}
	p, err := placeAt(dir, "f")
	if err != nil {
		return err
	}
	defer p.close()
	_, _ = os.Open(beginMark)
	switch op {
	case "append":
		_, err = Append(bg, p, []byte(newLine), Expected{}, 0)
	case "copy":
		if p.source, err = p.entry.Lstat(); err == nil {
			var to *place
			if to, err = placeAt(dir, "g"); err == nil {
				defer to.close()
				both := *p
				both.dest = to.entry
				_, err = Copy(bg, &both, Expected{})
			}
		}
	case "delete":
		if p.source, err = p.entry.Lstat(); err == nil {
			_, err = Delete(bg, p, Expected{})
		}
	case "edit":
		_, err = EditFile(bg, p, []text.Edit{{Old: "edit me\n", New: "edited\n"}}, EditOptions{})
	default:
		_, err = Write(bg, p, []byte(newBytes(op)), Expected{})
	}
	_, _ = os.Open(endMark)
	return err
}

// changing are the calls that change a file system, and openat, which creates.
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

func childCommand(name string, args []string, op, dir string) *exec.Cmd {
	cmd := exec.Command(name, append(args, os.Args[0])...)
	cmd.Env = append(os.Environ(), childEnv+"="+op+" "+dir)
	return cmd
}

// call is a system call of the child's thread between the marks.
type call struct {
	name, args string
	nth        int // of that name since the thread began, counted from 1, for strace's when=
	result     string
}

var callLine = regexp.MustCompile(`^(\w+)\((.*)\) += (\S+)`)

// traced runs op and gives its calls.
func traced(t *testing.T, strace, op, dir string) []call {
	t.Helper()
	out := filepath.Join(t.TempDir(), "trace")
	// A file for each thread: in a common one a call that another thread interrupts is split over two lines.
	cmd := childCommand(strace, []string{"-ff", "-qq", "-s", "64", "-e", "trace=" + strings.Join(changing, ","), "-o", out}, op, dir)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, msg)
	}
	files, err := filepath.Glob(out + ".*")
	if err != nil {
		t.Fatal(err)
	}
	var calls []call
	for _, file := range files {
		between := false
		seen := map[string]int{}
		for line := range strings.Lines(get(t, file)) {
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
			case between:
				calls = append(calls, call{m[1], m[2], seen[m[1]], m[3]})
			}
		}
	}
	if len(calls) < 4 {
		t.Fatalf("the trace shows %d calls: %+v", len(calls), calls)
	}
	return calls
}

func prepare(t *testing.T, op string) string {
	t.Helper()
	dir := t.TempDir()
	if op != "create" {
		put(t, dir+"/f", oldBytes())
	}
	return dir
}

// oldOrNew checks what a crash left: the old bytes or the new ones, and beside them nothing but known names.
func oldOrNew(t *testing.T, op, dir string) {
	t.Helper()
	got, err := os.ReadFile(dir + "/f")
	switch {
	case errors.Is(err, os.ErrNotExist) && op == "create":
	case err != nil:
		t.Errorf("%s: %v", op, err)
	case string(got) == newBytes(op), op != "create" && string(got) == oldBytes():
	default:
		t.Errorf("%s: %d bytes that are neither the old ones nor the new ones", op, len(got))
	}
	all, _ := os.ReadDir(dir)
	if known := len(leftovers(t, dir)); len(all) > known+1 {
		t.Errorf("%s: unknown names are left: %v", op, all)
	}
}

// TestG15WritesAreAtomic kills the process in front of every call that changes something, and replays what a crash of the
// machine could have left at each of them.
func TestG15WritesAreAtomic(t *testing.T) {
	strace := needStrace(t)
	for _, op := range []string{"create", "replace", "edit", "append"} {
		t.Run(op, func(t *testing.T) {
			dir := prepare(t, op)
			calls := traced(t, strace, op, dir)
			if got := get(t, dir+"/f"); got != newBytes(op) {
				t.Fatalf("without a kill: %d bytes", len(got))
			}
			oldOrNew(t, op, dir)
			replay(t, op, calls)

			killed := 0
			for _, c := range calls {
				if strings.HasPrefix(c.name, "openat") && !strings.Contains(c.args, "O_CREAT") {
					continue
				}
				dir := prepare(t, op)
				inject := fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", c.name, c.nth)
				cmd := childCommand(strace, []string{"-f", "-qq", "-o", "/dev/null", "-e", "trace=" + c.name, "-e", inject}, op, dir)
				if err := cmd.Run(); err == nil {
					t.Errorf("not killed at %s number %d", c.name, c.nth)
					continue
				}
				killed++
				oldOrNew(t, op, dir)
			}
			t.Logf("killed at %d calls", killed)
			if killed < 4 {
				t.Errorf("killed at %d calls only", killed)
			}
		})
	}
}

// replay checks the order write < fsync < rename < fsync of the directory by its purpose: at every prefix of the trace,
// with whatever number of the directory's changes on disk and no byte that was not synced, the name holds the old bytes
// or the new ones; and at the end the new ones for sure.
func replay(t *testing.T, op string, calls []call) {
	t.Helper()
	type change struct{ synced bool } // of the directory: a rename, and whether the new bytes were on disk by then
	var renames []change
	temp, tempFd, dirFd := "", "", ""
	written, synced, durable := false, false, false
	for _, c := range calls {
		fd, _, _ := strings.Cut(c.args, ",")
		switch c.name {
		case "openat", "openat2":
			if strings.Contains(c.args, "O_CREAT") {
				temp, tempFd = quoted(c.args), c.result
				if !strings.HasPrefix(temp, beneath.TempPrefix) || !strings.Contains(c.args, "O_EXCL") || strings.Contains(c.args, "O_TRUNC") {
					t.Errorf("%s: created by %s(%s)", op, c.name, c.args)
				}
			} else if strings.Contains(c.args, "O_DIRECTORY") && c.result != tempFd {
				dirFd = c.result
			}
		case "write":
			if fd != tempFd {
				t.Errorf("%s: written elsewhere: %s", op, c.args)
			}
			written, synced = true, false
		case "fsync":
			switch {
			case fd == tempFd:
				synced = written
			case fd == dirFd && len(renames) > 0:
				durable = true
			}
		case "renameat2":
			renames = append(renames, change{synced})
			durable = false
		case "rename", "renameat", "link", "linkat", "ftruncate", "fallocate", "pwrite64":
			t.Errorf("%s: unexpected %s(%s)", op, c.name, c.args)
		case "unlinkat":
			if !strings.HasPrefix(quoted(c.args), beneath.TempPrefix) {
				t.Errorf("%s: removed %s", op, c.args)
			}
		}
		for _, r := range renames { // a crash now: the rename may be on disk
			if !r.synced {
				t.Fatalf("%s: after %s(%s) a crash can leave the name without its bytes", op, c.name, c.args)
			}
		}
	}
	if len(renames) != 1 || !durable {
		t.Errorf("%s: %d renames, made durable %v", op, len(renames), durable)
	}
}

func quoted(args string) string {
	parts := strings.Split(args, `"`)
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

// TestEffectOutlivesAFailedDirectorySync is G32 with the kernel's error instead of a double.
func TestEffectOutlivesAFailedDirectorySync(t *testing.T) {
	strace := needStrace(t)
	dir := prepare(t, "replace")
	cmd := childCommand(strace, []string{"-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=2"}, "replace", dir)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("done, but reported as %s", msg)
	}
	if get(t, dir+"/f") != newBytes("replace") {
		t.Error("not done")
	}
	// an error of the first one, that of the file, is in front of the effect
	dir = prepare(t, "replace")
	cmd = childCommand(strace, []string{"-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=1"}, "replace", dir)
	if err := cmd.Run(); err == nil || get(t, dir+"/f") != oldBytes() || len(leftovers(t, dir)) > 0 {
		t.Errorf("%v: published although it could not be synced", err)
	}
}

// TestFullDiskLeavesTheOldBytes runs on a small tmpfs of its own.
func TestFullDiskLeavesTheOldBytes(t *testing.T) {
	cmd := childCommand("/proc/self/exe", nil, "full", t.TempDir())
	cmd.Args = cmd.Args[:1]
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case !errors.As(err, &exit):
		t.Skipf("environment: no mount namespace: %v", err)
	case strings.HasPrefix(string(out), "mount:"):
		t.Skipf("environment: %s", out)
	default:
		t.Errorf("%v %s", err, out)
	}
}

func fullDisk(dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	old := strings.Repeat("good bytes\n", 4000) + "edit me\n"
	if err := os.WriteFile(dir+"/f", []byte(old), 0o640); err != nil {
		return err
	}
	try := func(what string, do func(p *place) error) error {
		p, err := placeAt(dir, "f")
		if err != nil {
			return err
		}
		defer p.close()
		if err := do(p); rootbound.ReasonOf(err) != rootbound.IOError || !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("%s on a full disk: %v", what, err)
		}
		got, err := os.ReadFile(dir + "/f")
		if err != nil || string(got) != old {
			return fmt.Errorf("%s on a full disk left %d bytes, %v", what, len(got), err)
		}
		all, err := os.ReadDir(dir)
		if err != nil || len(all) != 1 {
			return fmt.Errorf("%s on a full disk left %v, %v", what, all, err)
		}
		return nil
	}
	if err := try("write", func(p *place) error {
		_, err := Write(bg, p, make([]byte, 1<<20), Expected{})
		return err
	}); err != nil {
		return err
	}
	return try("edit", func(p *place) error {
		_, err := EditFile(bg, p, []text.Edit{{Old: "edit me", New: strings.Repeat("x", 1<<20)}}, EditOptions{})
		return err
	})
}
