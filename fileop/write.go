package fileop

import (
	"context"
	"crypto/sha256"
	"io"

	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/effect"
)

// Target is the place of a change: *guard.Target, whose Commit holds the lease that authorizes the effect.
type Target interface {
	io.ReaderAt                        // of Object
	Object() *beneath.Object           // the file that is there now, nil for none
	Entry() *beneath.Entry             // where it is or will be
	Stage() (*beneath.Staged, error)   // a temporary file beside it, invisible to listings' readers
	Commit(publish func() error) error // runs publish, or refuses and does not run it
	effect.Keeper
}

// Written is the effect of a change. When it is returned without an error the effect is in force, whatever the warnings
// say (G32).
type Written struct {
	Created  bool
	Bytes    int64
	Info     beneath.Info // of the published file
	Version  string
	Warnings []string // what did not go as it should after the effect, in words for the caller
}

// Write makes the entry hold content: a new file, or the old one replaced as a whole by rename, its metadata kept. The
// order is write, fsync, rename in the lease, fsync of the directory. A crash or a full disk leaves the old bytes or the
// new ones.
//
// Errors, all without an effect: those of Expected.Check, exists (something appeared meanwhile), version_conflict (it
// changed meanwhile), cancelled, io_error, and those of t.
func Write(ctx context.Context, t Target, content []byte, expect Expected) (Written, error) {
	var old *beneath.Info
	if o := t.Object(); o != nil {
		now, err := o.Stat()
		if err != nil {
			return Written{}, effect.Failed(err)
		}
		old = &now
	}
	if err := expect.Check(old, true); err != nil {
		return Written{}, err
	}
	return replaceWith(ctx, changeOf(t), old, content, nil)
}

// change is a Target's verbs, apart so that a test can let each of them fail.
type change struct {
	stage   func() (effect.Staged, error)
	commit  func(func() error) error
	syncDir func() error
	at      *beneath.Entry // with keep
	keep    effect.Keeper  // nil: nothing is kept
}

func changeOf(t Target) change {
	return change{stage: func() (effect.Staged, error) { return t.Stage() }, commit: t.Commit, syncDir: t.Entry().SyncDir, at: t.Entry(), keep: t}
}

// replaceWith publishes content where old is (nil: where nothing is). last, if set, is asked right before the commit.
func replaceWith(ctx context.Context, c change, old *beneath.Info, content []byte, last func() error) (Written, error) {
	if err := effect.Cancelled(ctx); err != nil {
		return Written{}, err
	}
	s, err := c.stage()
	if err != nil {
		return Written{}, effect.Failed(err)
	}
	defer s.Close()
	if err := fill(ctx, s, content); err != nil {
		return Written{}, err
	}
	r := effect.Replacement{Keep: c.keep, At: c.at, Staged: s, Old: old}
	sum := sha256.Sum256(content)
	if err := r.Prepare(ctx, sum[:]); err != nil {
		return Written{}, effect.Failed(err)
	}
	if last != nil {
		if err := last(); err != nil {
			return Written{}, err
		}
	}
	if err := effect.Cancelled(ctx); err != nil {
		return Written{}, err
	}
	w := Written{Created: old == nil, Bytes: int64(len(content))}
	warn, err := effect.Commit(c.commit, func() (err error) {
		w.Info, err = r.Publish()
		return err
	})
	if err != nil {
		return Written{}, err
	}
	w.Warnings = warn
	w.Version = w.Info.Version()
	if c.syncDir() != nil {
		w.Warnings = append(w.Warnings, effect.NotDurable)
	}
	w.Warnings = append(w.Warnings, r.End()...)
	return w, nil
}

func fill(ctx context.Context, s effect.Staged, content []byte) error {
	for len(content) > 0 {
		if err := effect.Cancelled(ctx); err != nil {
			return err
		}
		p := content[:min(len(content), 1<<20)]
		if _, err := s.Write(p); err != nil {
			return effect.Failed(err)
		}
		content = content[len(p):]
	}
	return effect.Failed(s.Sync())
}
