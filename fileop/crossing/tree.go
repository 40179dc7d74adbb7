package crossing

import (
	"context"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/effect"
)

// The tree of a copy, or of a move by copy. It is surveyed before anything is made, copied into a temporary directory beside the
// destination, compared with the survey once more, and published by one rename.

// survey is what lay below the source, by path relative to it.
type survey map[string]beneath.Info

func (c *crossing) tree(ctx context.Context) (warn []string, err error) {
	from, to := c.t.Entry(), c.t.Dest()
	if c.t.Overwritten() != nil {
		return nil, &rootbound.Error{Reason: rootbound.NotADirectory, Detail: "a directory never replaces a file"}
	}
	src, err := from.Open(beneath.Dir)
	if err != nil {
		return nil, effect.Failed(err)
	}
	defer src.Close()
	was := src.Info()
	if !was.ID.Same(c.t.Source().ID) {
		return nil, effect.Changed()
	}
	all, err := c.survey(ctx, src)
	if err != nil {
		return nil, effect.Failed(err)
	}
	tmp, err := to.Beside()
	if err != nil {
		return nil, effect.Failed(err)
	}
	defer tmp.Close()
	top, err := tmp.MkdirPrivate()
	if err != nil {
		return nil, effect.Failed(err)
	}
	defer top.Close()
	id := top.Info().ID
	published := false
	forget, err := c.t.Temporary(tmp, id, nil)
	defer func() {
		if !published && tmp.RemoveTemporary(id) != nil {
			return // left to recovery
		}
		if forget != nil {
			forget()
		}
	}()
	if err == nil {
		err = c.copyTree(ctx, src, top, all)
	}
	if err == nil {
		err = c.same(ctx, src, all)
	}
	if err != nil {
		return nil, effect.Failed(err)
	}
	warn, err = effect.Commit(c.t.Commit, func() error {
		if err := effect.Still(from, was); err != nil {
			return err
		}
		err := tmp.Rename(to, id, false)
		published = err == nil
		return err
	})
	if err != nil {
		return nil, err
	}
	if c.stays {
		if to.SyncDir() != nil {
			warn = append(warn, effect.NotDurable)
		}
		return warn, nil
	}
	if err := to.SyncDir(); err != nil {
		return nil, half(err, "nothing of the source was removed")
	}
	if err := c.removeTree(ctx, src, all); err != nil {
		return nil, err
	}
	if from.SyncDir() != nil {
		warn = append(warn, effect.NotDurable)
	}
	return warn, nil
}

func (c *crossing) survey(ctx context.Context, src *beneath.Object) (survey, error) {
	all := survey{}
	dest := c.t.Dest().Key().Dir
	inside := func(i beneath.Info) error { // by another mount, else the rename had said so
		if i.ID.Same(dest) {
			return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "into_itself", Next: "Choose a destination outside the directory itself."}
		}
		return nil
	}
	if err := inside(src.Info()); err != nil {
		return nil, err
	}
	err := c.t.Tree(ctx, c.t.Entry(), func(n *beneath.Node) error {
		i, err := n.Info()
		if err == nil {
			err = c.copyable(i, src.Info().ID)
		}
		if err == nil {
			err = inside(i)
		}
		all[n.Rel()] = i
		return err
	})
	return all, err
}

// level is one directory of a walk and what is made of it.
type level struct {
	from, to *beneath.Object
	entry    *beneath.Entry // of from, for its removal
	was      beneath.Info
}

func (l level) close() {
	for _, o := range []*beneath.Object{l.from, l.to} {
		if o != nil {
			o.Close()
		}
	}
	if l.entry != nil {
		l.entry.Close()
	}
}

// eachLevel walks below first.from, which it leaves open, like a recursion: visit is given the directory an entry is in,
// and returns the level of a directory that is to be entered; leave is called for each such level after its last entry.
func eachLevel(ctx context.Context, first level, visit func(up level, n *beneath.Node) (*level, error), leave func(level) error, failed func(error)) error {
	var down []level
	defer func() {
		for _, l := range down {
			l.close()
		}
	}()
	up := func(depth int) error {
		for len(down) > depth {
			l := down[len(down)-1]
			err := leave(l)
			l.close()
			if down = down[:len(down)-1]; err != nil {
				return err
			}
		}
		return nil
	}
	err := first.from.Walk(ctx, func(n *beneath.Node) (beneath.Step, error) {
		if err := up(n.Depth() - 1); err != nil {
			return beneath.Stop, err
		}
		at := first
		if len(down) > 0 {
			at = down[len(down)-1]
		}
		l, err := visit(at, n)
		if err != nil {
			return beneath.Stop, err
		}
		if l == nil {
			return beneath.Over, nil
		}
		down = append(down, *l)
		return beneath.Into, nil
	}, func(_ string, err error) { failed(err) })
	if err != nil {
		return err
	}
	return up(0)
}

