package undo

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard"
)

const chunk = 256 << 10

// keptName is a name in the store: of the kind that beneath removes whole trees of.
func keptName() string { return beneath.TempPrefix + strings.ToLower(rand.Text()) }

// copyInto copies what is about to be lost to the entry at, with its bits and attributes: a file, or a directory with all
// files below it. Links are not copied: where they led is not the store's to say.
func copyInto(ctx context.Context, l guard.Loss, at *beneath.Entry, durable bool) error {
	from := l.Object
	switch {
	case l.Old.Mode.IsDir():
		o, err := l.At.Open(beneath.Dir)
		if err != nil {
			return err
		}
		defer o.Close()
		from = o
	case !l.Old.Mode.IsRegular():
		return nil
	case from == nil:
		o, err := l.At.Open(beneath.File)
		if err != nil {
			return err
		}
		defer o.Close()
		from = o
	}
	if !from.Info().ID.Same(l.Old.ID) {
		return &rootbound.Error{Reason: rootbound.VersionConflict}
	}
	if l.Old.Mode.IsDir() {
		return copyTree(ctx, from, at)
	}
	return copyFile(ctx, from, at, durable)
}

// copyTree makes at a directory that holds what from holds, links aside.
func copyTree(ctx context.Context, from *beneath.Object, at *beneath.Entry) error {
	to, err := at.MkdirPrivate()
	if err != nil {
		return err
	}
	defer to.Close()
	err = from.List(ctx, "", func(n *beneath.Node) (beneath.Step, error) {
		if !n.Type().IsDir() && !n.Type().IsRegular() {
			return beneath.Over, nil
		}
		o, err := n.Open()
		if err != nil {
			return beneath.Stop, err
		}
		defer o.Close()
		e, err := to.Entry(n.Name())
		if err != nil {
			return beneath.Stop, err
		}
		defer e.Close()
		if o.IsDir() {
			err = copyTree(ctx, o, e)
		} else {
			err = copyFile(ctx, o, e, false)
		}
		return beneath.Over, err
	})
	if err != nil {
		return err
	}
	return to.Resemble(from)
}

// copyFile makes at a file with the bytes, bits, attributes and times of from.
func copyFile(ctx context.Context, from *beneath.Object, at *beneath.Entry, durable bool) error {
	s, err := at.Stage(from, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := each(ctx, from, func(p []byte) error { _, err := s.Write(p); return err }); err != nil {
		return err
	}
	s.Date(from.Info())
	if durable {
		if err := s.Sync(); err != nil {
			return err
		}
	}
	_, err = s.Publish(nil)
	return err
}

// each passes the bytes of a file on, piece by piece.
func each(ctx context.Context, from io.ReaderAt, take func([]byte) error) error {
	b := make([]byte, chunk)
	for off := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := from.ReadAt(b, off)
		if n > 0 {
			if terr := take(b[:n]); terr != nil {
				return terr
			}
			off += int64(n)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// holds reports whether a regular file in the entry has that SHA-256; an empty digest is one that is not known.
func holds(ctx context.Context, e *beneath.Entry, digest string) bool {
	if digest == "" {
		return true
	}
	o, err := e.Open(beneath.File)
	if err != nil {
		return false
	}
	defer o.Close()
	h := sha256.New()
	if each(ctx, o, func(p []byte) error { h.Write(p); return nil }) != nil {
		return false
	}
	return hex.EncodeToString(h.Sum(nil)) == digest
}
