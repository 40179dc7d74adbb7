package state

import (
	"errors"
	"os"
)

// Sub makes a directory of its own for a room inside the state directory (0700) and returns its path. name is a word of
// ours.
func (d *Dir) Sub(name string) (string, error) { return d.sub(name) }

// Claim locks a file of ours, open for writing, until it is closed or the process dies. false: another open file holds
// it, or path names another file by now.
func Claim(f *os.File, path string) (bool, error) {
	if err := tryWhole(f); errors.Is(err, errBusy) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return isAt(f, path), nil
}

// BootID tells boots apart: device numbers may change from one to the next. "-" where it cannot be known.
func BootID() string { return bootID() }
