package watch

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// take follows one notice.
func (x *Watch) take(n beneath.Notice) {
	if n.What&beneath.Remounted != 0 {
		if x.place.Near(strings.Split(n.Name, "\x00")) {
			x.again()
		}
		return
	}
	k := x.nodes.find(n.ID)
	switch {
	case k == none && n.ID == x.mark && x.mark != 0:
		if x.mark = 0; x.astray {
			x.astray = false
			x.check(beneath.SelfGone)
			x.doubt() // or it is there again
		}
		return
	case k == none:
		if n.What&(beneath.SelfMoved|beneath.SelfGone|beneath.Forgotten) != 0 && slices.Contains(x.above, n.ID) {
			x.check(n.What)
		}
		return
	case n.What&beneath.Forgotten != 0:
		x.forgotten(k)
		return
	case n.Name == "":
		switch {
		case n.What&(beneath.SelfMoved|beneath.SelfGone) == 0:
			if k != 0 || x.name != "" {
				return // its parent was told too
			}
		case k == 0:
			x.check(n.What)
			return
		default: // what it still has to report happened who knows where
			x.anew(k)
			return
		}
	}
	x.lastSeen = n.What
	if n.Dir && x.tree && n.Name != "" && n.What&(beneath.Made|beneath.MovedTo|beneath.Attributes) != 0 {
		x.appear(k, n.Name, n.What)
	}
	s := spot{n.ID, n.Name}
	if n.What != beneath.Shut || !x.pend.shut(s) {
		x.offer(s, n.Dir)
	}
}

// forgotten follows the end of a watch that was not removed by this one: its object is gone, or its file system.
func (x *Watch) forgotten(k int32) {
	if k == 0 {
		x.end(rootbound.NotFound)
	} else {
		x.anew(k)
	}
}

// anew forgets a directory and takes up what is at its place now.
func (x *Watch) anew(k int32) {
	parent, name := x.nodes.all[k].parent, x.nodes.all[k].name
	x.drop(k)
	x.appear(parent, name, beneath.Made)
}

// resolve looks at the directory of a node anew, from the root, and at an entry of it. If the directory is not there any
// more, the node and all below it are forgotten. The look is to be closed if ok.
func (x *Watch) resolve(k int32, name string) (l beneath.Look, ok bool) {
	l, err := x.look(k, name)
	if err == nil && x.nodes.is(k, l.Dir.ID) {
		return l, true
	}
	if err == nil {
		l.Close()
		err = &rootbound.Error{Reason: rootbound.MovedOut}
	}
	switch {
	case passing(err):
		x.doubt()
	case !elsewhere(err):
	case k != 0:
		x.drop(k)
	case rootbound.ReasonOf(err) != rootbound.NotFound:
		x.end(rootbound.MovedOut)
	default: // a notice is coming that tells whether it was moved or removed
		x.astray = true
		if x.mark == 0 {
			x.doubt()
		}
	}
	return l, false
}

func (x *Watch) look(k int32, name string) (beneath.Look, error) {
	if x.name != "" {
		return x.place.LookAbove(x.depth(), name)
	}
	return x.place.Look(x.nodes.path(k, ""), name)
}

// elsewhere tells an object that is not where it was from one that cannot be looked at.
func elsewhere(err error) bool {
	switch rootbound.ReasonOf(err) {
	case rootbound.NotFound, rootbound.MovedOut, rootbound.NotADirectory, rootbound.PathUnresolvable, rootbound.OutsideRoot,
		rootbound.SpecialFile, rootbound.RuleDenied:
		return true
	}
	return false
}

// passing reports an error that says nothing of the object: too many open files and the like.
func passing(err error) bool {
	e, ok := err.(*rootbound.Error)
	return ok && e.Retryable
}

// doubt has everything looked at and read again a little later.
func (x *Watch) doubt() {
	x.unsure = true
	x.pend.unsure(time.Now())
}

// offer judges a spot and tells it, now or later.
func (x *Watch) offer(s spot, dir bool) { x.offerUnless(nil, s, dir) }

