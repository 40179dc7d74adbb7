package watch

import (
	"context"

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
		x.failed(x.undisturbed(func() error { return x.scan(context.Background(), d, none, "", nil) }))
	}
}

// undisturbed scans until no other watch has removed what this one was adding.
func (x *Watch) undisturbed(scan func() error) error {
	for range 64 {
		x.again = false
		if err := x.w.add(scan); err != nil || !x.again {
			return err
		}
	}
	return &rootbound.Error{Reason: rootbound.LimitReached, Detail: "watches of the same directories end all the time", Retryable: true}
}

// scan watches o, which is at name in the directory parent, and in a tree all directories below it that may be seen.
// found takes what is in them. Directories below o that it does not meet are forgotten.
func (x *Watch) scan(ctx context.Context, o *beneath.Object, parent int32, name string, found *finds) error {
	x.nodes.round++
	if !x.tree {
		id, err := x.w.n.Add(o)
		if err == nil {
			_, err = x.met(id, o.Info().ID, parent, name)
		}
		return err
	}
	shown, err := x.see.Below(o)
	if err != nil {
		return err
	}
	var way []int32 // nodes from o down to the directory that is visited
	entered := func(id beneath.WatchID, object beneath.ObjectID, dir string, depth int) error {
		up := parent
		if depth == 0 {
			dir = name
		} else {
			up = way[depth-1]
		}
		k, err := x.met(id, object, up, dir)
		way = append(way[:depth], k)
		return err
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

// met makes or finds the node of a directory that was just added.
func (x *Watch) met(id beneath.WatchID, object beneath.ObjectID, parent int32, name string) (int32, error) {
	if k := x.nodes.find(id); k != none {
		n := &x.nodes.all[k]
		n.round = x.nodes.round
		if k != 0 && (n.parent != parent || n.name != name) && !x.nodes.move(k, parent, name) {
			// mounted below itself, or moved meanwhile, of which there is a notice
			return k, &rootbound.Error{Reason: rootbound.PathUnresolvable}
		}
		return k, nil
	}
	if most := x.w.opt.Directories; most > 0 && x.nodes.count >= most {
		return none, &rootbound.Error{Reason: rootbound.LimitReached, Detail: "directories of one watch",
			Next: "Watch a smaller directory, or ask the operator to allow more."}
	}
	if !x.w.link(id, x) {
		x.again = true
	}
	return x.nodes.put(parent, name, id, object), nil
}
