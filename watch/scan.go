package watch

import (
	"context"
	"fmt"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// finds are the entries that a scan met, up to a bound.
type finds struct {
	list []hold
	most int
	more bool
}

func (f *finds) add(s spot, dir bool) {
	switch {
	case f == nil:
	case len(f.list) < f.most:
		f.list = append(f.list, hold{s, dir})
	default:
		f.more = true
	}
}

// rescan compares all directories with what is watched, if there is doubt.
func (x *Watch) rescan() {
	if !x.unsure {
		return
	}
	x.unsure = false
	if !x.tree {
		return
	}
	d, err := x.place.Open("", beneath.Dir)
	if err != nil {
		if passing(err) {
			x.doubt()
		}
		return // else what comes next finds out why
	}
	defer d.Close()
	if x.nodes.is(0, d.Info().ID) {
		x.failed(x.scan(context.Background(), d, none, "", nil))
	}
}

// scan watches o, which is at name in the directory parent, and in a tree all directories below it that may be seen.
// found takes what is in them. Directories below o that it does not meet are forgotten.
func (x *Watch) scan(ctx context.Context, o *beneath.Object, parent int32, name string, found *finds) error {
	defer x.w.add()()
	x.nodes.round++
	if !x.tree {
		again := true
		for again {
			id, err := x.w.n.Add(o)
			if err == nil {
				_, again, err = x.met(id, o.Info().ID, parent, name)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	shown, err := x.see.Below(o)
	if err != nil {
		return err
	}
	var way []int32 // nodes from o down to the directory that is visited
	entered := func(id beneath.WatchID, object beneath.ObjectID, dir string, depth int) (bool, error) {
		up := parent
		if depth == 0 {
			dir = name
		} else {
			up = way[depth-1]
		}
		k, again, err := x.met(id, object, up, dir)
		way = append(way[:depth], k)
		return again, err
	}
	visit := func(n *beneath.Node) (beneath.Step, error) {
		if !shown(n) {
			return beneath.Over, nil
		}
		if found != nil {
			found.add(spot{x.nodes.all[way[n.Depth()-1]].id, n.Name()}, n.Type().IsDir())
		}
		return beneath.Into, nil
	}
	err = x.w.n.AddTree(ctx, o, entered, visit, func(_ string, err error) {
		if passing(err) {
			x.doubt()
		}
	})
	if err == nil && len(way) > 0 {
		for _, k := range x.nodes.stale(way[0], nil) {
			x.drop(k)
		}
	}
	return err
}

// met makes or finds the node of a directory that was just added. again: it was removed meanwhile.
func (x *Watch) met(id beneath.WatchID, object beneath.ObjectID, parent int32, name string) (k int32, again bool, err error) {
	if k := x.nodes.find(id); k != none {
		n := &x.nodes.all[k]
		switch {
		case k == 0 || n.parent == parent && n.name == name && x.nodes.is(k, object):
			n.round = x.nodes.round
			return k, false, nil
		case x.nodes.over(k, parent): // mounted below itself, or moved meanwhile, of which there is a notice
			return none, false, &rootbound.Error{Reason: rootbound.PathUnresolvable}
		}
		x.drop(k) // what it still has to report is of another place
		return none, true, nil
	}
	if most := x.w.opt.Directories; most > 0 && x.nodes.count >= most {
		return none, false, &rootbound.Error{Reason: rootbound.LimitReached, Detail: "directories of one watch",
			Next: "Watch less, or ask the operator to allow more."}
	}
	if !x.w.count(x) {
		return none, false, &rootbound.Error{Reason: rootbound.LimitReached, Detail: fmt.Sprintf("%d directories watched at once for one session or principal", x.w.opt.Together),
			Next: "End subscriptions that are no longer needed, or watch less."}
	}
	if !x.w.link(id, x) {
		x.w.discount(x, 1)
		return none, true, nil
	}
	x.took = true
	return x.nodes.put(parent, name, id, object), false, nil
}
