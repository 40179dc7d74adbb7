package authority

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rootbound/rootbound"
)

// tree makes directories below a fresh one and returns it; its path holds no link.
func tree(t testing.TB, dirs ...string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func project(id, dir string, r rootbound.Rights) rootbound.Project {
	return rootbound.Project{ID: rootbound.RootID(id), Dir: dir, Rights: r}
}

func ceiling(t testing.TB, projects ...rootbound.Project) *Ceiling {
	t.Helper()
	c, err := Open(projects, CeilingOptions{Homes: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// client answers for roots as it is told to. Safe for concurrent use.
type client struct {
	mu   sync.Mutex
	cap  Capability
	ans  *Answer
	err  error
	hold chan struct{} // not nil: an ask waits until it is closed, or its context ends
	asks int
	in   chan struct{} // if not nil, told when an ask begins
	now  int           // asks under way
	most int
}

func declared(uris ...string) *client {
	return &client{cap: Capability{Declared: true, ListChanged: true}, ans: answer(uris...)}
}

func answer(uris ...string) *Answer {
	a := &Answer{Roots: []RootEntry{}}
	for _, u := range uris {
		a.Roots = append(a.Roots, RootEntry{URI: u})
	}
	return a
}

func uri(elem ...string) string { return "file://" + filepath.Join(elem...) }

func (c *client) set(f func(*client)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

func (c *client) asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asks
}

func (c *client) ask(ctx context.Context) (*Answer, error) {
	c.mu.Lock()
	c.asks++
	c.now++
	c.most = max(c.most, c.now)
	ans, err, hold, in := c.ans, c.err, c.hold, c.in
	c.mu.Unlock()
	defer c.set(func(c *client) { c.now-- })
	if in != nil {
		in <- struct{}{}
	}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return ans, err
}

func (c *client) options() Options {
	return Options{
		Capability:    func() Capability { c.mu.Lock(); defer c.mu.Unlock(); return c.cap },
		Ask:           c.ask,
		ClientProject: rootbound.Project{Rights: rootbound.ReadWrite},
	}
}

func (c *client) authority(t testing.TB, ceil *Ceiling, change ...func(*Options)) *Authority {
	t.Helper()
	o := c.options()
	for _, f := range change {
		f(&o)
	}
	a := New(ceil, o)
	t.Cleanup(a.Close)
	return a
}

func mode(m Mode) func(*Options) { return func(o *Options) { o.Mode = m } }

// granted acquires, expects success, releases, and gives the paths that are granted.
func granted(t testing.TB, a *Authority, mutates bool) []string {
	t.Helper()
	u, err := a.Acquire(context.Background(), mutates)
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	defer u.Release()
	return paths(u)
}

func paths(u *Use) (out []string) {
	for _, g := range u.Snapshot().Grants {
		out = append(out, g.Root.Path())
	}
	return out
}

// denied acquires and expects a refusal.
func denied(t testing.TB, a *Authority, want rootbound.Reason, detail string) {
	t.Helper()
	u, err := a.Acquire(context.Background(), false)
	if u != nil {
		t.Fatalf("granted %v, want %s", paths(u), want)
	}
	isReason(t, err, want, detail)
}

func isReason(t testing.TB, err error, want rootbound.Reason, detail string) {
	t.Helper()
	var e *rootbound.Error
	if !errors.As(err, &e) || e.Reason != want || e.Detail != detail {
		t.Fatalf("got %v, want %s [%s]", err, want, detail)
	}
}

func acquire(t testing.TB, a *Authority, mutates bool) *Use {
	t.Helper()
	u, err := a.Acquire(context.Background(), mutates)
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return u
}
