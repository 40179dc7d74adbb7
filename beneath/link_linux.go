package beneath

import "github.com/rootbound/rootbound"

// splice puts the text of the link at a place in front of tail.
func (w *walk) splice(link int, id ObjectID, at Ref, tail string) error {
	_, _, mark := w.top()
	p := Passed{at, mark, false, w.links > 0}
	w.lost = &p
	w.links++
	if err := w.pass(p); err != nil {
		return err
	}
	if w.links > maxLinks {
		return refuse(rootbound.PathUnresolvable, "links", nil)
	}
	if id.Dev != w.set.members[w.root].root.id.Dev {
		// The links of kernel file systems lead where their text does not say.
		magic, err := fsMagic(link)
		if err != nil {
			return fail(err)
		}
		if kernelFS(magic) {
			return refuse(rootbound.PathUnresolvable, "magic_link", nil)
		}
	}
	target, err := readLink(link, "")
	if err != nil {
		return fail(err)
	}
	w.within = append(w.within, linkText{p, len(tail)})
	if target[0] == '/' {
		return w.jump(target, tail)
	}
	return w.follow(target + tail)
}

func (w *walk) pass(p Passed) (err error) {
	if !w.unbounded {
		w.passed, err = pass(w.passed, p)
	}
	return err
}

// jump goes on at a member that text names by itself; tail is what follows the link.
func (w *walk) jump(text, tail string) error {
	ref, ok := w.set.Map(text)
	if !ok {
		return refuse(rootbound.OutsideRoot, "", nil)
	}
	if err := w.follow(ref.Path + tail); err != nil {
		return err
	}
	return w.enter(ref.Root)
}

// follow goes on with the text of a link that was read.
func (w *walk) follow(text string) error {
	if len(text) > maxPath {
		return refuse(rootbound.PathInvalid, "too_long", nil)
	}
	w.text, w.lost = text, nil
	return nil
}

// byLink reports whether the name that was reached is the text of a link, not of the caller.
func (w *walk) byLink() bool { return len(w.within) > 0 }
