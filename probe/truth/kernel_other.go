//go:build !linux

package truth

import "errors"

var errSystem = errors.New("not on this system")

func mkfifo(string) error { return errSystem }

func mkzero(string) error { return errSystem }

// Exchange swaps two names in one step.
func Exchange(string, string) error { return errSystem }

// Supported reports whether worlds can be judged on this system.
const Supported = false
