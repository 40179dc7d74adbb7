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

// Sees is nil if what was looked at may be told of: the directory, and its entry if the look names one. wasDir says
// whether an entry that is gone was a directory.
func (s *Sight) Sees(l *beneath.Look, wasDir bool) error {
	if err := s.use.Stale(); err != nil {
		return err
	}
	if err := s.use.CheckRoot(s.grant, false); err != nil {
		return err
	}
	if err := s.reached(l.At, l.Mark, &l.Dir); err != nil || l.Name == "" {
		return err
	}
	at, mark, now := l.At, l.Mark, l.Entry
	at.Path = join(at.Path, l.Name)
	if l.Gone && wasDir {
		now.Mode = fs.ModeDir
	}
	for i := range s.j.Snap.Marks { // a nested project itself, or what was one
		m := s.j.Snap.Marks[i].Root
		if !l.Gone && m.ID().Same(now.ID) || l.Gone && m.Path() == s.j.Absolute(at) {
			mark = i
		}
	}
	return s.reached(at, mark, &now)
}

func (s *Sight) reached(at beneath.Ref, mark int, info *beneath.Info) error {
	var project *rootbound.Project
	var rel string
	if err := s.j.Locate(at, mark, false, &project, &rel); err != nil {
		return err
	}
	if !project.Rights.Has(s.need) {
		return refuse(rootbound.RightMissing, "")
	}
	if err := s.j.Reached(project, rel, *info, at, false); err != nil {
		return err
	}
	if s.need.Has(rootbound.Read) && info.Mode.IsRegular() {
		return s.j.Readable(project, *info)
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
