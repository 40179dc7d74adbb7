package fileop

import (
	"context"
	"errors"
	"fmt"

	"github.com/rootbound/rootbound"
)

func cancelled(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &rootbound.Error{Reason: rootbound.Cancelled, Err: context.Cause(ctx)}
	}
	return nil
}

// failed makes an error of the operating system one for the caller; refusals pass as they are.
func failed(err error) error {
	var e *rootbound.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &rootbound.Error{Reason: rootbound.IOError, Err: err}
}

func tooLarge(size, limit int64) error {
	return &rootbound.Error{Reason: rootbound.TooLarge, Detail: fmt.Sprintf("%d bytes, the limit is %d", size, limit)}
}
