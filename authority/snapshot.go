package authority

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// Grant is one approved root of a snapshot.
type Grant struct {
	ID      rootbound.RootID   // the project's id if the root is the project itself, else the root id of the object
	Name    string             // the client's display name, may be empty
	Project *rootbound.Project // where rights and rules come from; never changed
	Prefix  string             // where the root lies inside the project, "" = the project itself
	Root    *beneath.Root
	Shown   string // absolute, as granted or declared: for list_allowed_directories

	project *beneath.Root // the project's directory; nil in mode client
	spelled []string      // further spellings of Root
}

// Snapshot is immutable. Set's member i is Grants[i]; Set's mark i is Marks[i]. Safe for concurrent use while a Use of it
// is held.
type Snapshot struct {
	Authority                 string
	Generation                rootbound.Generation
	Mode                      Mode
	Source                    string // ceiling, roots, roots_unsupported, empty_first
	Capability                Capability
	Grants                    []Grant
	Set                       *beneath.Set
	Marks                     []Mark // every project of the ceiling that has a directory, granted or not
	RootsDigest, PolicyDigest string
	Verdicts                  []Verdict

	life    *life
	refs    atomic.Int64
	born    time.Time
	checked []atomic.Int64 // by grant: when its root was last found unmoved, since born, in nanoseconds
	asked   bool           // the client was asked for it
	form    string         // digest of what a caller can tell apart beyond the approved set
	digests map[rootbound.RootID]string
}

// Mark is a project's directory by identity, for the innermost-project rule. A revoked project has a copy of its
// Project without any rights, so that its objects stay out of reach through a project around it.
type Mark struct {
	Project *rootbound.Project
	Root    *beneath.Root
	Revoked bool
}

// ProjectDigest is the approved-root digest of one project, empty if nothing of it is granted.
func (s *Snapshot) ProjectDigest(id rootbound.RootID) string { return s.digests[id] }

// release gives a reference back; the last one closes the handles.
func (s *Snapshot) release() {
	if s.refs.Add(-1) == 0 {
		s.drop()
	}
}

func (s *Snapshot) drop() {
	for _, g := range s.Grants {
		g.Root.Release()
	}
	for _, m := range s.Marks {
		m.Root.Release()
	}
}

// seal computes what follows from grants and marks. The approved set is objects, rights and policy (contract §4.2); the
// order, names and spellings of the client are form: they may change inside a generation.
func (s *Snapshot) seal() {
	members := make([]beneath.Member, len(s.Grants))
	lines := make([]string, len(s.Grants))
	byProject := map[rootbound.RootID][]string{}
	form := sha256.New()
	fmt.Fprintf(form, "%s %v\n", s.Source, s.Capability)
	for i, g := range s.Grants {
		members[i] = beneath.Member{Root: g.Root, Spelled: g.spelled, DenyMounts: g.Project.DenyMounts}
		id := g.Root.ID()
		lines[i] = digest(g.ID, g.Prefix, id.Dev, id.Ino, id.Mount, projectDigest(*g.Project))
		byProject[g.Project.ID] = append(byProject[g.Project.ID], lines[i])
		fmt.Fprintf(form, "%s %q %q %q %q %q\n", lines[i], g.Name, g.Shown, g.Root.Spelled(), g.Root.Path(), g.spelled)
	}
	marks := make([]beneath.ObjectID, len(s.Marks))
	for i, m := range s.Marks {
		marks[i] = m.Root.ID()
		lines = append(lines, digest("mark", m.Project.ID, marks[i].Dev, marks[i].Ino, marks[i].Mount, m.Revoked))
	}
	for _, v := range s.Verdicts {
		fmt.Fprintf(form, "%q\n", v)
	}
	s.Set = beneath.NewSet(members, marks)
	s.RootsDigest = setDigest(lines)
	s.form = hex.EncodeToString(form.Sum(nil))
	s.digests = map[rootbound.RootID]string{}
	for id, l := range byProject {
		s.digests[id] = setDigest(l)
	}
	s.checked = make([]atomic.Int64, len(s.Grants))
	s.born = time.Now()
	s.refs.Store(1)
}

// equal reports whether both approve the same objects with the same rights under the same policy and ceiling.
func (s *Snapshot) equal(t *Snapshot) bool {
	return s.RootsDigest == t.RootsDigest && s.PolicyDigest == t.PolicyDigest && s.life.version == t.life.version
}

// digest is SHA-256 of the JSON of its arguments, in hex.
func digest(v ...any) string {
	b, err := json.Marshal(v)
	if err != nil { // only plain values come here
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func setDigest(lines []string) string {
	lines = slices.Clone(lines)
	slices.Sort(lines)
	return digest(lines)
}

// projectDigest covers rights and rules, not which directory has them.
func projectDigest(p rootbound.Project) string {
	p.ID, p.Dir = "", ""
	return digest(p)
}
