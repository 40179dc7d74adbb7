package effect

import (
	"context"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// Remover is what the removal of a file needs.
type Remover interface {
	// Temporary remembers a temporary name that Stage and StageCopy do not know of, until forget: a tree of identity id,
	// or the version old of a file that is about to be removed.
	Temporary(at *beneath.Entry, id beneath.ObjectID, old *beneath.Info) (forget func(), err error)
	Commit(publish func() error) error
	// Copied is told of bytes as they pass, also of none; it fails once nothing may be changed any more.
	Copied(n int64) error
}

// RemoveFile takes the version was of a file or link away from its entry: under a temporary name first, where nobody
// writes, so that what another program put in its place meanwhile is seen and goes back.
func RemoveFile(ctx context.Context, t Remover, e *beneath.Entry, was beneath.Info) error {
	aside, err := e.Beside()
	if err != nil {
		return err
	}
	defer aside.Close()
	forget, err := t.Temporary(aside, beneath.ObjectID{Dev: was.ID.Dev}, &was)
	if err != nil {
		return err
	}
	defer forget()
	_, err = SetAside(ctx, t, e, aside, was, func() error { return aside.Remove(was.ID) })
	return err
}

// SetAside renames the version was of a file or link to aside and does then what ends it there. On an error it is where it
// was.
func SetAside(ctx context.Context, t Remover, e, aside *beneath.Entry, was beneath.Info, end func() error) (warnings []string, err error) {
	if err := Alive(ctx, t, 0); err != nil {
		return nil, err
	}
	return Commit(t.Commit, func() error {
		if err := Still(e, was); err != nil {
			return err
		}
		if err := e.Rename(aside, was.ID, false); err != nil {
			return err
		}
		now, err := aside.Lstat() // the rename itself changed ctime
		if err == nil && (now.Size != was.Size || !now.MTime.Equal(was.MTime)) {
			err = Changed()
		}
		if err == nil {
			err = end()
		}
		if err != nil {
			_ = aside.Rename(e, was.ID, false)
		}
		return err
	})
}

// Still refuses unless e holds that version now.
func Still(e *beneath.Entry, was beneath.Info) error {
	now, err := e.Lstat()
	if err == nil && now.Version() != was.Version() {
		err = Changed()
	}
	return err
}

// Changed is the refusal for a source that changed meanwhile.
func Changed() error {
	return &rootbound.Error{Reason: rootbound.VersionConflict, Detail: "the source changed while it was worked on", Retryable: true,
		Next: "Send the call again when the source is at rest."}
}

// Alive asks whether to go on, and tells of n bytes that passed.
func Alive(ctx context.Context, t interface{ Copied(int64) error }, n int64) error {
	if err := t.Copied(n); err != nil {
		return err
	}
	return Cancelled(ctx)
}
