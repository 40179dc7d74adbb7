//go:build !linux

package beneath

// Mounts is not to be had here.
type Mounts struct{}

// NewMounts refuses: io_error, Detail "not supported".
func NewMounts() (*Mounts, error) { return nil, noNotifier() }

// Close does nothing.
func (m *Mounts) Close() {}

// Next refuses.
func (m *Mounts) Next() ([]string, error) { return nil, noNotifier() }
