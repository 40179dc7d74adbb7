package fileop

import (
	"context"
	"crypto/sha256"
	"io"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// Target is the place of a change: *guard.Target, whose Commit holds the lease that authorizes the effect.
type Target interface {
	io.ReaderAt                        // of Object
	Object() *beneath.Object           // the file that is there now, nil for none
	Entry() *beneath.Entry             // where it is or will be
	Stage() (*beneath.Staged, error)   // a temporary file beside it, invisible to listings' readers
	Commit(publish func() error) error // runs publish, or refuses and does not run it
	Keeper
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

// notDurable is the warning for a directory that could not be synced after the effect.
const notDurable = "done, but the directory could not be synced: a crash of the machine now may bring back the old state"

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
			return Written{}, failed(err)
		}
		old = &now
	}
	if err := expect.Check(old, true); err != nil {
		return Written{}, err
	}
	return replaceWith(ctx, changeOf(t), old, content, nil)
}

// staged is *beneath.Staged as far as it is used here.
type staged interface {
	io.Writer
	Sync() error
	Stat() (beneath.Info, error)
	Publish(old *beneath.Info) (beneath.Info, error)
	Hold(old *beneath.Info) (beneath.Info, error)
	Settle(to *beneath.Entry) error
	Close() error
}

// change is a Target's verbs, apart so that a test can let each of them fail.
type change struct {
	stage   func() (staged, error)
	commit  func(func() error) error
	syncDir func() error
	at      *beneath.Entry // with keep
	keep    Keeper         // nil: nothing is kept
}

func changeOf(t Target) change {
	return change{stage: func() (staged, error) { return t.Stage() }, commit: t.Commit, syncDir: t.Entry().SyncDir, at: t.Entry(), keep: t}
}

// replaceWith publishes content where old is (nil: where nothing is). last, if set, is asked right before the commit.
func replaceWith(ctx context.Context, c change, old *beneath.Info, content []byte, last func() error) (Written, error) {
	if err := cancelled(ctx); err != nil {
		return Written{}, err
	}
	s, err := c.stage()
	if err != nil {
		return Written{}, failed(err)
	}
	defer s.Close()
	if err := fill(ctx, s, content); err != nil {
		return Written{}, err
	}
	r := replacement{keep: c.keep, at: c.at, s: s, old: old}
	sum := sha256.Sum256(content)
	if err := r.prepare(ctx, sum[:]); err != nil {
		return Written{}, failed(err)
	}
	if last != nil {
		if err := last(); err != nil {
			return Written{}, err
		}
	}
	if err := cancelled(ctx); err != nil {
		return Written{}, err
	}
	w := Written{Created: old == nil, Bytes: int64(len(content))}
	warn, err := commit(c.commit, func() (err error) {
		w.Info, err = r.publish()
		return err
	})
	if err != nil {
		return Written{}, err
	}
	w.Warnings = warn
	w.Version = w.Info.Version()
	if c.syncDir() != nil {
		w.Warnings = append(w.Warnings, notDurable)
	}
	w.Warnings = append(w.Warnings, r.end()...)
	return w, nil
}

func fill(ctx context.Context, s staged, content []byte) error {
	for len(content) > 0 {
		if err := cancelled(ctx); err != nil {
			return err
		}
		p := content[:min(len(content), 1<<20)]
		if _, err := s.Write(p); err != nil {
			return failed(err)
		}
		content = content[len(p):]
	}
	return failed(s.Sync())
}

// commit runs one effect. What happened after the effect is a warning, never a refusal; moved_out alone is one, because
// with it the effect was undone.
func commit(in func(func() error) error, effect func() error) (warnings []string, err error) {
	done := false
	err = in(func() error {
		err := effect()
		done = err == nil
		return err
	})
	if err == nil {
		return nil, nil
	}
	if done && rootbound.ReasonOf(err) != rootbound.MovedOut {
		return []string{"done, but what follows a change did not go as it should"}, nil
	}
	return nil, failed(err)
}