func (c *crossing) copyTree(ctx context.Context, src, top *beneath.Object, all survey) error {
	seen := 0
	var unread error
	err := eachLevel(ctx, level{from: src, to: top}, func(up level, n *beneath.Node) (*level, error) {
		if err := c.alive(ctx, 0); err != nil {
			return nil, err
		}
		was, ok := all[n.Rel()]
		if !ok {
			return nil, effect.Changed() // it was not judged
		}
		seen++
		o, err := n.Open()
		if err != nil {
			return nil, err
		}
		l := &level{from: o}
		if o.Info().Version() != was.Version() {
			l.close()
			return nil, effect.Changed()
		}
		e, err := up.to.Entry(n.Name())
		if err == nil {
			defer e.Close()
			l.to, err = c.copyEntry(ctx, e, o)
		}
		if err != nil || l.to == nil {
			l.close()
			return nil, err
		}
		return l, nil
	}, func(l level) error {
		return c.resemble(l.to, l.from)
	}, func(err error) { unread = err })
	switch {
	case err != nil:
		return err
	case unread != nil:
		return unread
	case seen != len(all):
		return effect.Changed()
	}
	return c.resemble(top, src)
}

// copyEntry makes the copy of o at e inside the temporary tree; of a directory, which it returns, without its entries.
func (c *crossing) copyEntry(ctx context.Context, e *beneath.Entry, o *beneath.Object) (*beneath.Object, error) {
	if o.IsDir() {
		if err := e.Mkdir(); err != nil {
			return nil, err
		}
		return e.Open(beneath.Dir)
	}
	s, err := c.copyFile(ctx, e, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	_, err = s.Publish(nil) // no effect yet: the tree has no name of its own
	return nil, err
}

// same compares the whole source with the survey: what was copied first may have changed since.
func (c *crossing) same(ctx context.Context, src *beneath.Object, all survey) error {
	seen := 0
	var unread error
	err := src.Walk(ctx, func(n *beneath.Node) (beneath.Step, error) {
		if err := c.alive(ctx, 0); err != nil {
			return beneath.Stop, err
		}
		i, err := n.Info()
		was, ok := all[n.Rel()]
		if err == nil && (!ok || i.Version() != was.Version()) {
			err = effect.Changed()
		}
		seen++
		return beneath.Into, err
	}, func(_ string, err error) { unread = err })
	if err == nil {
		err = unread
	}
	if err == nil && seen != len(all) {
		err = effect.Changed()
	}
	return err
}

// removeTree removes what was copied, by identity and version. What changed meanwhile stays where it is.
func (c *crossing) removeTree(ctx context.Context, src *beneath.Object, all survey) error {
	gone := 0
	var kept error
	keep := func(err error) error { // nil: go on with the next entry
		switch rootbound.ReasonOf(err) {
		case rootbound.NotFound: // somebody was faster
			return nil
		case rootbound.VersionConflict, rootbound.Exists:
			if kept == nil {
				kept = &rootbound.Error{Reason: rootbound.VersionConflict, Detail: "something in it changed after it was copied"}
			}
			return nil
		}
		return err
	}
	rmdir := func(e *beneath.Entry, was beneath.Info) error {
		if err := c.alive(ctx, 0); err != nil {
			return err
		}
		_, err := effect.Commit(c.t.Commit, func() error { return e.Remove(was.ID) })
		if err == nil {
			gone++
		}
		return keep(err)
	}
	err := eachLevel(ctx, level{from: src}, func(up level, n *beneath.Node) (*level, error) {
		was, ok := all[n.Rel()]
		if !ok {
			return nil, keep(effect.Changed())
		}
		e, err := up.from.Entry(n.Name())
		if err != nil {
			return nil, err
		}
		if !was.Mode.IsDir() {
			defer e.Close()
			err := effect.RemoveFile(ctx, c.t, e, was)
			if err == nil {
				gone++
			}
			return nil, keep(err)
		}
		o, err := n.Open()
		if err == nil && !o.Info().ID.Same(was.ID) {
			o.Close()
			err = effect.Changed()
		}
		if err != nil {
			e.Close()
			return nil, keep(err)
		}
		return &level{from: o, entry: e, was: was}, nil
	}, func(l level) error {
		return rmdir(l.entry, l.was)
	}, func(err error) {
		if kept == nil {
			kept = err
		}
	})
	if err == nil {
		err = rmdir(c.t.Entry(), src.Info())
	}
	if err == nil {
		err = kept
	}
	if err != nil {
		return half(err, "%d of %d entries of the source were removed", gone, len(all)+1)
	}
	return nil
}

// resemble gives a directory that was copied what its source has. The times of a copy are its own.
func (c *crossing) resemble(to, from *beneath.Object) error {
	if c.stays {
		return to.ResembleNow(from)
	}
	return to.Resemble(from)
}
