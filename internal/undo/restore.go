package undo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/patch"
)

// Change is a change that can be taken back.
type Change struct {
	ID        string              `json:"id"`
	Time      time.Time           `json:"time"`
	Operation rootbound.Operation `json:"operation"`
	Client    string              `json:"client,omitempty"` // self-reported
	Principal string              `json:"principal,omitempty"`
	Decision  string              `json:"decision_id,omitempty"`
	Size      int64               `json:"size"` // bytes that are kept
	Files     []Changed           `json:"files"`
}

// Changed is one entry of a Change.
type Changed struct {
	Project rootbound.RootID `json:"project"`
	Path    string           `json:"path"`
	Was     string           `json:"was"` // "replaced", "deleted", "made"
	Size    int64            `json:"size"`
}

// List lists the changes that can be taken back, the newest first. Records that are not the store's own are left out.
func (s *Store) List() ([]Change, error) {
	s.mu.Lock()
	err := s.refresh(true)
	items := slices.Clone(s.items)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	out := make([]Change, 0, len(items))
	for _, it := range slices.Backward(items) {
		if r, err := s.load(s.path("done", it.name)); err == nil {
			out = append(out, r.change())
		}
	}
	return out, nil
}

func (r *record) change() Change {
	c := Change{ID: r.ID, Time: r.Time, Operation: r.Operation, Client: r.Client, Principal: r.Principal, Decision: r.Decision, Size: r.size()}
	for _, e := range r.Entries {
		f := Changed{Project: e.Project, Path: string(e.Path), Was: "replaced"}
		switch {
		case e.Old == nil:
			f.Was = "made"
		case e.New == nil:
			f.Was = "deleted"
		}
		if e.Old != nil {
			f.Size = e.Old.Size
		}
		c.Files = append(c.Files, f)
	}
	return c
}

