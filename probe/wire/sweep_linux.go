package wire

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Adopt makes this process the parent of whatever its descendants leave behind, PR_SET_CHILD_SUBREAPER of prctl(2), so that
// Sweep finds also what gave its environment up. It is for a process that starts nothing else.
func Adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// Sweep ends processes of a run that left their group: those that have its mark in the environment they inherited and, where
// this process adopts, all its children. It must be called when every server was waited for.
func Sweep(mark string, adopted bool) {
	for range 20 { // who is ended may have started another just before, and leaves its children to this process
		ended := false
		for _, pid := range processes() {
			mine := adopted && parent(pid) == os.Getpid()
			if pid != os.Getpid() && (mine || marked(pid, mark)) {
				ended = end(pid, mine) || ended
			}
		}
		if !ended {
			return
		}
	}
}

func processes() (pids []int) {
	list, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range list {
		if pid, err := strconv.Atoi(filepath.Base(p)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func marked(pid int, mark string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(env, []byte(mark))
}

// parent is the fourth field of proc_pid_stat(5), the second behind the name in parentheses.
func parent(pid int) int {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(fields[1])
	return n
}

// end kills a process and waits until it is gone. It reports whether one was there.
func end(pid int, child bool) bool {
	const patience = 2000 // ms, for a process that the kernel cannot end at once
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return unix.Kill(pid, unix.SIGKILL) == nil
	}
	defer unix.Close(fd)
	unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	gone, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, patience)
	if child && gone > 0 {
		unix.Wait4(pid, nil, 0, nil)
	}
	return true
}
