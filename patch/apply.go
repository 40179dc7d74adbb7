// Package patch changes several files of one project together: all of them or none.
//
// Apply is the transaction. Every file is judged by the guard, resolved, locked and compared with what the caller saw;
// every new content is written and synced under a temporary name; what will change is written down in a journal outside
// the project; and then everything is shown inside one lease of the generation. What cannot be finished is taken back,
// in the process or, after a crash, at the next start, by the journal: only what is still the very file it wrote.
package patch

import (
	"context"
	"io/fs"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
)

// File is one file of a patch and what it is to become.
type File struct {
	Path   string // inside the root
	Before string // the version it must have; "absent": it must not exist; "": whatever it has
	After  []byte // the whole new content
	Delete bool
	Exec   *bool        // set or clear the executable bits; nil: as they are, or as of a new file
	Perm   *fs.FileMode // permission bits, in place of Exec; nil: as they are, or as of a new file
}

// Journal writes down what a patch is about to change, before it does, and keeps what it replaces or deletes. A
// guard.Keeper that syncs when guard.Change.Durable says so is one. nil: the guard's own, and if that has none nothing is
// written down and nothing kept, so that a crash can leave some files changed and some not.
type Journal = guard.Keeper

// Applied is the effect of a patch.
type Applied struct {
	Files    []AppliedFile // in the order of the patch
	Undo     string        // what the patch can be taken back by; empty: nothing was kept
	Warnings []string      // what did not go as it should after the effect, in words for the caller
}

// AppliedFile is one file as the patch left it.
type AppliedFile struct {
	Path    string
	Version string // empty for a deleted file
	Created bool
	Deleted bool
	Bytes   int64
}

// Apply makes every file of root what the patch says, or none: it returns an error and nothing has changed, or no error
// and everything is in force. root is the project's id, the root's id or its name, as in guard.Request.
//
// Errors, with the path they speak of: those of guard.Guard.DoAll and of fileop.Write for each file, limit_reached (the
// journal cannot keep as much), io_error (a full disk; the journal cannot be written). If another program changed a file
// just while the patch was being taken back, Detail names it: that file holds what the other program left.
func Apply(ctx context.Context, g *guard.Guard, root string, files []File, j Journal) (Applied, error) {
	requests := make([]guard.Request, len(files))
	for i, f := range files {
		requests[i] = guard.Request{Op: rootbound.OpWrite, Root: root, Path: f.Path, Contained: true}
		if f.Delete {
			requests[i].Op = rootbound.OpDelete
		}
	}
	var done Applied
	err := g.DoAll(ctx, rootbound.OpApply, requests, func(ctx context.Context, a *guard.Group) error {
		t := transaction{group: a, files: files, journal: j}
		defer t.batch.Close()
		err := t.run(ctx)
		done = t.done
		return err
	})
	if err != nil {
		return Applied{}, err
	}
	return done, nil
}

// transaction is one Apply between its records.
type transaction struct {
	group   *guard.Group
	files   []File
	journal Journal
	batch   fileop.Batch
	done    Applied
}

func (t *transaction) run(ctx context.Context) error {
	for i, target := range t.group.Targets() {
		f := t.files[i]
		step := fileop.Step{Path: f.Path, Content: f.After, Delete: f.Delete, Exec: f.Exec, Perm: f.Perm, Expect: fileop.ParseVersion(f.Before)}
		if err := t.batch.Add(target, step); err != nil {
			return err
		}
	}
	if err := t.batch.Stage(ctx); err != nil {
		return err
	}
	kept, err := t.keep(ctx)
	if err != nil {
		return err
	}
	changed, err := t.batch.Publish(ctx, t.group.Commit, t.group.Inside)
	if err != nil {
		if kept != nil && len(changed) == 0 {
			kept.Drop()
		}
		return left(err, changed)
	}
	t.done.Warnings = t.batch.Sync()
	if err := t.end(kept); err != nil {
		return err
	}
	t.tell()
	return nil
}

// keep writes the journal.
func (t *transaction) keep(ctx context.Context) (guard.Kept, error) {
	losses := make([]guard.Loss, len(t.files))
	for i, s := range t.batch.Steps() {
		losses[i] = guard.Loss{Object: t.group.Targets()[i].Object(), Old: s.Old(), New: s.New(), Temp: s.Temporary(), Digest: s.Digest()}
		if s.Old() != nil {
			losses[i].Size = s.Old().Size
		}
	}
	return t.group.Keep(ctx, t.journal, losses)
}

// end moves what was displaced to where it is kept and turns the journal's entry into one that can be undone. As long as
// the journal says that the patch has only begun, the patch is not done.
func (t *transaction) end(kept guard.Kept) error {
	if kept == nil {
		_ = t.batch.Settle(nil)
		return nil
	}
	err := t.batch.Settle(kept.Place)
	if err == nil {
		err = kept.Done()
	}
	if err == nil {
		t.done.Undo = kept.ID()
		return nil
	}
	changed, werr := t.batch.Withdraw(t.group.Commit)
	if werr == nil && len(changed) == 0 {
		kept.Drop()
		t.batch.Sync()
	}
	return left(&rootbound.Error{Reason: rootbound.IOError, Detail: "the journal of the change could not be ended", Retryable: true, Err: err}, changed)
}

// left names the files that could not be taken back.
func left(err error, changed []string) error {
	e, ok := err.(*rootbound.Error)
	if !ok || len(changed) == 0 {
		return err
	}
	for i, path := range changed {
		changed[i] = rootbound.Quote(path)
	}
	out := *e
	out.Detail = strings.TrimPrefix(e.Detail+"; another program changed meanwhile what it left as it is: "+strings.Join(changed, ", "), "; ")
	return &out
}

func (t *transaction) tell() {
	for i, s := range t.batch.Steps() {
		f := AppliedFile{Path: t.files[i].Path, Created: s.Old() == nil, Deleted: s.Delete, Bytes: int64(len(s.Content))}
		if !s.Delete {
			f.Version = s.Now().Version()
		}
		t.group.Targets()[i].Count(f.Bytes)
		t.done.Files = append(t.done.Files, f)
	}
}
