package serve

import (
	"context"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/patch"
)

// ApplyAsPerson applies a plan that waits, for the person at a terminal who agreed to it. It is their own authority that
// counts, not that of the session which proposed it: the projects as they are configured now, with what patch.Operator
// adds, and no client's roots. Errors are those of authority.Open and patch.Desk.Apply.
func ApplyAsPerson(ctx context.Context, o Options, p *patch.Plan) (patch.Applied, error) {
	projects := make([]rootbound.Project, len(o.Projects))
	for i, q := range o.Projects {
		projects[i] = patch.Operator(q)
	}
	ceiling, err := authority.Open(projects, authority.CeilingOptions{AcceptRetarget: o.AcceptRetarget})
	if err != nil {
		return patch.Applied{}, err
	}
	defer ceiling.Close()
	a := authority.New(ceiling, authority.Options{Mode: authority.Ignore})
	defer a.Close()
	use, err := a.Acquire(ctx, true)
	if err != nil {
		return patch.Applied{}, err
	}
	defer use.Release()
	use.Origin = &rootbound.Origin{Tool: "rootbound patch apply"}
	use.Agreed = authority.AtTerminal
	ctx, done := authority.With(ctx, use)
	defer done()
	return patch.NewDesk(o.Patches).Apply(ctx, guard.New(o.door()), p)
}

// door are the guard's options.
func (o Options) door() guard.Options {
	return guard.Options{
		Sink: o.Sink, Server: o.Server, Locks: o.Locks, Journal: o.Journal, Keep: o.Keep, Own: o.Own,
		Relative: o.Relative, FSTimeout: max(o.FSTimeout, 0), NoSlow: o.NoSlow, TreeLimit: o.TreeLimit,
	}
}
