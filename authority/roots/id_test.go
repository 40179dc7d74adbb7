package roots

import (
	"fmt"
	"os"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// An old directory is known by its birth and not held.
func TestOldDirectoriesAreNotHeld(t *testing.T) {
	r, err := beneath.OpenRoot("/usr")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	var ids IDs
	if _, err := ids.Of(r, func(rootbound.RootID) bool { return false }); err != nil {
		t.Fatal(err)
	}
	for _, n := range ids.known {
		if n.held != nil && !n.birth.IsZero() {
			t.Error("held")
		}
	}
}

func TestIDBounds(t *testing.T) {
	top := t.TempDir()
	var ids IDs
	seen := map[rootbound.RootID]bool{}
	for i := range maxHeld + 10 {
		d := fmt.Sprintf("%s/%d", top, i)
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		r, err := beneath.OpenRoot(d)
		if err != nil {
			t.Fatal(err)
		}
		id, err := ids.Of(r, func(rootbound.RootID) bool { return false })
		if again, err2 := ids.Of(r, nil); err != nil || err2 != nil || again != id || seen[id] {
			t.Fatal(id, again, err, err2)
		}
		seen[id] = true
		r.Release()
	}
	held := 0
	for _, n := range ids.known {
		if n.held != nil {
			held++
		}
	}
	if held > maxHeld || len(ids.known) != len(ids.order) {
		t.Errorf("%d held, %d known, %d in order", held, len(ids.known), len(ids.order))
	}
	ids.Close()
	if len(ids.known) != 0 {
		t.Error("something is still held")
	}
}
