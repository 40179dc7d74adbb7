// Package early has tests walk with directories read ahead, and sees that what a walk says of them before their turn is what
// is done then.
package early

import (
	"context"
	"testing"

	"github.com/rootbound/rootbound/beneath"
)

// Walk walks an object with so many goroutines that read directories ahead; less than 0: none.
type Walk struct {
	*beneath.Object
	T       *testing.T
	Readers int
	Said    *int // how often a directory was to be read ahead
}

// Tour is that of the object. It fails the test for a directory that was to be read ahead and is not gone into.
func (w Walk) Tour(ctx context.Context, c beneath.Course) error {
	c.Readers = w.Readers
	visit, ahead, said := c.Visit, c.Ahead, map[string]bool{}
	c.Ahead = func(n *beneath.Node) bool {
		yes := ahead(n)
		if yes {
			said[n.Rel()] = true
			*w.Said++
		}
		return yes
	}
	c.Visit = func(n *beneath.Node) (beneath.Step, error) {
		step, err := visit(n)
		if said[n.Rel()] && step == beneath.Over {
			w.T.Errorf("%s was to be read ahead, and is not gone into", n.Rel())
		}
		return step, err
	}
	return w.Object.Tour(ctx, c)
}
