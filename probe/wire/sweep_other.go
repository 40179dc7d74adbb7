//go:build !linux

package wire

// Adopt makes this process the parent of whatever its descendants leave behind. Linux only.
func Adopt() error { return nil }

// Sweep ends processes of a run that left their group. Linux only.
func Sweep(string, bool) {}
