package judge

import (
	"context"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// View shows what lies below an object that was reached at Rel in Project, without what rights, rules and own files hide.
// Nothing of it is shown, opened or read before Go agreed.
type View struct {
	Judge   *Judge
	Object  *beneath.Object // nil: there is nothing to see
	Project *rootbound.Project
	Rel     string
	Need    rootbound.Rights
	Go      func() error // nil while it may go on; called by several goroutines at once
	Tally   *Tally
}

// Tally counts what was shown, hidden, and could not be read.
type Tally struct{ Entries, Hidden, Skipped int64 }

// Tour is beneath.Object.Tour of what is shown. What a directory opens is judged like what is visited, and by what it turns
// out to be.
func (v *View) Tour(ctx context.Context, c beneath.Course) error {
	c, err := v.veiled(c)
	if err != nil {
		return err
	}
	return v.Object.Tour(ctx, c)
}

// Sweep is beneath.Object.Sweep of what is shown; each file is judged when it was opened.
func (v *View) Sweep(ctx context.Context, s beneath.Sweep) error {
	c, err := v.veiled(s.Course)
	if err != nil {
		return err
	}
	s.Course, s.May = c, v.Judge.Opens(v.Project)
	return v.Object.Sweep(ctx, s)
}

// List is beneath.Object.List of what is shown.
func (v *View) List(ctx context.Context, after string, visit func(*beneath.Node) (beneath.Step, error)) error {
	see, err := v.sees()
	if err != nil {
		return err
	}
	return v.Object.List(ctx, after, v.counted(see, visit))
}

// sees tells what is shown.
func (v *View) sees() (func(*beneath.Node) bool, error) {
	if v.Object == nil {
		return nil, refuse(rootbound.NotADirectory, "")
	}
	return v.Judge.Shown(v.Object, v.Project, v.Rel, v.Need)
}

// counted shows visit what is shown, while it may go on, and counts.
func (v *View) counted(see func(*beneath.Node) bool, visit func(*beneath.Node) (beneath.Step, error)) func(*beneath.Node) (beneath.Step, error) {
	return func(n *beneath.Node) (beneath.Step, error) {
		if err := v.Go(); err != nil {
			return beneath.Stop, err
		}
		if !see(n) {
			v.Tally.Hidden++
			return beneath.Over, nil
		}
		v.Tally.Entries++
		return visit(n)
	}
}

// veiled passes on what is shown, and counts.
func (v *View) veiled(c beneath.Course) (beneath.Course, error) {
	see, err := v.sees()
	if err != nil {
		return c, err
	}
	enter, failed, ahead := c.Enter, c.Failed, c.Ahead
	c.Go, c.Visit = v.Go, v.counted(see, c.Visit)
	if ahead != nil {
		c.Ahead = func(n *beneath.Node) bool { return see(n) && ahead(n) }
	}
	if enter != nil {
		may := v.Judge.Opens(v.Project)
		c.Enter = func(d *beneath.Directory) {
			d.Judge(see, may)
			enter(d)
		}
	}
	c.Sees = func(n *beneath.Node) bool {
		if see(n) {
			return true
		}
		v.Tally.Hidden++
		return false
	}
	c.Failed = func(rel string, err error) {
		v.Tally.Skipped++
		if failed != nil {
			failed(rel, err)
		}
	}
	return c, nil
}
