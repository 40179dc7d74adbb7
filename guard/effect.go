package guard

import (
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/judge"
)

// Stage makes the temporary file for Entry, with the mode and attributes of Object if there is one, and journals it
// before any content is written. It is removed with the target unless it was published.
func (t *Target) Stage() (*beneath.Staged, error) {
	if err := t.Stale(); err != nil {
		return nil, err
	}
	if t.entry == nil || t.staged != nil {
		return nil, refuse(rootbound.InternalError, "")
	}
	var old *beneath.Info
	if t.obj != nil && t.group == "" { // of a group the old files are put back, not removed
		old = new(t.obj.Info())
	}
	return t.hold(t.entry, t.obj, old)
}

// hold stages what close removes unless it was published.
func (t *Target) hold(at *beneath.Entry, like *beneath.Object, old *beneath.Info) (*beneath.Staged, error) {
	s, err := at.Stage(like, func(name string, id beneath.ObjectID) (err error) {
		t.forget, err = t.journal(at.At(), name, id, old)
		return err
	})
	t.touch()
	if err == nil {
		t.staged = s
	}
	return s, err
}

// Commit publishes under a lease of the generation the target was judged in. publish makes only system calls that show
// an effect under a name; the handles check right before and after it that the parents lie beneath their roots.
func (t *Target) Commit(publish func() error) error {
	if max := t.project.MaxWrite; max > 0 && t.dest == nil && t.staged != nil && t.staged.Size() > max {
		return judge.Oversized()
	}
	if err := t.use.CheckRoot(t.grant, true); err != nil {
		return err
	}
	if t.dest != nil && t.dest.At().Root != t.grant {
		if err := t.use.CheckRoot(t.dest.At().Root, true); err != nil {
			return atDest(t, err)
		}
	}
	return t.lease(publish)
}

func (t *Target) lease(publish func() error) error {
	var err error
	head := t.head() // who is given up, and who answers for what was done
	if !head.pulse.Commit(func() { err = t.use.Commit(publish) }) {
		return t.Stale()
	}
	if err == nil {
		t.committed, head.committed = true, true
	}
	return err
}

// Mkdir makes the target's directory and the parents it lacks, one by one, each judged and each in a lease of its own.
// made counts them, also when it stops in between.
func (t *Target) Mkdir() (made int, err error) {
	if t.obj != nil {
		return 0, nil
	}
	if err := t.use.CheckRoot(t.grant, true); err != nil {
		return 0, err
	}
	o, made, err := t.j.MkdirAll(t.mayCreate, t.place, t.lease)
	if err != nil {
		t.made = made // the refusal tells it
		return made, err
	}
	return made, o.Close()
}
