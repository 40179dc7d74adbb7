package fileop

import (
	"bytes"
	"context"
	"io"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop/effect"
)

// Append makes the file of t hold what it holds and add after it: a new file of both is published in place of the old one,
// whose bytes, line endings and encoding stay as they are. Where there is no file, one is made. limit bounds the bytes of
// the file before and after; 0: DefaultEdit. expect may be the version of a cut read.
//
// Errors, all without an effect: too_large, version_conflict (another program changed the file meanwhile), and those of
// Write.
func Append(ctx context.Context, t Target, add []byte, expect Expected, limit int64) (Written, error) {
	if limit <= 0 {
		limit = DefaultEdit
	}
	now := t.Object()
	if now == nil {
		if err := expect.Check(nil, false); err != nil {
			return Written{}, err
		}
		if int64(len(add)) > limit {
			return Written{}, tooLarge(int64(len(add)), limit)
		}
		return Write(ctx, t, add, expect)
	}
	old, err := now.Stat()
	if err != nil {
		return Written{}, effect.Failed(err)
	}
	if err := expect.Check(&old, false); err != nil {
		return Written{}, err
	}
	if sum := old.Size + int64(len(add)); sum > limit {
		return Written{}, tooLarge(sum, limit)
	}
	before, err := readAll(ctx, t, old.Size, limit)
	if err != nil {
		return Written{}, err
	}
	return replaceWith(ctx, changeOf(t), &old, append(bytes.Clone(before), add...), unchanged(ctx, t, before, limit))
}

// unchanged asks whether src holds those bytes still: times have a grain, and what was written in place within it shows in
// the bytes only.
func unchanged(ctx context.Context, src io.ReaderAt, before []byte, limit int64) func() error {
	return func() error {
		now, err := readAll(ctx, src, int64(len(before)), limit)
		if err == nil && bytes.Equal(now, before) {
			return nil
		}
		if err != nil && rootbound.ReasonOf(err) != rootbound.TooLarge {
			return err
		}
		return &rootbound.Error{Reason: rootbound.VersionConflict}
	}
}
