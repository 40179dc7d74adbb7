package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// isTerminal asks for the terminal's settings, which only a terminal has.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
