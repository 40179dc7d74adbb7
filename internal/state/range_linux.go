package state

import "golang.org/x/sys/unix"

// Open file description locks (fcntl(2)) belong to the open file, not to the process: closing another descriptor of the
// file does not drop them, and two opens of one process exclude each other.
const setLock = unix.F_OFD_SETLK
