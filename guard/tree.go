package guard

import (
	"context"

	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/judge"
)

// Tree judges the directory that moves, is copied or goes, which stands at the entry at, entry by entry up to the bound,
// and shows visit each entry that may. It refuses the whole tree for one entry.
func (t *Target) Tree(ctx context.Context, at *beneath.Entry, visit func(*beneath.Node) error) error {
	o, err := at.Open(beneath.Dir)
	if err != nil {
		return err
	}
	defer o.Close()
	tree := t.tree()
	tree.Aside = at != t.entry
	err = t.j.Tree(ctx, o, tree, visit)
	t.weight, t.weightBytes, t.tally.Entries = tree.Entries, tree.Bytes, int64(tree.Entries)
	return err
}

// judgeTree is Tree in the judgement that counts: the one under the lock, or before directories are made.
func (t *Target) judgeTree(ctx context.Context) error {
	if t.light && t.missing == nil {
		return nil
	}
	return t.Tree(ctx, t.entry, nil)
}

func (t *Target) tree() *judge.Tree {
	return &judge.Tree{
		Op:    t.req.Op,
		From:  judge.Side{Project: t.project, Rel: t.rel},
		To:    judge.Side{Project: t.destProject, Rel: t.destRel},
		At:    t.entry.At(),
		Limit: t.tuning.TreeLimit,
		Go: func() error {
			t.touch()
			if t.committed { // what is gone already is looked at to the end
				return nil
			}
			return t.Stale()
		},
		AtDest: func(err error) error { return atDest(t, err) },
	}
}
