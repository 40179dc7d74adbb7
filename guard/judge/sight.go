package judge

import (
	"io/fs"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/beneath"
)

// Sight judges, long after the request that asked for it, what may be told of what changes below an object: by the
// rights, rules, own files and nested projects of the snapshot that the request was judged by, for as long as that
// generation is current. It keeps the snapshot's handles until Close. One goroutine at a time.
type Sight struct {
	j       Judge
	use     *authority.Use
	release func()
	grant   int
	need    rootbound.Rights
}

// NewSight makes a Sight of what was reached in a grant by somebody with the rights need.
func NewSight(j *Judge, use *authority.Use, grant int, need rootbound.Rights) *Sight {
	s := &Sight{j: *j, use: use, release: use.Hold(), grant: grant, need: need}
	s.j.Touch, s.j.Rules = nil, nil
	return s
}

// Sees is nil if the entry name of the directory dir may be told of; name is "" for dir itself. info describes the entry,
// nil if there is none any more; then isDir says whether it was a directory. dir was resolved anew, through no link.
func (s *Sight) Sees(dir *beneath.Object, name string, info *beneath.Info, isDir bool) error {
	if err := s.use.Stale(); err != nil {
		return err
	}
	if err := s.use.CheckRoot(s.grant, false); err != nil {
		return err
	}
	if err := s.reached(dir.At(), dir.Mark(), dir.Info()); err != nil || name == "" {
		return err
	}
	at, mark := dir.At(), dir.Mark()
	at.Path = join(at.Path, name)
	now := beneath.Info{}
	if isDir {
		now.Mode = fs.ModeDir
	}
	if info != nil {
		now = *info
	}
	for i := range s.j.Snap.Marks { // a nested project itself, or what was one
		m := s.j.Snap.Marks[i].Root
		if info != nil && m.ID().Same(info.ID) || info == nil && m.Path() == s.j.Absolute(at) {
			mark = i
		}
	}
	return s.reached(at, mark, now)
}

func (s *Sight) reached(at beneath.Ref, mark int, info beneath.Info) error {
	var project *rootbound.Project
	var rel string
	if err := s.j.Locate(at, mark, false, &project, &rel); err != nil {
		return err
	}
	if !project.Rights.Has(s.need) {
		return refuse(rootbound.RightMissing, "")
	}
	if err := s.j.Reached(project, rel, info, at, false); err != nil {
		return err
	}
	if s.need.Has(rootbound.Read) && info.Mode.IsRegular() {
		return s.j.Readable(project, info)
	}
	return nil
}

// Below tells which entries of a walk below dir Sees would let be told of.
func (s *Sight) Below(dir *beneath.Object) (func(*beneath.Node) bool, error) {
	if err := s.use.Stale(); err != nil {
		return nil, err
	}
	var project *rootbound.Project
	var rel string
	if err := s.j.Locate(dir.At(), dir.Mark(), false, &project, &rel); err != nil {
		return nil, err
	}
	return s.j.Shown(dir, project, rel, s.need)
}

// Close gives the snapshot's handles back. Once.
func (s *Sight) Close() { s.release() }
