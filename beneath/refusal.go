package beneath

import (
	"context"
	"errors"

	"github.com/rootbound/rootbound"
)

func refuse(reason rootbound.Reason, detail string, cause error) error {
	return &rootbound.Error{Reason: reason, Detail: detail, Err: cause}
}

// slashAtEnd refuses a slash behind what is no directory.
func slashAtEnd() error {
	return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "trailing_slash", Next: "Send the path without the slash at its end: only a directory that is read, listed or made may have one."}
}

// relative refuses a directory that is none by itself: no working directory stands in.
func relative() error {
	return &rootbound.Error{Reason: rootbound.RootUnusable, Detail: "missing", Next: "Give an absolute path: filepath.Abs makes one from a relative one."}
}

// released is the answer of a root or object whose last reference is gone: what was approved with it has ended.
func released() error { return refuse(rootbound.GenerationStale, "released", nil) }

// ended turns a context's end into a refusal; the cause is passed on if it is one already.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if e, ok := errors.AsType[*rootbound.Error](context.Cause(ctx)); ok {
		return e
	}
	return refuse(rootbound.Cancelled, "", context.Cause(ctx))
}
