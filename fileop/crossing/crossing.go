// Package crossing copies what a rename cannot bring to its place: files and trees that are copied, or that move between
// file systems. It decides nothing; who may do what was settled before.
package crossing

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/effect"
)

// Ends is the two ends of a move or a copy: *guard.Target.
type Ends interface {
	Entry() *beneath.Entry // the source: for a link that moves the link itself
	Dest() *beneath.Entry
	Source() beneath.Info // what was authorized to move or to be copied
	CopiesAcross() bool
	Overwritten() *beneath.Info // what was judged at the destination and may be replaced, nil for nothing
	// Tree shows each entry below the source, which stands at the entry at, that may move or be copied, and refuses as a
	// whole what may not.
	Tree(ctx context.Context, at *beneath.Entry, visit func(*beneath.Node) error) error
	// StageCopy makes the temporary file for a copy of from at Dest, or at an entry of a temporary tree.
	StageCopy(at *beneath.Entry, from *beneath.Object) (*beneath.Staged, error)
	effect.Keeper
	effect.Remover
}

// Done is the effect of a copy. It is in force, whatever the warnings say.
type Done struct {
	Files    int // that were copied
	Bytes    int64
	Info     beneath.Info // of the file that was published; of a tree zero
	Warnings []string
}

const (
	copyChunk = 256 << 10
	copySync  = 16 << 20 // bytes after which the copy is synced, so that no single sync takes as long as the whole file
)

// crossing is one copy, or a move by copy: copy, sync, publish in a lease, sync the directory. Nothing is visible and the
// source is untouched until the copy is published as a whole. A move reads the copy back before it is published, and
// removes the source afterwards in leases of its own.
type crossing struct {
	t          Ends
	stays      bool // a copy: the source stays
	read, back []byte
	names      bool // a file had several names, and the copy is none of them
	files      int  // that were copied
	bytes      int64
	made       beneath.Info // the file that was published
}

// Move copies what the source holds to the destination, synced and read back, publishes it as a whole and then removes the
// source. An error before that leaves the source whole and nothing at the destination; one after it says in Detail that the
// copy is complete and what of the source was removed.
func Move(ctx context.Context, t Ends) (Done, error) {
	c := &crossing{t: t, read: make([]byte, copyChunk), back: make([]byte, copyChunk)}
	if err := c.copyable(t.Source(), t.Entry().Key().Dir); err != nil {
		return Done{}, err
	}
	for _, end := range []*beneath.Entry{t.Dest(), t.Entry()} { // as the rename would have asked
		if err := end.Writable(); err != nil {
			return Done{}, effect.Failed(err)
		}
	}
	done, err := c.do(ctx)
	if err == nil && c.names {
		done.Warnings = append(done.Warnings, "a file with several names was copied: the other names keep the old file")
	}
	return done, err
}

// Copy publishes a copy of what the source holds at the destination, as a whole; the source stays.
func Copy(ctx context.Context, t Ends) (Done, error) {
	if err := t.Dest().Writable(); err != nil {
		return Done{}, effect.Failed(err)
	}
	c := &crossing{t: t, stays: true, read: make([]byte, copyChunk)}
	if err := c.copyable(t.Source(), t.Source().ID); err != nil {
		return Done{}, err
	}
	return c.do(ctx)
}

func (c *crossing) do(ctx context.Context) (Done, error) {
	bring := c.file
	if c.t.Source().Mode.IsDir() {
		bring = c.tree
	}
	warn, err := bring(ctx)
	if err != nil {
		return Done{}, err
	}
	return Done{Files: c.files, Bytes: c.bytes, Info: c.made, Warnings: warn}, nil
}

// copyable refuses what a copy cannot bring to another place: links and special files, and mount points of what moves.
func (c *crossing) copyable(i beneath.Info, dir beneath.ObjectID) error {
	kind := i.Mode.Type()
	switch {
	case c.stays && kind&fs.ModeSymlink != 0:
		return &rootbound.Error{Reason: rootbound.SpecialFile, Detail: "there is a link, and a copy never makes links"}
	case kind&fs.ModeSymlink != 0:
		return &rootbound.Error{Reason: rootbound.CrossDevice, Detail: "there is a link, and a copy never makes links",
			Next: "Leave links where they are and move the files and directories without them."}
	case kind != 0 && kind != fs.ModeDir:
		return &rootbound.Error{Reason: rootbound.SpecialFile}
	case i.ID.Mount != dir.Mount && !c.stays:
		return &rootbound.Error{Reason: rootbound.CrossDevice, Detail: "there is a mount point, which cannot be moved",
			Next: "Move what lies in it part by part."}
	}
	return nil
}

