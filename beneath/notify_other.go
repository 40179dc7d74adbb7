//go:build !linux

package beneath

import (
	"context"

	"github.com/rootbound/rootbound"
)

func (s *Set) root(i int) *Root { return s.members[i].Root }

// Notifier is not to be had here: see the Linux documentation.
type Notifier struct{}

// NewNotifier refuses: io_error, Detail "not supported".
func NewNotifier() (*Notifier, error) { return nil, noNotifier() }

func noNotifier() error {
	return &rootbound.Error{Reason: rootbound.IOError, Detail: "not supported", Next: "Watching is built for Linux only; look again instead."}
}

// Close does nothing.
func (n *Notifier) Close() error { return nil }

// Add refuses.
func (n *Notifier) Add(*Object) (WatchID, error) { return 0, noNotifier() }

// AddSelf refuses.
func (n *Notifier) AddSelf(*Object) (WatchID, error) { return 0, noNotifier() }

// Remove does nothing.
func (n *Notifier) Remove(WatchID) {}

// Mark refuses.
func (n *Notifier) Mark() (WatchID, error) { return 0, noNotifier() }

// AddTree refuses.
func (n *Notifier) AddTree(context.Context, *Object, func(id WatchID, dir ObjectID, name string, depth int) (bool, error), func(*Node) (Step, error), func(rel string, err error)) error {
	return noNotifier()
}

// Next refuses.
func (n *Notifier) Next(func(Notice)) error { return noNotifier() }

type hold struct{ object *Object }

// Close gives the directory up.
func (l *Look) Close() {
	if l.held.object != nil {
		l.held.object.Close()
	}
}

func (p *Place) look(path, name string) (Look, error) { return p.slowly(path, name) }
