package fileop

import (
	"context"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// remover is what the removal of a file needs.
type remover interface {
	// Temporary remembers a temporary name that Stage and StageCopy do not know of, until forget: a tree of identity id,
	// or the version old of a file that is about to be removed.
	Temporary(at *beneath.Entry, id beneath.ObjectID, old *beneath.Info) (forget func(), err error)
	Commit(publish func() error) error
	// Copied is told of bytes as they pass, also of none; it fails once nothing may be changed any more.
	Copied(n int64) error
}

// removeFile takes the version was of a file or link away from its entry: under a temporary name first, where nobody
// writes, so that what another program put in its place meanwhile is seen and goes back.
func removeFile(ctx context.Context, t remover, e *beneath.Entry, was beneath.Info) error {
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
	_, err = setAside(ctx, t, e, aside, was, func() error { return aside.Remove(was.ID) })
	return err
}

// setAside renames the version was of a file or link to aside and does then what ends it there. On an error it is where it
// was.
func setAside(ctx context.Context, t remover, e, aside *beneath.Entry, was beneath.Info, end func() error) (warnings []string, err error) {
	if err := alive(ctx, t, 0); err != nil {
		return nil, err
	}
	return commit(t.Commit, func() error {
		if err := still(e, was); err != nil {
			return err
		}
		if err := e.Rename(aside, was.ID, false); err != nil {
			return err
		}
		now, err := aside.Lstat() // the rename itself changed ctime
		if err == nil && (now.Size != was.Size || !now.MTime.Equal(was.MTime)) {
			err = changed()
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

// still refuses unless e holds that version now.
func still(e *beneath.Entry, was beneath.Info) error {
	now, err := e.Lstat()
	if err == nil && now.Version() != was.Version() {
		err = changed()
	}
	return err
}

func changed() error {
	return &rootbound.Error{Reason: rootbound.VersionConflict, Detail: "the source changed while it was worked on", Retryable: true,
		Next: "Send the call again when the source is at rest."}
}
