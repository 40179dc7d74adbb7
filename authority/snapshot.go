package authority

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/pins"
	"github.com/rootbound/rootbound/authority/roots"
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

	sum     string        // of Project
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
	reached []string // canonical paths of the client's roots, granted or not
	away    map[rootbound.RootID]string
	known   *known
}

// Mark is a project's directory by identity, for the innermost-project rule. A project that is revoked, retired or not
// active has a copy of its Project without any rights, so that its objects stay out of reach through a project around it.
type Mark struct {
	Project *rootbound.Project
	Root    *beneath.Root
	Revoked bool

	sum string // of the project as it is granted
}

// ProjectDigest is the approved-root digest of one project, empty if nothing of it is granted.
func (s *Snapshot) ProjectDigest(id rootbound.RootID) string { return s.digests[id] }

// Retired reports whether id is a project that this authority was granted before and that the operator has taken out of
// force, and how: "removed", "replaced" (its path leads to another directory) or "not active". To an authority that never
// held it such an id is as unknown as any other (project_unknown).
func (s *Snapshot) Retired(id rootbound.RootID) (detail string, ok bool) {
	detail, ok = s.away[id]
	if ok = ok && s.known.has(id); !ok {
		return "", false
	}
	return detail, true
}

// known remembers the projects that an authority held. Safe for concurrent use.
type known struct {
	mu   sync.Mutex
	ids  map[rootbound.RootID]bool
	last string // RootsDigest of what was added last
}

func (g *known) add(s *Snapshot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == s.RootsDigest {
		return
	}
	if g.last = s.RootsDigest; g.ids == nil {
		g.ids = map[rootbound.RootID]bool{}
	}
	for i := range s.Grants {
		if s.Grants[i].project != nil { // else a root of the client's own
			g.ids[s.Grants[i].Project.ID] = true
		}
	}
}

func (g *known) has(id rootbound.RootID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ids[id]
}

// any reports whether one of ids was held.
func (g *known) any(ids map[rootbound.RootID]string) bool {
	for id := range ids {
		if g.has(id) {
			return true
		}
	}
	return false
}

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

// seal computes what follows from grants and marks. The approved set is objects, rights and policy (contract §4.2) of what
// is granted and of the projects in and around it; the order, names and spellings of the client and projects elsewhere are
// form: they may change inside a generation. policy is the authority's own.
func (s *Snapshot) seal(policy string) {
	members := make([]beneath.Member, len(s.Grants))
	lines := make([]string, len(s.Grants))
	byProject := map[rootbound.RootID][]string{}
	form := sha256.New()
	fmt.Fprintf(form, "%s %v\n", s.Source, s.Capability)
	for i, g := range s.Grants {
		members[i] = beneath.Member{Root: g.Root, Spelled: g.spelled, DenyMounts: g.Project.DenyMounts}
		id := g.Root.ID()
		lines[i] = pins.Digest(g.ID, g.Prefix, id.Dev, id.Ino, id.Mount, g.sum)
		byProject[g.Project.ID] = append(byProject[g.Project.ID], lines[i])
		fmt.Fprintf(form, "%s %q %q %q %q %q\n", lines[i], g.Name, g.Shown, g.Root.Spelled(), g.Root.Path(), g.spelled)
	}
	marks := make([]beneath.ObjectID, len(s.Marks))
	rules := []string{policy}
	granted := make(map[*rootbound.Project]bool, len(s.Grants))
	for i := range s.Grants {
		granted[s.Grants[i].Project] = true
	}
	for i, m := range s.Marks {
		marks[i] = m.Root.ID()
		line := fmt.Sprintf("mark %q %d %d %d %t", m.Project.ID, marks[i].Dev, marks[i].Ino, marks[i].Mount, m.Project.Rights == 0)
		if !granted[m.Project] && !s.near(m) {
			fmt.Fprintln(form, line)
			continue
		}
		lines = append(lines, line)
		rules = append(rules, fmt.Sprintf("%q %q %s", m.Project.ID, m.Project.Dir, m.sum))
	}
	s.PolicyDigest = setDigest(rules)
	for _, v := range s.Verdicts {
		fmt.Fprintf(form, "%q\n", v)
	}
	fmt.Fprintf(form, "away %q\n", s.away) // by id
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

// near reports whether a project lies in or around something granted.
func (s *Snapshot) near(m Mark) bool {
	for i := range s.Grants {
		if roots.Nested(s.Grants[i].Root.Path(), m.Root.Path()) {
			return true
		}
	}
	return false
}

// equal reports whether both approve the same objects with the same rights under the same policy.
func (s *Snapshot) equal(t *Snapshot) bool {
	return s.RootsDigest == t.RootsDigest && s.PolicyDigest == t.PolicyDigest
}

func setDigest(lines []string) string {
	lines = slices.Clone(lines)
	slices.Sort(lines)
	return pins.Digest(lines)
}
