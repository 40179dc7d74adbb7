package undo

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard"
)

// rollback is the way back of one change.
type rollback struct {
	s        *Store
	r        *record
	sameBoot bool
	projects []rootbound.Project
	locks    guard.Locks
	roots    map[string]*beneath.Root
	notes    []string
	wait     bool
}

func (b *rollback) close() {
	for _, r := range b.roots {
		if r != nil {
			r.Release()
		}
	}
}

// left tells of an entry that stays as it is.
func (b *rollback) left(e *entry, why string) {
	b.notes = append(b.notes, fmt.Sprintf("a change that was cut short could not be rolled back wholly (%s): %s of project %s stays as it is: %s",
		b.r.ID, rootbound.Quote(string(e.Path)), e.Project, why))
}

// changes are the rights by which something may have been begun; propose is one, since a person can agree.
const changes = rootbound.Create | rootbound.Write | rootbound.Move | rootbound.Delete | rootbound.Propose

// root opens the directory an entry lies below, if that is one of a project of the configuration which may be changed.
func (b *rollback) root(id rootbound.RootID, dir string) (*beneath.Root, string) {
	if r, ok := b.roots[dir]; ok {
		if r == nil {
			return nil, "its directory cannot be opened"
		}
		return r, ""
	}
	if !slices.ContainsFunc(b.projects, func(p rootbound.Project) bool {
		return p.ID == id && p.Rights&changes != 0 && beneathProject(p.Dir, dir)
	}) {
		b.wait = true // for a server that has the project
		return nil, "it is in no project of this configuration that may be written"
	}
	r, err := beneath.OpenRoot(dir)
	if err == nil && r.Path() != dir {
		r.Release()
		r, err = nil, errors.New("moved")
	}
	if b.roots == nil {
		b.roots = map[string]*beneath.Root{}
	}
	b.roots[dir] = r
	if err != nil {
		b.wait = true
		return nil, "its directory cannot be opened now"
	}
	return r, ""
}

// beneathProject reports whether dir, canonical, is a project's directory or lies in it: by held handles.
func beneathProject(project, dir string) bool {
	p, err := beneath.OpenRoot(project)
	if err != nil {
		return false
	}
	defer p.Release()
	r, err := beneath.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer r.Release()
	_, ok := p.Holds(r)
	return ok
}

// at resolves a name below a root as it was recorded: no link may have come in between.
func (b *rollback) at(root *beneath.Root, name string) (at *beneath.Entry, set *beneath.Set, why string) {
	set = beneath.NewSet([]beneath.Member{{Root: root}}, nil)
	at, err := set.Entry(beneath.Ref{Path: name}, false)
	if err != nil {
		return nil, nil, "its directory is not there any more"
	}
	if at.Linked() || at.At().Path != name {
		at.Close()
		return nil, nil, "a link stands where there was a directory"
	}
	return at, set, ""
}

// entry takes one change back.
func (b *rollback) entry(ctx context.Context, e *entry) {
	if why := b.resolve(ctx, e); why != "" {
		b.left(e, why)
	}
}

func (b *rollback) resolve(ctx context.Context, e *entry) (why string) {
	root, why := b.root(e.Project, string(e.Root))
	if root == nil {
		return why
	}
	at, set, why := b.at(root, string(e.At))
	if at == nil {
		if e.Old == nil && e.From == nil {
			return "" // nothing can be there
		}
		return why
	}
	defer at.Close()
	keys := []beneath.Key{at.Key()}
	var from *beneath.Entry
	if e.From != nil {
		root, why := b.root(e.FromIn, string(e.FromDir))
		if root == nil {
			return why
		}
		if from, _, why = b.at(root, string(e.From)); from == nil {
			return why
		}
		defer from.Close()
		keys = append(keys, from.Key())
	}
	unlock, err := b.locks.Lock(ctx, keys...)
	if err != nil {
		b.wait = true
		return "another process is changing it"
	}
	defer unlock()
	return b.back(ctx, e, at, from, set)
}

