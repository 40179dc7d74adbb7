//go:build linux

package cases

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The tracer is a process between the test and the server: it counts file system calls, stops the server before one of
// them until the test says go, and keeps a log of what was synced, renamed and answered. It is a process of its own
// because a tracer waits for any child and would take the exit status of other tests' servers.
//
// Commands on descriptor 3, answers on descriptor 4, a line each:
//
//	arm N   count from now, stop before call number N (0: never)   → ok
//	go      go on after a stop
//	count   calls since arm                                        → N
//	log     what was seen since arm                                → lines, then "."
//
// and "stop" on descriptor 4 when the server is held.
const (
	traceIn  = 3
	traceOut = 4
)

// traced are the calls that reach the file system by a name or a handle; read and write on pipes are not among them.
func traced() map[uint64]string {
	calls := map[uint64]string{
		unix.SYS_OPENAT: "openat", unix.SYS_OPENAT2: "openat2", unix.SYS_STATX: "statx", unix.SYS_FSTAT: "fstat",
		unix.SYS_GETDENTS64: "getdents64", unix.SYS_READLINKAT: "readlinkat", unix.SYS_MKDIRAT: "mkdirat",
		unix.SYS_UNLINKAT: "unlinkat", unix.SYS_RENAMEAT2: "renameat2", unix.SYS_RENAMEAT: "renameat",
		unix.SYS_LINKAT: "linkat", unix.SYS_SYMLINKAT: "symlinkat", unix.SYS_FCHMOD: "fchmod", unix.SYS_FCHMODAT: "fchmodat",
		unix.SYS_FCHOWN: "fchown", unix.SYS_FCHOWNAT: "fchownat", unix.SYS_FTRUNCATE: "ftruncate", unix.SYS_FSYNC: "fsync",
		unix.SYS_FDATASYNC: "fdatasync", unix.SYS_FACCESSAT: "faccessat", unix.SYS_FACCESSAT2: "faccessat2",
		unix.SYS_FGETXATTR: "fgetxattr", unix.SYS_FSETXATTR: "fsetxattr", unix.SYS_FLISTXATTR: "flistxattr",
		unix.SYS_PREAD64: "pread64", unix.SYS_PWRITE64: "pwrite64", unix.SYS_FSTATFS: "fstatfs", unix.SYS_UTIMENSAT: "utimensat",
	}
	calls[map[string]uint64{"amd64": 262, "arm64": 79}[runtime.GOARCH]] = "fstatat"
	return calls
}

type traceState struct {
	mu    sync.Mutex
	at    int // stop before this call, 0: never
	count int
	log   []string
	on    bool
	goOn  chan struct{}
	out   *os.File
}

func (s *traceState) commands(in io.Reader) {
	for r := bufio.NewScanner(in); r.Scan(); {
		f := strings.Fields(r.Text())
		s.mu.Lock()
		switch f[0] {
		case "arm":
			fmt.Sscan(f[1], &s.at)
			s.count, s.log, s.on = 0, nil, true
			fmt.Fprintln(s.out, "ok")
		case "count":
			fmt.Fprintln(s.out, s.count)
		case "log":
			for _, l := range s.log {
				fmt.Fprintln(s.out, l)
			}
			fmt.Fprintln(s.out, ".")
		case "go":
			s.goOn <- struct{}{}
		}
		s.mu.Unlock()
	}
}

// enter is told of each system call before it happens.
func (s *traceState) enter(tid int, nr uint64, args []uint64, calls map[uint64]string) {
	s.mu.Lock()
	if !s.on {
		s.mu.Unlock()
		return
	}
	name, fsCall := calls[nr]
	if nr == unix.SYS_WRITE && args[0] == 1 {
		s.log = append(s.log, "answer")
	}
	if nr == unix.SYS_FCNTL && (args[1] == unix.F_OFD_SETLK || args[1] == unix.F_SETLK) {
		s.log = append(s.log, "lock")
	}
	if !fsCall {
		s.mu.Unlock()
		return
	}
	s.count++
	hit := s.at > 0 && s.count == s.at
	switch name {
	case "fsync", "fdatasync":
		kind, link := "file", fmt.Sprintf("/proc/%d/fd/%d", tid, args[0])
		if st, err := os.Stat(link); err == nil && st.IsDir() {
			kind = "dir"
		}
		to, _ := os.Readlink(link)
		s.log = append(s.log, "fsync "+kind+" "+to)
	case "renameat", "renameat2", "linkat":
		to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, int32(args[2])))
		s.log = append(s.log, "rename "+to)
	}
	s.mu.Unlock()
	if hit {
		fmt.Fprintln(s.out, "stop")
		<-s.goOn
	}
}

// tracer starts the process under test, follows all its threads and ends as it ends.
func tracer(l launch) int {
	runtime.LockOSThread() // ptrace requests belong to one thread
	s := &traceState{goOn: make(chan struct{}, 1), out: os.NewFile(traceOut, "out")}
	unix.CloseOnExec(traceIn)
	unix.CloseOnExec(traceOut)
	self := l
	self.Trace = false
	c := exec.Command(l.Argv[0], l.Argv[1:]...)
	if self.needed() {
		c = exec.Command("/proc/self/exe")
		c.Env = append(os.Environ(), roleEnv+"="+self.text())
	}
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "cases: tracer:", err)
		return 99
	}
	main := c.Process.Pid
	var ws unix.WaitStatus
	if _, err := unix.Wait4(main, &ws, unix.WALL, nil); err != nil {
		fmt.Fprintln(os.Stderr, "cases: tracer: wait:", err)
		return 99
	}
	os.Stdin.Close()
	os.Stdout.Close()
	if err := unix.PtraceSetOptions(main, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACEEXEC|unix.PTRACE_O_EXITKILL); err != nil {
		fmt.Fprintln(os.Stderr, "cases: tracer: options:", err)
		return 99
	}
	go s.commands(os.NewFile(traceIn, "in")) // ends with the process
	unix.PtraceSyscall(main, 0)
	calls := traced()
	for {
		tid, err := unix.Wait4(-1, &ws, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 99
		case ws.Exited() || ws.Signaled():
			if tid == main {
				if ws.Exited() {
					return ws.ExitStatus()
				}
				return 128 + int(ws.Signal())
			}
			continue
		case !ws.Stopped():
			continue
		}
		sig := ws.StopSignal()
		switch {
		case sig == unix.SIGTRAP|0x80:
			if nr, args, ok := entry(tid); ok {
				s.enter(tid, nr, args, calls)
			}
			sig = 0
		case sig == unix.SIGTRAP || sig == unix.SIGSTOP:
			sig = 0 // events of ptrace itself and the first stop of a new thread
		}
		unix.PtraceSyscall(tid, int(sig))
	}
}

// entry reads the call a thread is about to make; false at the end of a call.
func entry(tid int) (nr uint64, args []uint64, ok bool) {
	const getSyscallInfo, opEntry = 0x420e, 1
	var b [88]byte
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(tid), uintptr(len(b)), uintptr(unsafe.Pointer(&b)), 0, 0)
	if e != 0 || b[0] != opEntry {
		return 0, nil, false
	}
	args = make([]uint64, 6)
	for i := range args {
		args[i] = binary.NativeEndian.Uint64(b[32+8*i:])
	}
	return binary.NativeEndian.Uint64(b[24:]), args, true
}
