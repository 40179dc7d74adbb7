package guard_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
)

// apart is a project p whose directory t is another file system of size bytes.
func apart(t *testing.T, size int, change ...func(*rootbound.Project)) *house {
	t.Helper()
	p := one(rootbound.Full)
	p.CopyAcross = true
	for _, c := range change {
		c(&p)
	}
	return build(t, guard.Options{Journal: &ledger{}}, func(dir string) { rig.Tmpfs(t, filepath.Join(dir, "p/t"), size) }, p)
}

// ledger is a Journal that counts what is not done.
type ledger struct{ told, live int }

func (l *ledger) Staged(_, _, name string, _ beneath.ObjectID, _ *beneath.Info) (func(), error) {
	if !strings.HasPrefix(name, beneath.TempPrefix) {
		return nil, errors.New("no temporary name")
	}
	l.told++
	l.live++
	return func() { l.live-- }, nil
}

// stepping is a Target with something done at the points of a copy.
type stepping struct {
	*guard.Target
	copied  func(n int)
	commits int
	commit  func(n int) // before the nth
}

func (s *stepping) Copied(n int64) error {
	if s.copied != nil && n > 0 {
		s.copied(int(n))
	}
	return s.Target.Copied(n)
}

func (s *stepping) Commit(publish func() error) error {
	if s.commits++; s.commit != nil {
		s.commit(s.commits)
	}
	return s.Target.Commit(publish)
}

func (h *house) moveWith(r guard.Request, prepare func(context.CancelFunc, *stepping)) (fileop.Moved, error) {
	h.t.Helper()
	var m fileop.Moved
	r.Op = rootbound.OpMove
	err := h.do(r, func(ctx context.Context, t *guard.Target) (err error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s := &stepping{Target: t}
		if prepare != nil {
			prepare(cancel, s)
		}
		m, err = fileop.Move(ctx, s, r.Overwrite)
		return err
	})
	return m, err
}

// all is every path below the project with its text, "/" behind directories.
func (h *house) all(below string) string {
	h.t.Helper()
	var out []string
	top := filepath.Join(h.dir, below)
	err := filepath.WalkDir(top, func(p string, d os.DirEntry, err error) error {
		if err != nil || p == top {
			return err
		}
		rel, _ := filepath.Rel(top, p)
		switch {
		case d.IsDir():
			rel += "/"
		case d.Type().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			if len(b) > 20 {
				b = fmt.Appendf(nil, "%d bytes", len(b))
			}
			rel += "=" + string(b)
		}
		out = append(out, rel)
		return nil
	})
	if err != nil {
		h.t.Error(err)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// damage changes the first byte of the largest temporary file below.
func (h *house) damage(below string) {
	h.t.Helper()
	var at string
	var size int64
	must(h.t, filepath.WalkDir(filepath.Join(h.dir, below), func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasPrefix(d.Name(), beneath.TempPrefix) {
			if i, err := d.Info(); err == nil && i.Size() > size {
				at, size = p, i.Size()
			}
		}
		return err
	}))
	f, err := os.OpenFile(at, os.O_WRONLY, 0)
	must(h.t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte{0}, 0)
	must(h.t, err)
}

func (h *house) holds(below, want string) {
	h.t.Helper()
	if got := h.all(below); got != want {
		h.t.Errorf("%s holds %q, want %q", below, got, want)
	}
}

const treeText = "d/ d/e/ d/e/deep/ d/e/deep/f=1 d/e/g=2 d/empty/ d/z=3"

func (h *house) tree() {
	h.file("p/d/e/deep/f", "1")
	h.file("p/d/e/g", "2")
	h.file("p/d/z", "3")
	must(h.t, os.MkdirAll(filepath.Join(h.dir, "p/d/empty"), 0o755))
}
