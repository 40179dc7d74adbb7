package crossing

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// A directory that cannot be entered is told to the one who copies or removes, not passed over.
func TestWhatCannotBeEnteredIsTold(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := beneath.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	s := beneath.NewSet([]beneath.Member{{Root: r}}, nil)
	top, err := s.Open(beneath.Ref{}, beneath.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	var told error
	err = eachLevel(context.Background(), level{from: top}, func(_ level, n *beneath.Node) (*level, error) {
		o, err := n.Open()
		if err == nil {
			err = os.Remove(filepath.Join(dir, n.Name()))
		}
		return &level{from: o}, err
	}, func(level) error { return nil }, func(err error) { told = err })
	if err != nil || rootbound.ReasonOf(told) != rootbound.NotFound {
		t.Errorf("%v, told %v", err, told)
	}
}
