package main

import ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

// hasLandlock asks the kernel itself, so that a confinement that broke does not pass as one that cannot be had.
func hasLandlock() bool {
	v, err := ll.LandlockGetABIVersion()
	return err == nil && v > 1
}