// Restore takes a change back, all of it or nothing, through the guard and by the authority of ctx: only if what is there
// now is still what the change left. projects are those of that authority: the change may have been made under another id
// of the same directory. It returns what was taken back and, where g keeps, the id by which that in turn can
// be taken back.
//
// Errors: not_found (no such change, or it was forgotten), version_conflict with the path of the first file that was
// changed since, and those of patch.Apply and of guard.Guard.Do.
func (s *Store) Restore(ctx context.Context, g *guard.Guard, projects []rootbound.Project, id string) (done Change, again string, err error) {
	it, r, err := s.find(id)
	if err != nil {
		return Change{}, "", err
	}
	for i := range r.Entries {
		e := &r.Entries[i]
		named(projects, string(e.Root)+"/"+string(e.At), &e.Project, &e.Path)
		if e.From != nil {
			named(projects, string(e.FromDir)+"/"+string(e.From), &e.FromIn, &e.FromAt)
		}
	}
	b := back{s: s, g: g, r: r}
	switch first := &r.Entries[0]; {
	case len(r.Entries) == 1 && first.From != nil:
		err = b.unmove(ctx, first)
	case len(r.Entries) == 1 && first.New == nil:
		err = b.bring(ctx, first)
	default:
		again, err = b.patch(ctx)
	}
	if err != nil {
		return Change{}, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(it)
	s.own = 1 << 20 // the next look reads anew
	return r.change(), again, nil
}

// named finds the innermost of projects that an absolute canonical path lies in, and what it is called there. It only
// proposes: the guard judges the name, and the file is compared with what the change left.
func named(projects []rootbound.Project, abs string, id *rootbound.RootID, path *[]byte) {
	longest := -1
	for _, p := range projects {
		dir, err := filepath.EvalSymlinks(p.Dir)
		if err != nil {
			continue
		}
		if rel, ok := strings.CutPrefix(abs, strings.TrimRight(dir, "/")+"/"); ok && len(dir) > longest {
			longest, *id, *path = len(dir), p.ID, []byte(rel)
		}
	}
}

func (s *Store) find(id string) (item, *record, error) {
	s.mu.Lock()
	err := s.refresh(true)
	i := slices.IndexFunc(s.items, func(it item) bool { return it.id == id })
	var it item
	if i >= 0 {
		it = s.items[i]
	}
	s.mu.Unlock()
	if err != nil {
		return it, nil, &rootbound.Error{Reason: rootbound.IOError, Detail: "the store cannot be read", Err: err}
	}
	if i < 0 {
		return it, nil, &rootbound.Error{Reason: rootbound.NotFound, Detail: "no change of that id is kept", Next: "See rootbound undo --list."}
	}
	r, err := s.load(s.path("done", it.name))
	if err == nil && (r.ID != id || len(r.Entries) == 0) {
		err = errForged
	}
	if err != nil {
		return it, nil, &rootbound.Error{Reason: rootbound.IOError, Detail: "its record cannot be used: " + strings.TrimPrefix(err.Error(), "it "), Err: err}
	}
	return it, r, nil
}

// back is the taking back of one change that was done.
type back struct {
	s *Store
	g *guard.Guard
	r *record
}

// patch takes back a change of files by one patch.
func (b *back) patch(ctx context.Context) (again string, err error) {
	files := make([]patch.File, len(b.r.Entries))
	for i := range b.r.Entries {
		if files[i], err = b.file(ctx, &b.r.Entries[i]); err != nil {
			return "", err
		}
	}
	if slices.ContainsFunc(b.r.Entries, func(e entry) bool { return e.Project != b.r.Entries[0].Project }) {
		return "", &rootbound.Error{Reason: rootbound.InternalError, Detail: "a change of several projects"}
	}
	done, err := patch.Apply(ctx, b.g, string(b.r.Entries[0].Project), files, nil)
	return done.Undo, err
}

// file says how one entry goes back.
func (b *back) file(ctx context.Context, e *entry) (patch.File, error) {
	f := patch.File{Path: string(e.Path), Before: "absent"}
	if e.New != nil {
		version, err := b.now(ctx, e)
		if err != nil {
			return f, err
		}
		f.Before = version
	}
	if e.Old == nil {
		f.Delete = true
		return f, nil
	}
	at, err := b.kept(e)
	if err != nil {
		return f, err
	}
	defer at.Close()
	o, err := at.Open(beneath.File)
	if err != nil {
		return f, b.gone(e)
	}
	defer o.Close()
	var content bytes.Buffer
	if err := each(ctx, o, func(p []byte) error { _, err := content.Write(p); return err }); err != nil {
		return f, err
	}
	if int64(content.Len()) != e.Old.Size {
		return f, b.gone(e)
	}
	f.After = content.Bytes()
	if e.New == nil || e.New.Mode != e.Old.Mode {
		f.Perm = new(e.Old.Mode.Perm())
	}
	return f, nil
}

// now checks that the entry holds what the change left, and gives its version.
func (b *back) now(ctx context.Context, e *entry) (version string, err error) {
	changed := &rootbound.Error{Reason: rootbound.VersionConflict, Path: string(e.Path), Root: e.Project,
		Detail: "it was changed since, and stays as it is", Next: "Nothing was taken back. Look at the file; what it held before stays in the store."}
	err = b.g.Do(ctx, guard.Request{Op: rootbound.OpRead, Root: string(e.Project), Path: string(e.Path), Contained: true}, func(ctx context.Context, on *guard.Target) error {
		i, err := on.Object().Stat()
		if err != nil {
			return err
		}
		if !e.New.is(i, b.r.Boot == b.s.boot) {
			return changed
		}
		h := sha256.New()
		if e.New.Digest != "" {
			if err := each(ctx, on, func(p []byte) error { h.Write(p); return nil }); err != nil {
				return err
			}
			if hex.EncodeToString(h.Sum(nil)) != e.New.Digest {
				return changed
			}
		}
		version = i.Version()
		return nil
	})
	if rootbound.ReasonOf(err) == rootbound.NotFound {
		return "", changed
	}
	return version, err
}

func (b *back) gone(e *entry) error {
	return &rootbound.Error{Reason: rootbound.NotFound, Path: string(e.Path), Root: e.Project, Detail: "what it held before is not in the store"}
}

// kept is where the store keeps what the entry held.
func (b *back) kept(e *entry) (*beneath.Entry, error) {
	if e.Kept == "" {
		return nil, b.gone(e)
	}
	at, err := b.s.data.Entry(e.Kept)
	if err != nil {
		return nil, err
	}
	if _, err := at.Lstat(); err != nil {
		at.Close()
		return nil, b.gone(e)
	}
	return at, nil
}

// bring puts back what was deleted, whatever it is: the very thing where it was moved into the store, else a copy of the
// copy.
func (b *back) bring(ctx context.Context, e *entry) error {
	at, err := b.kept(e)
	if err != nil {
		return err
	}
	defer at.Close()
	was, err := at.Lstat()
	if err != nil {
		return err
	}
	r := guard.Request{Op: rootbound.OpCreate, Root: string(e.Project), Path: string(e.Path), Contained: true, Parents: true, Recursive: was.Mode.IsDir()}
	return b.g.Do(ctx, r, func(ctx context.Context, on *guard.Target) error {
		to, from := on.Entry(), at
		copied := e.Copied || !b.s.beside(to) // what was moved into the store may be reached through another mount today
		if was.Mode.IsDir() {                 // by the rules of now, and whatever came into it since
			if err := on.Tree(ctx, at, nil); err != nil {
				return err
			}
		}
		if copied {
			tmp, err := to.Beside()
			if err != nil {
				return err
			}
			defer tmp.Close()
			from = tmp
			if err = b.again(ctx, at, tmp); err == nil {
				was, err = tmp.Lstat()
			}
			if err != nil {
				drop(tmp)
				return err
			}
		}
		err := on.Commit(func() error { return from.Rename(to, was.ID, false) })
		if err != nil {
			if copied {
				drop(from)
			}
			return err
		}
		_ = to.SyncDir() // in force all the same
		return nil
	})
}

// again copies what is kept to a temporary entry.
func (b *back) again(ctx context.Context, from, to *beneath.Entry) error {
	now, err := from.Lstat()
	if err != nil {
		return err
	}
	return copyInto(ctx, guard.Loss{At: from, Old: &now}, to, true)
}

func drop(tmp *beneath.Entry) {
	if now, err := tmp.Lstat(); err == nil {
		_ = tmp.RemoveTemporary(now.ID)
	}
}

// unmove moves back what was moved over a file, and then brings that file back. The first step can be made without the
// second: then the refusal says so, and the second can be tried again.
func (b *back) unmove(ctx context.Context, e *entry) error {
	r := guard.Request{Op: rootbound.OpMove, Root: string(e.Project), Path: string(e.Path), DestRoot: string(e.FromIn), Dest: string(e.FromAt), Contained: true}
	moved := false
	err := b.g.Do(ctx, r, func(_ context.Context, on *guard.Target) error {
		if !e.New.is(on.Source(), b.r.Boot == b.s.boot) {
			return &rootbound.Error{Reason: rootbound.VersionConflict, Detail: "it was changed since, and stays as it is"}
		}
		err := on.Commit(func() error { return on.Entry().Rename(on.Dest(), on.Source().ID, false) })
		moved = err == nil
		return err
	})
	if err != nil && !moved {
		return err
	}
	if err := b.bring(ctx, e); err != nil {
		var out *rootbound.Error
		if errors.As(err, &out) {
			told := *out
			told.Detail = strings.TrimPrefix(out.Detail+"; what had been moved was moved back", "; ")
			return &told
		}
		return err
	}
	return nil
}
