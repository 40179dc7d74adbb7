//go:build linux

package cases

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// launch is what a re-executed test binary arranges before it becomes the server.
type launch struct {
	Argv   []string
	Trace  bool     // stay as the parent and trace
	CwdFD  int      // directory handle to work in, 0: none (it may be deleted by now)
	Hide   []string // covered by an empty tmpfs, for this process only
	UID    int
	NoFile uint64
	FSize  uint64
	Deny   []denied
}

// denied is a system call that fails from the start.
type denied struct {
	Call  string
	Errno int
	Over  uint32 // only with a third argument over this, as a read's size: what the loader reads is small
}

func (l *launch) needed() bool {
	return l.Trace || l.CwdFD > 0 || len(l.Hide) > 0 || l.UID != 0 || l.NoFile > 0 || l.FSize > 0 || len(l.Deny) > 0
}

var callNumbers = map[string]uint32{
	"openat2": unix.SYS_OPENAT2, "openat": unix.SYS_OPENAT, "statx": unix.SYS_STATX, "renameat2": unix.SYS_RENAMEAT2,
	"name_to_handle_at": unix.SYS_NAME_TO_HANDLE_AT, "fsync": unix.SYS_FSYNC, "pread64": unix.SYS_PREAD64, "getdents64": unix.SYS_GETDENTS64,
}

var errnos = map[string]int{
	"ENOSYS": int(unix.ENOSYS), "EPERM": int(unix.EPERM), "EACCES": int(unix.EACCES), "EIO": int(unix.EIO), "EINVAL": int(unix.EINVAL),
}

// become arranges the process and replaces it by the server. It returns only to say why it could not.
func (l *launch) become() error {
	runtime.LockOSThread() // namespace, filter and exec belong to one thread
	if l.CwdFD > 0 {
		if err := unix.Fchdir(l.CwdFD); err != nil {
			return fmt.Errorf("fchdir: %w", err)
		}
		unix.CloseOnExec(l.CwdFD)
	}
	if len(l.Hide) > 0 {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return fmt.Errorf("private: %w", err)
		}
		for _, p := range l.Hide {
			if err := unix.Mount("none", p, "tmpfs", 0, "size=4k"); err != nil {
				return fmt.Errorf("hide %s: %w", p, err)
			}
		}
	}
	if l.NoFile > 0 {
		if err := syscall.Setrlimit(unix.RLIMIT_NOFILE, &syscall.Rlimit{Cur: l.NoFile, Max: l.NoFile}); err != nil {
			return fmt.Errorf("nofile: %w", err)
		}
	}
	if l.FSize > 0 {
		if err := syscall.Setrlimit(unix.RLIMIT_FSIZE, &syscall.Rlimit{Cur: l.FSize, Max: l.FSize}); err != nil {
			return fmt.Errorf("fsize: %w", err)
		}
	}
	if l.UID != 0 {
		if err := dropTo(l.UID); err != nil {
			return fmt.Errorf("uid: %w", err)
		}
	}
	if len(l.Deny) > 0 {
		if err := filter(l.Deny); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	return syscall.Exec(l.Argv[0], l.Argv, os.Environ())
}

func dropTo(uid int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setresgid(uid, uid, uid); err != nil {
		return err
	}
	return syscall.Setresuid(uid, uid, uid)
}

// filter installs a seccomp program that answers the named calls with an error number and allows all others.
func filter(deny []denied) error {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
		allow = 0x7fff0000
		errno = 0x00050000
	)
	prog := []unix.SockFilter{{Code: load, K: 0}} // seccomp_data.nr
	for _, d := range deny {
		nr, ok := callNumbers[d.Call]
		if !ok {
			return fmt.Errorf("unknown call %q", d.Call)
		}
		answer := unix.SockFilter{Code: ret, K: errno | uint32(d.Errno)&0xffff}
		if d.Over > 0 {
			prog = append(prog,
				unix.SockFilter{Code: equal, K: nr, Jt: 0, Jf: 4},
				unix.SockFilter{Code: load, K: 32}, // seccomp_data.args[2], low half
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: d.Over, Jt: 0, Jf: 1},
				answer,
				unix.SockFilter{Code: load, K: 0})
			continue
		}
		prog = append(prog, unix.SockFilter{Code: equal, K: nr, Jt: 0, Jf: 1}, answer)
	}
	prog = slices.Concat(prog, []unix.SockFilter{{Code: ret, K: allow}})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&p)), 0, 0)
}
