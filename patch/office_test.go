package patch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/authority/token"
	"github.com/rootbound/rootbound/fileop/text"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/patch"
)

// office is projects with a desk, and one session.
type office struct {
	t    *testing.T
	dir  string
	ceil *authority.Ceiling
	g    *guard.Guard
	desk *patch.Desk
	now  time.Time
	wait *waiting
}

// waiting is a Pending that remembers.
type waiting struct{ plans sync.Map }

func (w *waiting) Put(id string, _ time.Time, body []byte) error { w.plans.Store(id, body); return nil }

func (w *waiting) Drop(id string) error { w.plans.Delete(id); return nil }

func (w *waiting) Has(id string) bool { _, ok := w.plans.Load(id); return ok }

// all are the plans that wait.
func (w *waiting) all(t *testing.T) (out []*patch.Plan) {
	t.Helper()
	for _, body := range w.plans.Range {
		p, err := patch.Decode(body.([]byte))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func open(t *testing.T, projects ...rootbound.Project) *office {
	t.Helper()
	o := &office{t: t, dir: t.TempDir(), g: guard.New(guard.Options{}), now: time.Now(), wait: &waiting{}}
	for i := range projects {
		projects[i].Dir = filepath.Join(o.dir, string(projects[i].ID))
		if err := os.MkdirAll(projects[i].Dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c, err := authority.Open(projects, authority.CeilingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	o.ceil = c
	o.desk = o.another(nil)
	return o
}

// another is a desk of another process.
func (o *office) another(s token.Spender) *patch.Desk {
	return patch.NewDesk(patch.DeskOptions{Spender: s, Pending: o.wait, Now: func() time.Time { return o.now }})
}

// session is a client with an authority of its own.
func (o *office) session(principal string) (context.Context, *authority.Authority) {
	o.t.Helper()
	a := authority.New(o.ceil, authority.Options{})
	o.t.Cleanup(a.Close)
	return o.call(a, principal), a
}

func (o *office) call(a *authority.Authority, principal string) context.Context {
	o.t.Helper()
	use, err := a.Acquire(context.Background(), true)
	if err != nil {
		o.t.Fatal(err)
	}
	use.Origin = &rootbound.Origin{Principal: principal}
	ctx, end := authority.With(context.Background(), use)
	o.t.Cleanup(func() { end(); use.Release() })
	return ctx
}

func (o *office) path(name string) string { return filepath.Join(o.dir, filepath.FromSlash(name)) }

func (o *office) content(name string) string {
	b, err := os.ReadFile(o.path(name))
	if err != nil {
		return "absent"
	}
	return string(b)
}

// propose makes a plan and its token.
func (o *office) propose(ctx context.Context, r patch.Request) (*patch.Plan, patch.Issued) {
	o.t.Helper()
	p, err := patch.Propose(ctx, o.g, r)
	if err != nil {
		o.t.Fatal(err)
	}
	i, err := o.desk.Issue(ctx, p)
	if err != nil {
		o.t.Fatal(err)
	}
	return p, i
}

// apply is what apply_patch does.
func (o *office) apply(ctx context.Context, root, ref string) error {
	p, err := o.desk.Redeem(ctx, root, ref)
	if err != nil {
		return err
	}
	_, err = o.desk.Apply(ctx, o.g, p)
	return err
}

func edit(path, old, new string) patch.Edit {
	return patch.Edit{Path: path, Edit: text.Edit{Old: old, New: new}}
}

func wants(t *testing.T, what string, err error, reason rootbound.Reason, detail string) {
	t.Helper()
	var e *rootbound.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: %v, want %s", what, err, reason)
		return
	}
	if e.Reason != reason || !strings.Contains(e.Detail, detail) {
		t.Errorf("%s: %v, want %s [%s]", what, err, reason, detail)
	}
	if e.Op == "" || e.Next == "" && e.Reason.Next() == "" {
		t.Errorf("%s: %+v says too little", what, e)
	}
}

const wide = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n" +
	"diff --git a/sub/new/er b/sub/new/er\nnew file mode 100755\n--- /dev/null\n+++ b/sub/new/er\n@@ -0,0 +1 @@\n+hello\n" +
	"diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n" +
	"diff --git a/run b/run\nold mode 100644\nnew mode 100755\n" +
	"diff --git a/from b/to\nsimilarity index 100%\nrename from from\nrename to to\n" +
	"diff --git a/a b/copied\nsimilarity index 100%\ncopy from a\ncopy to copied\n"

func (o *office) fill(project string) {
	o.t.Helper()
	for name, content := range map[string]string{"a": "one\ntwo\n", "gone": "gone\n", "run": "#!/bin/sh\n", "from": "moved\n"} {
		if err := os.WriteFile(o.path(project+"/"+name), []byte(content), 0o644); err != nil {
			o.t.Fatal(err)
		}
	}
}

// times lists every name with its content, bits and times.
func times(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		b.WriteString(rel + " " + st.Mode().String() + " " + st.ModTime().String() + "\n")
		if st.Mode().IsRegular() {
			c, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.Write(c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// person is the ceiling of whoever applies what was proposed.
func person(t *testing.T, o *office) *authority.Ceiling {
	t.Helper()
	var all []rootbound.Project
	for _, id := range []rootbound.RootID{"p", "only", "asked"} {
		all = append(all, patch.Operator(rootbound.Project{ID: id, Dir: o.path(string(id)), Rights: rootbound.ProposeOnly, ProposeWrites: true}))
	}
	c, err := authority.Open(all, authority.CeilingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
