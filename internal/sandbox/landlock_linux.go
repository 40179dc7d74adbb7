package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

const (
	readAccess  landlock.AccessFSSet = ll.AccessFSReadFile | ll.AccessFSReadDir
	writeAccess landlock.AccessFSSet = ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRemoveFile | ll.AccessFSRemoveDir |
		ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSMakeSym | ll.AccessFSRefer // links are moved, never made
	// No more than a project that may be written, or the kernel would not let a deleted directory be moved there.
	stateAccess = readAccess | writeAccess
	// The log is appended to and its end read; beside it files are made, renamed and removed, but nothing is read.
	logAccess    landlock.AccessFSSet = ll.AccessFSWriteFile | ll.AccessFSReadFile
	logDirAccess landlock.AccessFSSet = ll.AccessFSWriteFile | ll.AccessFSMakeReg | ll.AccessFSRemoveFile | ll.AccessFSReadDir
	// What the kernel takes in a rule for something that is no directory.
	fileAccess landlock.AccessFSSet = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSExecute | ll.AccessFSIoctlDev
)

// levels are the strict configurations by ABI, from 1. A kernel newer than the last is held to the last.
func levels() []landlock.Config {
	return []landlock.Config{
		landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6,
		landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11,
	}
}

// abiOf asks the kernel. 0: no Landlock.
func abiOf() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	// Signal scoping before this fix hits threads of the process itself; the library refuses 6 and above without it.
	if errata, err := ll.LandlockGetErrata(); v >= 6 && (err != nil || errata&2 == 0) {
		v = 5
	}
	return min(v, len(levels()))
}

func confine(mode Mode, n Needs) (string, error) {
	if err := n.check(); err != nil {
		return "", err
	}
	abi := abiOf()
	if abi == 0 {
		return "", errors.New("the kernel has no Landlock, or it is not enabled")
	}
	if abi == 1 && mode == Auto && n.writes() {
		return "", errors.New("the kernel's Landlock (abi 1) would forbid moves between directories")
	}
	config := levels()[abi-1]
	rules := ruleMaker{config: config}
	defer rules.close()
	for _, d := range n.Dirs {
		if err := rules.project(d); err != nil {
			return "", err
		}
	}
	if err := rules.ours(n); err != nil {
		return "", err
	}
	// Either all threads are restricted or none: the library ends the program if they disagree.
	if err := config.Restrict(rules.made...); err != nil {
		return "", err
	}
	if err := rules.holds(n.outside()); err != nil {
		return "", err
	}
	return describe(abi, len(n.Dirs)), nil
}

func (n *Needs) writes() bool {
	for _, d := range n.Dirs {
		if d.Write {
			return true
		}
	}
	return false
}

// describe says what is enforced and, for old kernels, what is not.
func describe(abi, dirs int) string {
	s := fmt.Sprintf("landlock abi %d: files below %d directories", abi, dirs)
	if dirs == 1 {
		s = fmt.Sprintf("landlock abi %d: files below 1 directory", abi)
	}
	var no []string
	for _, m := range []struct {
		abi  int
		what string
	}{{3, "truncation"}, {4, "network"}, {5, "device ioctls"}, {6, "signals and abstract sockets"}, {9, "socket files"}, {10, "UDP"}} {
		if abi < m.abi {
			no = append(no, m.what)
		}
	}
	if len(no) > 0 {
		s += "; not covered: " + strings.Join(no, ", ")
	}
	return s
}

// ruleMaker binds rules to objects that it holds open until the restriction is in force.
type ruleMaker struct {
	config landlock.Config
	made   []landlock.Rule
	held   []*os.File
}

func (m *ruleMaker) close() {
	for _, f := range m.held {
		f.Close()
	}
}

func (m *ruleMaker) project(d Dir) error {
	f, st, err := m.hold(d.Path)
	if err != nil {
		return fmt.Errorf("the directory of project %s cannot be opened: %w", d.ID, withoutPath(err))
	}
	if st.Dev != d.Dev || st.Ino != d.Ino {
		return fmt.Errorf("the path of project %s leads to another directory now", d.ID)
	}
	access := readAccess
	if d.Write {
		access |= writeAccess
	}
	return m.add(f, st, access)
}

// ours adds what the program needs for itself.
func (m *ruleMaker) ours(n Needs) error {
	add := func(path string, access landlock.AccessFSSet) error {
		f, st, err := m.hold(path)
		if err == nil {
			err = m.add(f, st, access)
		}
		return err
	}
	for _, path := range n.State {
		if err := add(path, stateAccess); err != nil {
			return fmt.Errorf("the state directory cannot be opened: %w", withoutPath(err))
		}
	}
	if n.Audit != "" {
		if err := add(n.Audit, logAccess); err != nil {
			return fmt.Errorf("the audit log cannot be opened: %w", withoutPath(err))
		}
		dir := filepath.Dir(n.Audit)
		access := logDirAccess
		if !n.Rotates {
			access = ll.AccessFSReadDir
		}
		if err := add(dir, access); err != nil {
			return fmt.Errorf("the audit log's directory cannot be opened: %w", withoutPath(err))
		}
	}
	for _, path := range n.Read {
		if err := add(path, readAccess); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("a file to be read later cannot be opened: %w", withoutPath(err))
		}
	}
	return nil
}

func (m *ruleMaker) hold(path string) (*os.File, *unix.Stat_t, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fd), "")
	m.held = append(m.held, f)
	st := new(unix.Stat_t)
	return f, st, unix.Fstat(fd, st)
}

// add makes a rule for the held object, by the link of its descriptor, so that a path which leads elsewhere by now has no
// say. Rights that this kernel does not handle, or that make no sense on a file, are left out.
func (m *ruleMaker) add(f *os.File, st *unix.Stat_t, access landlock.AccessFSSet) error {
	link := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	var by unix.Stat_t
	if err := unix.Stat(link, &by); err != nil || by.Dev != st.Dev || by.Ino != st.Ino {
		return errors.New("/proc is not mounted")
	}
	access &= m.config.HandledAccessFS
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= fileAccess
	}
	m.made = append(m.made, landlock.PathAccess(access, link))
	return nil
}

// outside is a directory that must be out of reach now; empty if everything was granted.
func (n *Needs) outside() string {
	for _, d := range n.Dirs {
		if d.Path == "/" {
			return ""
		}
	}
	return "/"
}

// holds tries what must be refused.
func (m *ruleMaker) holds(outside string) error {
	if outside == "" {
		return nil
	}
	fd, err := unix.Open(outside, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
		return errors.New("the kernel accepted the restriction and does not enforce it")
	}
	if !errors.Is(err, unix.EACCES) {
		return fmt.Errorf("the restriction cannot be checked: %w", err)
	}
	return nil
}

func withoutPath(err error) error {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return err
}
