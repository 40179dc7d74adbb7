//go:build linux

package probe_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound/internal/rig"
)

// stand is a place with files of somebody's around what the program uses.
type stand struct {
	dir    string
	before string
}

func stands(t *testing.T) *stand {
	t.Helper()
	s := &stand{dir: t.TempDir()}
	for _, d := range []string{"home", "tmp", "cwd"} {
		if err := os.MkdirAll(filepath.Join(s.dir, d, "mine"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.dir, d, "mine", "file"), []byte(d), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.before = s.look(t)
	return s
}

// look is every name with its kind, mode, times and contents.
func (s *stand) look(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(s.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, _ := os.ReadFile(p)
		fmt.Fprintf(&b, "%s %v %q", strings.TrimPrefix(p, s.dir), info.Mode(), text)
		if !d.IsDir() { // a directory has another time when a tree was made in it and went
			fmt.Fprint(&b, info.ModTime(), info.Sys().(*syscall.Stat_t).Ctim)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// program is rootbound probe on a broken server, with nothing of this process's around it.
func (s *stand) program(t *testing.T, mode string, flags ...string) *exec.Cmd {
	t.Helper()
	bin, err := broken()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(rig.Binary(t), append(append([]string{"probe"}, flags...), "--", bin, mode, "{app}", "{docs}")...)
	c.Dir = filepath.Join(s.dir, "cwd")
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir + "/home", "TMPDIR=" + s.dir + "/tmp", "BROKEN_SLEEP=" + s.sign()}
	return c
}

// sign is an argument by which a process of this stand is known.
func (s *stand) sign() string {
	return "600." + fmt.Sprint(os.Getpid()) + strings.Map(onlyDigits, s.dir)
}

func onlyDigits(r rune) rune {
	if r < '0' || r > '9' {
		return -1
	}
	return r
}

// asBefore fails on a file that was made, changed or left, and on a process with the mark of a run of that program or the sign
// of this stand.
func (s *stand) asBefore(t *testing.T, pid int) {
	t.Helper()
	if after := s.look(t); after != s.before {
		t.Errorf("before:\n%safter:\n%s", s.before, after)
	}
	list, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range list {
		env, _ := os.ReadFile(p + "/environ")
		line, _ := os.ReadFile(p + "/cmdline")
		if bytes.Contains(env, fmt.Appendf(nil, "ROOTBOUND_PROBE=%d-", pid)) || bytes.Contains(line, []byte(s.sign())) {
			t.Errorf("%s is left: %q", p, line)
		}
	}
}

// TestNothingIsLeft: neither a process, also one that gave up its group and its environment, nor a file, and nobody's files are
// touched.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sound", "leaves-a-process", "leaves-a-nameless-process", "crashes-in-a-call", "writes-in-place"} {
		s := stands(t)
		c := s.program(t, mode, "--only", "S02,S04,S10,I08", "--env", "BROKEN_SLEEP", "--timeout", "60s")
		out, err := c.CombinedOutput()
		if !bytes.Contains(out, []byte("S10")) {
			t.Errorf("%s: %v %s", mode, err, out)
		}
		s.asBefore(t, c.Process.Pid)
	}
}

// TestStoppedInTheMiddle: a signal ends the run, its servers and its trees.
func TestStoppedInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		s := stands(t)
		fifo := filepath.Join(t.TempDir(), "called")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		called, err := os.OpenFile(fifo, os.O_RDWR, 0) // for both, so that neither end waits to open it
		if err != nil {
			t.Fatal(err)
		}
		defer called.Close()
		c := s.program(t, "silent-in-calls", "--timeout", "10m", "--env", "BROKEN_SLEEP", "--env", "BROKEN_CALLED="+fifo)
		live, err := c.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(live)
		if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "broken-silent-in-calls") {
			t.Fatal(line, err)
		}
		if _, err := called.Read(make([]byte, 1)); err != nil { // a case is on its way: its server has a tree and was called
			t.Fatal(err)
		}
		c.Process.Signal(sig)
		var rest bytes.Buffer
		rest.ReadFrom(in)
		if err := c.Wait(); err == nil || !strings.Contains(rest.String(), "stopped") {
			t.Errorf("%v: %v %s", sig, err, rest.String())
		}
		s.asBefore(t, c.Process.Pid)
	}
}

// TestNobodyReadsOn: a pipe that closes ends the run in order.
func TestNobodyReadsOn(t *testing.T) {
	t.Parallel()
	s := stands(t)
	c := s.program(t, "sound", "--only", "sixteen", "--format", "json", "--jobs", "1")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize()); err != nil { // it holds less than is said: the program waits for a reader
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = w, w
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := bufio.NewReaderSize(r, 16).ReadString('\n'); err != nil {
		t.Error(err)
	}
	r.Close()
	if err := c.Wait(); err == nil || !c.ProcessState.Exited() {
		t.Error(c.ProcessState)
	}
	s.asBefore(t, c.Process.Pid)
}

// TestAServerDoesNotSteerTheTerminal: its name, its words and its standard error are shown as text.
func TestAServerDoesNotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	s := stands(t)
	for _, format := range []string{"table", "json", "markdown", "junit", "sarif", "html"} {
		out, _ := s.program(t, "steers-the-terminal", "--only", "S02,S04", "--format", format).CombinedOutput()
		for _, bad := range []string{"\x1b", "\x07", "\u009b", "\u202e", "\b"} {
			if bytes.Contains(out, []byte(bad)) {
				t.Errorf("%s holds %q: %q", format, bad, out)
			}
		}
		if !bytes.Contains(out, []byte("31mheld")) {
			t.Errorf("%s: %q", format, out)
		}
	}
}