// late offers what came in a window that is over.
func (x *Watch) late(o *window) {
	if o.again {
		x.offer(o.spot, o.dir)
	} else {
		x.offerUnless(&o.stamp, o.spot, o.dir)
	}
}

// offerUnless is offer, but for what is still as it was.
func (x *Watch) offerUnless(was *stamp, s spot, dir bool) {
	k := x.nodes.find(s.id)
	if k == none {
		return
	}
	l, ok := x.resolve(k, s.name)
	if !ok {
		return
	}
	defer l.Close()
	err := x.judge(&l, k, dir)
	switch {
	case ended(err):
		x.hold(s, dir)
		return
	case passing(err):
		x.doubt()
		return
	case err != nil, was != nil && !l.Gone && *was == stampOf(&l.Entry):
		return
	case x.collapse:
		x.any = true
		return
	case l.Gone && x.name != "":
		if x.missing.IsZero() {
			x.missing = time.Now().Add(max(x.pend.size, leastWait))
		}
		return
	}
	x.missing = time.Time{}
	switch x.pend.offer(s, dir, stampOf(&l.Entry)) {
	case tellNow:
		if !x.tell(x.event(&l)) {
			x.hold(s, dir)
		}
	case tellAll:
		x.tellAll()
	}
}

// event is what is told of a look.
func (x *Watch) event(l *beneath.Look) Event {
	e := Event{Kind: Changed}
	if l.Gone {
		e.Kind = Gone
	}
	if l.Name == "" || x.name != "" {
		return e
	}
	e.Rel = l.Name
	if dir := strings.TrimPrefix(l.At.Path[len(x.path):], "/"); dir != "" {
		e.Rel = dir + "/" + l.Name
	}
	return e
}

// hold keeps what could not be told for the next Sight.
func (x *Watch) hold(s spot, dir bool) {
	if len(x.held) < x.pend.limit {
		x.held = append(x.held, hold{s, dir})
	} else {
		x.unsure = true
	}
}

// ended reports that a generation is over, which is for whoever suspends to follow.
func ended(err error) bool {
	switch rootbound.ReasonOf(err) {
	case rootbound.GenerationStale, rootbound.RevokedByUser:
		return true
	}
	return false
}

// judge is nil if what was looked at may be told.
func (x *Watch) judge(l *beneath.Look, k int32, dir bool) error {
	err := x.see.Sees(l, dir)
	if err == nil || k != 0 || ended(err) {
		return err
	}
	self := *l // the entry may not be told of; perhaps nothing may any more
	if x.name == "" {
		self.Name = ""
	}
	if self.Name == l.Name {
		x.refused(err)
	} else if err := x.see.Sees(&self, true); err != nil {
		x.refused(err)
	}
	return err
}

// refused ends the watch of an object that may not be seen any more.
func (x *Watch) refused(err error) {
	if r := rootbound.ReasonOf(err); !ended(err) && !passing(err) && r != rootbound.IOError && r != "" {
		x.end(r)
	}
}

// check looks whether the watched object is still where it was, after something on the way to it moved.
func (x *Watch) check(what beneath.What) {
	l, err := x.look(0, x.name)
	if err == nil {
		defer l.Close()
		if x.nodes.is(0, l.Dir.ID) {
			if err := x.see.Sees(&l, false); err != nil {
				x.refused(err)
			}
			return
		}
	}
	switch {
	case passing(err):
		x.doubt()
	case what&beneath.SelfMoved == 0 && rootbound.ReasonOf(err) == rootbound.NotFound:
		x.end(rootbound.NotFound)
	default:
		x.end(rootbound.MovedOut)
	}
}

// again looks at everything once more, after something happened of which there are no notices.
func (x *Watch) again() {
	x.unsure, x.mark = true, 0 // which may be lost as well
	x.rescan()
	x.overflow()
}

// overflow tells that all must be read again, if the object itself may be seen.
func (x *Watch) overflow() {
	l, ok := x.resolve(0, x.name)
	if !ok {
		return
	}
	defer l.Close()
	switch err := x.judge(&l, 0, false); {
	case ended(err):
		x.unsure = true
	case err == nil && x.name != "" && !l.Gone && l.Entry.ID.Mount != l.Dir.ID.Mount:
		x.end(rootbound.IOError) // as begin says
	case passing(err):
		x.doubt()
	case err != nil:
	case x.collapse:
		x.any = true
	default:
		x.pend.overflow(time.Now())
		x.tellAll()
	}
}

