package authority_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
)

// Where requests bring their own roots a generation has the same two hooks: told that it ended, and told of the next one
// before anybody can see it, with what a request without roots is granted.
func TestHooksWhereRequestsBringTheirRoots(t *testing.T) {
	c, err := authority.Open([]rootbound.Project{{ID: "p", Dir: t.TempDir(), Rights: rootbound.ReadOnly}}, authority.CeilingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var mu sync.Mutex
	var told []string
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprintf(format, args...))
	}
	var a *authority.Authority
	a = authority.New(c, authority.Options{
		Mode: authority.Narrow,
		Mark: func(id string, ended rootbound.Generation) { say("mark %d %t", ended, id == a.ID()) },
		Drop: func(old, next *authority.Snapshot) {
			was, will := rootbound.Generation(0), rootbound.Generation(0)
			if old != nil {
				was = old.Generation
			}
			if next != nil {
				will = next.Generation
				say("drop %d %d, %d grants", was, will, len(next.Grants))
				return
			}
			say("drop %d, the end", was)
		},
	})
	hold := func(want rootbound.Generation) {
		t.Helper()
		u, err := a.AcquireWith(context.Background(), authority.Capability{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer u.Release()
		if got := u.Snapshot().Generation; got != want {
			t.Errorf("generation %d, want %d", got, want)
		}
	}
	hold(1)
	hold(1)
	a.Invalidate(rootbound.GenerationStale)
	hold(2)
	a.Revoke()
	a.Unrevoke()
	hold(3)
	if err := c.Activate([]rootbound.RootID{}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.AcquireWith(context.Background(), authority.Capability{}, nil); err == nil {
		t.Error("granted without a project")
	}
	a.Close()
	want := []string{
		"drop 0 1, 1 grants", "mark 1 true", "drop 1 2, 1 grants", "mark 2 true", "mark 2 true", "drop 2 3, 1 grants", "mark 3 true",
		"drop 3 4, 0 grants", "mark 4 true", "drop 4, the end",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told\n%q, want\n%q", told, want)
	}
}
