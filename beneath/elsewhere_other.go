//go:build !linux

package beneath

// Mounted is what is mounted where, which is not known here.
type Mounted []struct{}

// ReadMounted knows nothing.
func ReadMounted() Mounted { return nil }

// Elsewhere tells nothing.
func (Mounted) Elsewhere(string) []string { return nil }