func (x *Watch) tellAll() {
	if !x.tell(Event{Kind: Overflow}) {
		x.unsure = true
	}
}

// closeWindows tells what came in windows that are over, as it is now.
func (x *Watch) closeWindows() {
	now := time.Now()
	late, all := x.pend.due(now)
	if all && x.astray && x.mark == 0 {
		var ok bool
		if x.mark, ok = x.w.mark(x); !ok {
			x.astray = false
			x.check(beneath.SelfGone)
		}
	}
	if all {
		x.rescan()
		x.overflow()
	}
	for _, o := range late {
		x.late(o)
	}
	if !x.missing.IsZero() && !x.missing.After(now) {
		x.missed()
	}
}

// missed ends the watch of a file that has not come back.
func (x *Watch) missed() {
	x.missing = time.Time{}
	l, ok := x.resolve(0, x.name)
	if !ok {
		return
	}
	defer l.Close()
	switch err := x.judge(&l, 0, false); {
	case ended(err):
		x.hold(spot{x.top(), x.name}, false)
	case err != nil:
	case !l.Gone:
		x.offer(spot{x.top(), x.name}, false)
	case x.lastSeen&beneath.MovedFrom != 0:
		x.end(rootbound.MovedOut)
	default:
		x.end(rootbound.NotFound)
	}
}

// renew takes over another place and Sight and begins to collapse what happened.
func (x *Watch) renew(r *renewal) {
	x.see.Close()
	x.place.Close()
	x.place, x.see = r.place, r.see
	x.collapse = true
	if at := x.place.At().Path; at != x.path { // the root is another
		old := x.above
		x.path, x.above = at, nil
		x.failed(x.lookAbove(x.depth()))
		for _, id := range old {
			if !slices.Contains(x.above, id) {
				x.w.unlink(id, x, false)
			}
		}
	}
	late, all := x.pend.all()
	x.any = x.any || all || x.unsure
	held := x.held
	x.held, x.unsure = nil, true // all is looked at when what there is to tell was told: that may take longer than generations last
	for _, o := range late {
		x.late(o)
	}
	for _, h := range held {
		x.offer(h.spot, h.dir)
	}
}

// appear takes up a directory that is new at a place. What is in it already is told.
func (x *Watch) appear(k int32, name string, what beneath.What) {
	l, ok := x.resolve(k, name)
	if !ok {
		return
	}
	defer l.Close()
	if l.Gone || !l.Entry.Mode.IsDir() || x.see.Sees(&l, true) != nil {
		return
	}
	o, err := x.place.Open(x.nodes.path(k, name), beneath.Dir)
	if passing(err) {
		x.doubt()
	}
	if err != nil {
		return
	}
	defer o.Close()
	if o.Info().ID != l.Entry.ID { // another by now, of which there is a notice
		return
	}
	found := &finds{most: x.pend.limit}
	if what&(beneath.Made|beneath.MovedTo) == 0 && x.has(o, k, name) { // only its attributes changed
		return
	}
	x.failed(x.scan(context.Background(), o, k, name, found))
	for _, h := range found.list {
		x.offer(h.spot, h.dir)
	}
	if found.more {
		x.pend.unsure(time.Now())
	}
}

// has reports whether o is watched as the entry name of k. If not it may have become readable.
func (x *Watch) has(o *beneath.Object, k int32, name string) bool {
	for c := x.nodes.all[k].child; c != none; c = x.nodes.all[c].next {
		if x.nodes.all[c].name == name {
			return x.nodes.is(c, o.Info().ID)
		}
	}
	return false
}

// failed ends the watch at a limit: half a tree would be silence.
func (x *Watch) failed(err error) {
	switch r := rootbound.ReasonOf(err); {
	case err == nil:
	case r == rootbound.LimitReached:
		x.end(r)
	case passing(err):
		x.doubt()
	}
}