const changed = "another program changed it meanwhile"

// back returns why an entry was left as it is, or "".
func (b *rollback) back(ctx context.Context, e *entry, at, from *beneath.Entry, set *beneath.Set) string {
	now, err := at.Lstat()
	empty := rootbound.ReasonOf(err) == rootbound.NotFound
	if err != nil && !empty {
		return "it cannot be read"
	}
	if !empty && e.Old.is(now, b.sameBoot) || empty && e.Old == nil {
		return "" // it did not come to the change, or it is back already
	}
	if !empty && !e.New.is(now, b.sameBoot) || !empty && now.Mode.IsRegular() && !holds(ctx, at, e.New.Digest) {
		if e.Old == nil && !e.New.sameObject(now, b.sameBoot) && b.staged(e, set) {
			return "" // it was never published; what is there is somebody else's
		}
		b.save(e, set)
		return changed
	}
	if empty && e.New != nil {
		b.save(e, set)
		return changed + " (it is gone)"
	}
	if e.Old == nil {
		return b.remove(at, now)
	}
	if from != nil {
		return b.unmove(e, at, from, now, empty)
	}
	old := b.find(e, set)
	if old == nil {
		return b.fromCopy(ctx, e, at, now, empty)
	}
	defer old.Close()
	was, err := old.Lstat()
	if err != nil {
		return "it cannot be read"
	}
	if empty {
		err = old.Rename(at, was.ID, false)
	} else if err = old.Exchange(at, was.ID, now.ID); err == nil {
		if got, lerr := old.Lstat(); lerr != nil || !e.New.is(got, b.sameBoot) {
			_ = old.Exchange(at, now.ID, was.ID)
			return changed
		}
		err = old.Remove(now.ID)
	}
	if err != nil {
		return "it could not be put back"
	}
	_ = at.SyncDir()
	return ""
}

// unmove takes back a move onto something: what was moved stands at at, its old place is from.
func (b *rollback) unmove(e *entry, at, from *beneath.Entry, now beneath.Info, empty bool) string {
	if empty {
		return changed + " (it is gone)"
	}
	there, err := from.Lstat()
	if err == nil && e.Old.is(there, b.sameBoot) { // between the two steps of the move
		if from.Exchange(at, there.ID, now.ID) != nil {
			return changed
		}
		return ""
	}
	if rootbound.ReasonOf(err) != rootbound.NotFound {
		return "something else stands where it was moved from"
	}
	if e.Copied { // the old one was overwritten: it is still to be had from the store, by a person
		return "it was moved over a file, which is in the store"
	}
	old, err := b.s.data.Entry(e.Kept)
	if err != nil {
		return changed
	}
	defer old.Close()
	was, err := old.Lstat()
	if err != nil || !e.Old.is(was, b.sameBoot) {
		return "what it held before is not in the store"
	}
	if err := old.Exchange(at, was.ID, now.ID); err != nil {
		return changed
	}
	if err := old.Rename(from, now.ID, false); err != nil {
		_ = old.Exchange(at, now.ID, was.ID)
		return "something else stands where it was moved from"
	}
	_, _ = at.SyncDir(), from.SyncDir()
	return ""
}

// remove takes away what the change made: a file, or a directory if it is empty.
func (b *rollback) remove(at *beneath.Entry, now beneath.Info) string {
	if now.Mode.IsDir() {
		if at.Remove(now.ID) != nil {
			return "the directory holds something else now"
		}
		_ = at.SyncDir()
		return ""
	}
	aside, err := at.Beside()
	if err != nil {
		return "it could not be removed"
	}
	defer aside.Close()
	if err := at.Rename(aside, now.ID, false); err != nil {
		return changed
	}
	if got, err := aside.Lstat(); err != nil || got.Size != now.Size || !got.MTime.Equal(now.MTime) {
		_ = aside.Rename(at, now.ID, false)
		return changed
	}
	_ = aside.Remove(now.ID)
	_ = at.SyncDir()
	return ""
}

