//go:build unix

package guard_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
)

// house is one guard over projects below a directory of its own, and what it recorded.
type house struct {
	t    *testing.T
	dir  string
	log  *decision.Memory
	g    *guard.Guard
	auth *authority.Authority
}

// build opens projects ("id" or "id:rights") below a fresh directory; prepare fills it first.
func build(t *testing.T, o guard.Options, prepare func(dir string), projects ...rootbound.Project) *house {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range projects {
		projects[i].Dir = filepath.Join(dir, projects[i].Dir)
		if err := os.MkdirAll(projects[i].Dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if prepare != nil {
		prepare(dir)
	}
	c, err := authority.Open(projects, authority.CeilingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	a := authority.New(c, authority.Options{})
	t.Cleanup(a.Close)
	log := decision.NewMemory(0)
	if o.Sink == nil {
		o.Sink = log
	}
	return &house{t, dir, log, guard.New(o), a}
}

// id is what stands at p.
func (h *house) id(p string) beneath.ObjectID {
	h.t.Helper()
	root, err := beneath.OpenRoot(h.dir)
	if err != nil {
		h.t.Fatal(err)
	}
	defer root.Release()
	o, err := beneath.NewSet([]beneath.Member{{Root: root}}, nil).Open(beneath.Ref{Path: p}, beneath.Handle)
	if err != nil {
		h.t.Fatal(err)
	}
	defer o.Close()
	return o.Info().ID
}

func (h *house) ctx() context.Context {
	h.t.Helper()
	u, err := h.auth.Acquire(context.Background(), true)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, done := authority.With(context.Background(), u)
	h.t.Cleanup(func() { done(); u.Release() })
	return ctx
}

func (h *house) do(r guard.Request, work func(context.Context, *guard.Target) error) error {
	h.t.Helper()
	if work == nil {
		work = func(context.Context, *guard.Target) error { return nil }
	}
	return h.g.Do(h.ctx(), r, work)
}

func (h *house) read(path string) (string, error) {
	h.t.Helper()
	var text []byte
	err := h.do(guard.Read(path), func(_ context.Context, t *guard.Target) (err error) {
		text, err = io.ReadAll(t)
		return err
	})
	return string(text), err
}

func (h *house) write(root, path, text string) error {
	h.t.Helper()
	return h.do(guard.Request{Op: rootbound.OpWrite, Root: root, Path: path}, func(ctx context.Context, t *guard.Target) error {
		_, err := fileop.Write(ctx, t, []byte(text), fileop.Expected{})
		return err
	})
}

func (h *house) move(r guard.Request) error {
	h.t.Helper()
	r.Op = rootbound.OpMove
	return h.do(r, func(ctx context.Context, t *guard.Target) error {
		_, err := fileop.Move(ctx, t, r.Overwrite)
		return err
	})
}

func (h *house) file(path, text string) {
	h.t.Helper()
	at := filepath.Join(h.dir, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// change is file at a time that tells it from what was there before, as another program would.
func (h *house) change(path, text string) {
	h.t.Helper()
	at := filepath.Join(h.dir, path)
	if _, err := os.Lstat(at); err != nil {
		at = filepath.Dir(at)
	}
	rig.Later(h.t, at)
	h.file(path, text)
}

func (h *house) link(path, to string) {
	h.t.Helper()
	at := filepath.Join(h.dir, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Symlink(to, at); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) has(path, text string) {
	h.t.Helper()
	if got, err := os.ReadFile(filepath.Join(h.dir, path)); err != nil || string(got) != text {
		h.t.Errorf("%s holds %q, %v; want %q", path, got, err, text)
	}
}

func (h *house) gone(path string) {
	h.t.Helper()
	if _, err := os.Lstat(filepath.Join(h.dir, path)); !errors.Is(err, os.ErrNotExist) {
		h.t.Errorf("%s exists", path)
	}
}

func reason(err error) rootbound.Reason {
	var e *rootbound.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	if err != nil {
		return rootbound.Reason("not ours: " + err.Error())
	}
	return ""
}

func refused(t *testing.T, what string, err error, want rootbound.Reason) {
	t.Helper()
	if got := reason(err); got != want {
		t.Errorf("%s: %q (%v), want %q", what, got, err, want)
	}
}

func one(rights rootbound.Rights) rootbound.Project {
	return rootbound.Project{ID: "p", Dir: "p", Rights: rights}
}
