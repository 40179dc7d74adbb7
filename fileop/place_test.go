package fileop

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// place is a Target without a guard: everything is allowed, and Commit can be watched.
type place struct {
	root   *beneath.Root
	object *beneath.Object
	entry  *beneath.Entry
	dest   *beneath.Entry
	source beneath.Info

	around func(publish func() error) error // instead of Commit
	staged func()                           // after Stage
}

func (p *place) Object() *beneath.Object { return p.object }
func (p *place) Entry() *beneath.Entry   { return p.entry }
func (p *place) Dest() *beneath.Entry    { return p.dest }
func (p *place) Source() beneath.Info    { return p.source }

func (p *place) ReadAt(b []byte, off int64) (int, error) {
	if p.object == nil {
		return 0, io.ErrClosedPipe
	}
	return p.object.ReadAt(b, off)
}

func (p *place) Stage() (*beneath.Staged, error) {
	s, err := p.entry.Stage(p.object, nil)
	if p.staged != nil {
		p.staged()
	}
	return s, err
}

func (p *place) Commit(publish func() error) error {
	if p.around != nil {
		return p.around(publish)
	}
	return publish()
}

func (p *place) Recursive() bool            { return false }
func (p *place) Weight() (int, int64)       { return 0, 0 }
func (p *place) CopiesAcross() bool         { return false }
func (p *place) Overwritten() *beneath.Info { return nil }
func (p *place) Copied(int64) error         { return nil }
func (p *place) Tree(context.Context, *beneath.Entry, func(*beneath.Node) error) error {
	return io.ErrClosedPipe
}
func (p *place) StageCopy(at *beneath.Entry, from *beneath.Object) (*beneath.Staged, error) {
	return at.Stage(from, nil)
}
func (p *place) Temporary(*beneath.Entry, beneath.ObjectID, *beneath.Info) (func(), error) {
	return func() {}, nil
}

func (p *place) Keep(context.Context, *beneath.Entry, beneath.Info, int64, *beneath.Info, []byte) (*beneath.Entry, error) {
	return nil, nil
}
func (p *place) Kept() bool { return true }

func (p *place) close() {
	if p.object != nil {
		p.object.Close()
	}
	p.entry.Close()
	if p.dest != nil {
		p.dest.Close()
	}
	p.root.Release()
}

// placeAt resolves rel below dir.
func placeAt(dir, rel string) (*place, error) {
	root, err := beneath.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	set := beneath.NewSet([]beneath.Member{{Root: root}}, nil)
	e, err := set.Entry(beneath.Ref{Path: rel}, true)
	if err != nil {
		root.Release()
		return nil, err
	}
	p := &place{root: root, entry: e}
	if o, err := e.Open(beneath.File); err == nil {
		p.object = o
	} else if !errors.Is(err, fs.ErrNotExist) {
		p.close()
		return nil, err
	}
	return p, nil
}

func open(t testing.TB, dir, rel string) *place {
	t.Helper()
	p, err := placeAt(dir, rel)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

func openDir(t testing.TB, dir string) *beneath.Object {
	t.Helper()
	root, err := beneath.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	o, err := beneath.NewSet([]beneath.Member{{Root: root}}, nil).Open(beneath.Ref{}, beneath.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close(); root.Release() })
	return o
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// leftovers are the names in dir that are temporary files.
func leftovers(t testing.TB, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if strings.HasPrefix(e.Name(), beneath.TempPrefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

func wantReason(t testing.TB, err error, want rootbound.Reason) {
	t.Helper()
	if rootbound.ReasonOf(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}
