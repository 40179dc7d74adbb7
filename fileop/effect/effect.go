// Package effect is how one change of the file system takes effect: published in a lease, kept, removed, and told.
package effect

import (
	"context"
	"errors"
	"io"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// NotDurable is the warning for a directory that could not be synced after the effect.
const NotDurable = "done, but the directory could not be synced: a crash of the machine now may bring back the old state"

// Staged is *beneath.Staged as far as it is used here.
type Staged interface {
	io.Writer
	Sync() error
	Stat() (beneath.Info, error)
	Publish(old *beneath.Info) (beneath.Info, error)
	Hold(old *beneath.Info) (beneath.Info, error)
	Settle(to *beneath.Entry) error
	Close() error
}

// Cancelled is the refusal for a context that ended, nil before.
func Cancelled(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &rootbound.Error{Reason: rootbound.Cancelled, Err: context.Cause(ctx)}
	}
	return nil
}

// Failed makes an error of the operating system one for the caller; refusals pass as they are.
func Failed(err error) error {
	var e *rootbound.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &rootbound.Error{Reason: rootbound.IOError, Err: err}
}

// Commit runs one effect. What happened after the effect is a warning, never a refusal; moved_out alone is one, because
// with it the effect was undone.
func Commit(in func(func() error) error, publish func() error) (warnings []string, err error) {
	done := false
	err = in(func() error {
		err := publish()
		done = err == nil
		return err
	})
	if err == nil {
		return nil, nil
	}
	if done && rootbound.ReasonOf(err) != rootbound.MovedOut {
		return []string{"done, but what follows a change did not go as it should"}, nil
	}
	return nil, Failed(err)
}
