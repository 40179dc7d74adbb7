package beneath

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/rootbound/rootbound"
)

// MkdirAll makes the missing directories of at one by one from the deepest existing handle, each inside commit after ok
// has allowed its Ref and the mark its parent lies under, and returns the final directory (opened as Handle). made
// counts the new ones. A missing name that a link's text asks for is refused, a trailing slash is allowed.
func (s *Set) MkdirAll(at Ref, ok func(Ref, int) error, commit func(func() error) error) (o *Object, made int, err error) {
	if at.Root < 0 || at.Root >= len(s.members) {
		return nil, 0, refuse(rootbound.OutsideRoot, "", nil)
	}
	if _, err := checkPath(at.Path); err != nil {
		return nil, 0, err
	}
	w := walk{set: s, missingOK: true}
	defer w.close()
	if err := w.run(at.Root, at.Path, true); err != nil {
		return nil, 0, err
	}
	if w.object >= 0 || w.atTop {
		o, err := w.handle()
		if err == nil && !o.IsDir() {
			o.Close()
			return nil, 0, refuse(rootbound.Exists, "", nil)
		}
		return o, 0, err
	}
	if w.byLink() {
		return nil, 0, refuse(rootbound.PathUnresolvable, "dangling_link", nil)
	}
	names := []string{w.name}
	for name, rest, _ := nextName(w.rest); name != ""; name, rest, _ = nextName(rest) {
		if name == ".." {
			return nil, 0, refuse(rootbound.NotFound, "", nil)
		}
		names = append(names, name)
	}
	e, err := w.entry(w.name)
	if err != nil {
		return nil, 0, err
	}
	defer func() { e.Close() }()
	for i := range names {
		if err := ok(e.at, e.mark); err != nil {
			return nil, made, err
		}
		err := commit(e.Mkdir)
		switch {
		case err == nil:
			made++
		case !errors.Is(err, fs.ErrExist):
			return nil, made, err
		}
		o, err := e.Open(Handle) // another program may have put anything there
		if err != nil {
			return nil, made, err
		}
		if !o.IsDir() {
			o.Close()
			return nil, made, refuse(rootbound.Exists, "", nil)
		}
		if i == len(names)-1 {
			return o, made, nil
		}
		next, err := s.newEntry(o.take(), Ref{o.at.Root, join(o.at.Path, names[i+1])}, names[i+1], o.mark, o.passed)
		if err != nil {
			return nil, made, err
		}
		e.Close()
		e = next
	}
	return nil, made, nil
}

// take moves the descriptor out of o.
func (o *Object) take() *handle {
	o.shut.Store(true)
	h := newHandle(o.h.fd)
	o.h.refs.Store(0)
	return h
}

// handle wraps what the walk reached.
func (w *walk) handle() (*Object, error) {
	fd, err := w.object, error(nil)
	dir, _, mark := w.top()
	if w.atTop {
		fd, err = openAt(dir, ".", asPath, 0)
	}
	if err != nil {
		return nil, fail(err)
	}
	w.object = -1
	return w.set.object(fd, Ref{w.root, strings.TrimSuffix(w.reached(), "/")}, mark, Handle, w.passed)
}