func (c *crossing) file(ctx context.Context) (warn []string, err error) {
	from, to := c.t.Entry(), c.t.Dest()
	o, err := from.Open(beneath.File)
	if err != nil {
		return nil, effect.Failed(err)
	}
	defer o.Close()
	was := o.Info()
	if !was.ID.Same(c.t.Source().ID) {
		return nil, effect.Changed()
	}
	s, err := c.copyFile(ctx, to, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := effect.Replacement{Keep: c.t, At: to, Staged: s, Old: c.t.Overwritten()}
	if err := r.Prepare(ctx, nil); err != nil {
		return nil, effect.Failed(err)
	}
	warn, err = effect.Commit(c.t.Commit, func() error {
		if err := effect.Still(from, was); err != nil {
			return err
		}
		c.made, err = r.Publish()
		return err
	})
	if err != nil {
		return nil, err
	}
	// A change that has begun is rolled back after a crash: it ends here, before the source of a move goes.
	warn = append(warn, r.End()...)
	if c.stays {
		if to.SyncDir() != nil {
			warn = append(warn, effect.NotDurable)
		}
		return warn, nil
	}
	if err := to.SyncDir(); err != nil { // a crash could lose the copy, so the source has to stay
		return nil, half(err, "the source was not removed")
	}
	if err := effect.RemoveFile(ctx, c.t, from, was); err != nil {
		return nil, half(err, "the source was not removed")
	}
	if from.SyncDir() != nil {
		warn = append(warn, effect.NotDurable)
	}
	return warn, nil
}

// copyFile stages a copy of from at the entry at: written, synced, read back and compared, and still the version that
// was opened. The caller closes it.
func (c *crossing) copyFile(ctx context.Context, at *beneath.Entry, from *beneath.Object) (s *beneath.Staged, err error) {
	if err := c.alive(ctx, 0); err != nil {
		return nil, err
	}
	if s, err = c.t.StageCopy(at, from); err != nil {
		return nil, effect.Failed(err)
	}
	was := from.Info()
	c.names = c.names || was.Links > 1
	c.files++
	c.bytes += was.Size
	if err = c.write(ctx, s, from); err == nil && !c.stays {
		err = c.verify(ctx, s, from)
	}
	if err == nil {
		var now beneath.Info
		if now, err = from.Stat(); err == nil && now.Version() != was.Version() {
			err = effect.Changed()
		}
	}
	if err != nil {
		s.Close()
		return nil, effect.Failed(err)
	}
	return s, nil
}

func (c *crossing) write(ctx context.Context, s *beneath.Staged, from *beneath.Object) error {
	size := from.Info().Size
	for off := int64(0); off < size; {
		p := c.read[:min(copyChunk, size-off)]
		if n, err := from.ReadAt(p, off); n < len(p) {
			return short(err)
		}
		if _, err := s.Write(p); err != nil {
			return err
		}
		off += int64(len(p))
		if off%copySync == 0 {
			if err := s.Sync(); err != nil {
				return err
			}
		}
		if err := c.alive(ctx, int64(len(p))); err != nil {
			return err
		}
	}
	if !c.stays {
		s.Date(from.Info())
	}
	return s.Sync()
}

func (c *crossing) verify(ctx context.Context, s *beneath.Staged, from *beneath.Object) error {
	size := from.Info().Size
	for off := int64(0); off < size; {
		n := min(copyChunk, size-off)
		p, q := c.read[:n], c.back[:n]
		if n, err := from.ReadAt(p, off); n < len(p) {
			return short(err)
		}
		if n, err := s.ReadAt(q, off); n < len(q) || !bytes.Equal(p, q) {
			if now, serr := from.Stat(); serr == nil && now.Version() != from.Info().Version() {
				return effect.Changed()
			}
			return &rootbound.Error{Reason: rootbound.IOError, Detail: "the copy reads back differently from what was written", Err: err}
		}
		off += n
		if err := c.alive(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// alive asks whether to go on.
func (c *crossing) alive(ctx context.Context, n int64) error { return effect.Alive(ctx, c.t, n) }

// short tells a file that became shorter from one that cannot be read.
func short(err error) error {
	if rootbound.ReasonOf(err) != "" {
		return err
	}
	return effect.Changed()
}

// half reports a move that ended between its steps (contract §4.3): the copy is in force, the source not gone.
func half(err error, what string, args ...any) error {
	e, ok := effect.Failed(err).(*rootbound.Error)
	if !ok {
		e = &rootbound.Error{Reason: rootbound.IOError, Err: err}
	}
	out := *e
	out.Detail = "the copy at the destination is complete; " + fmt.Sprintf(what, args...)
	if e.Detail != "" {
		out.Detail += ": " + e.Detail
	}
	out.Next = "Both ends hold something now: compare them, then remove what is not wanted."
	out.Retryable = false
	return &out
}
