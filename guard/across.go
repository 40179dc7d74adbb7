package guard

import (
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// What a copy needs, and a move whose ends turn out to be on different file systems (copy_across).

// CopiesAcross reports whether both projects of a move allow it to copy.
func (t *Target) CopiesAcross() bool {
	return t.destProject != nil && t.project.CopyAcross && t.destProject.CopyAcross
}

// Overwritten is what the destination of a move or copy held when it was judged, nil for nothing.
func (t *Target) Overwritten() *beneath.Info { return t.old }

// StageCopy makes the temporary file for a copy of from at the entry at, which is Dest or lies in a temporary tree beside
// it. too_large: more than max_write of the destination's project.
func (t *Target) StageCopy(at *beneath.Entry, from *beneath.Object) (*beneath.Staged, error) {
	if err := t.Stale(); err != nil {
		return nil, err
	}
	if t.req.Op == rootbound.OpMove && !t.CopiesAcross() {
		return nil, refuse(rootbound.CrossDevice, "")
	}
	if err := t.writable(from.Info().Size); err != nil {
		return nil, err
	}
	if at == t.dest {
		return t.hold(at, from, t.old)
	}
	s, err := at.Stage(from, nil) // journalled with its tree
	t.touch()
	return s, err
}

// Temporary journals an entry of a temporary name before anything is put under it that a crash would leave there: a new
// tree of identity id, or the version old of a file that is to be removed. forget when nothing is there any more.
func (t *Target) Temporary(at *beneath.Entry, id beneath.ObjectID, old *beneath.Info) (forget func(), err error) {
	return t.journal(at.At(), at.Key().Name, id, old)
}

// Copied counts bytes and tells the watch that the file system answered. It fails as soon as the generation ends.
func (t *Target) Copied(n int64) error {
	t.bytes += n
	t.touch()
	return t.Stale()
}

// journal tells the journal of the temporary name in the directory that holds at.
func (t *Target) journal(at beneath.Ref, name string, id beneath.ObjectID, old *beneath.Info) (forget func(), err error) {
	if t.g.opt.Journal == nil {
		return func() {}, nil
	}
	dir := strings.TrimSuffix(at.Path[:strings.LastIndexByte(at.Path, '/')+1], "/")
	return t.g.opt.Journal.Staged(t.snap.Grants[at.Root].Root.Path(), dir, name, id, old)
}