// find is where the old version lies: in the store, or still under the temporary name beside the entry.
func (b *rollback) find(e *entry, set *beneath.Set) *beneath.Entry {
	if e.Kept != "" && !e.Copied {
		if at, err := b.s.data.Entry(e.Kept); err == nil {
			if now, err := at.Lstat(); err == nil && e.Old.is(now, b.sameBoot) {
				return at
			}
			at.Close()
		}
	}
	return b.beside(e, set, e.Old)
}

// beside is the entry's temporary name, if it holds that version.
func (b *rollback) beside(e *entry, set *beneath.Set, want *thing) *beneath.Entry {
	if e.Temp == "" || e.Temp != filepath.Base(e.Temp) {
		return nil
	}
	at, err := set.Entry(beneath.Ref{Path: path.Join(path.Dir(string(e.At)), e.Temp)}, false)
	if err != nil {
		return nil
	}
	if now, err := at.Lstat(); err == nil && want.is(now, b.sameBoot) && !at.Linked() {
		return at
	}
	at.Close()
	return nil
}

// staged reports whether the new version still lies under its temporary name.
func (b *rollback) staged(e *entry, set *beneath.Set) bool {
	at := b.beside(e, set, e.New)
	if at == nil {
		return false
	}
	return at.Close() == nil
}

// save brings an old version that cannot go back from its temporary name into the store.
func (b *rollback) save(e *entry, set *beneath.Set) {
	if e.Kept == "" || e.Copied {
		return
	}
	at := b.beside(e, set, e.Old)
	if at == nil {
		return
	}
	defer at.Close()
	if to, err := b.s.data.Entry(e.Kept); err == nil {
		defer to.Close()
		if now, err := at.Lstat(); err == nil {
			_ = at.Rename(to, now.ID, false)
		}
	}
}

// fromCopy writes the old version anew from the copy in the store.
func (b *rollback) fromCopy(ctx context.Context, e *entry, at *beneath.Entry, now beneath.Info, empty bool) string {
	const lost = "what it held before is not in the store"
	if e.Kept == "" || !e.Copied {
		return lost
	}
	from, err := b.s.data.Entry(e.Kept)
	if err != nil {
		return lost
	}
	defer from.Close()
	if e.Old.Mode.IsDir() {
		return b.treeFromCopy(ctx, from, at, empty)
	}
	o, err := from.Open(beneath.File)
	if err != nil {
		return lost
	}
	defer o.Close()
	if o.Info().Size != e.Old.Size {
		return lost
	}
	s, err := at.Stage(o, nil)
	if err != nil {
		return "it cannot be written"
	}
	defer s.Close()
	err = each(ctx, o, func(p []byte) error { _, err := s.Write(p); return err })
	if err == nil {
		s.Date(o.Info())
		err = s.Sync()
	}
	if err == nil && empty {
		_, err = s.Publish(nil)
	} else if err == nil {
		_, err = s.Publish(&now)
	}
	if err != nil {
		return "it cannot be written"
	}
	_ = at.SyncDir()
	return ""
}

func (b *rollback) treeFromCopy(ctx context.Context, from, at *beneath.Entry, empty bool) string {
	o, err := from.Open(beneath.Dir)
	if err != nil || !empty {
		return "what it held before is not in the store"
	}
	defer o.Close()
	tmp, err := at.Beside()
	if err != nil {
		return "it cannot be written"
	}
	defer tmp.Close()
	if err := copyTree(ctx, o, tmp); err == nil {
		if made, lerr := tmp.Lstat(); lerr == nil && tmp.Rename(at, made.ID, false) == nil {
			_ = at.SyncDir()
			return ""
		}
	}
	if made, err := tmp.Lstat(); err == nil {
		_ = tmp.RemoveTemporary(made.ID)
	}
	return "it cannot be written"
}
