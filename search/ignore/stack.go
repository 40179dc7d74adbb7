package ignore

import "strings"

// Steps bounds what one question may spend on patterns that are neither a name nor the end of one; with more, those that are
// left match nothing, so that the entry rather shows.
const Steps = 1 << 20

// Stack is the files that count in one directory: its own and those above it, up to the top. It is a chain of immutable
// frames, so the directories of a parallel walk share what they have in common. Nil is the empty stack. Safe for concurrent
// use.
type Stack struct {
	up    *Stack
	dir   string
	git   *List // .gitignore
	own   *List // .ignore
	rules int
	held  int
}

// Push gives the stack with the files of the directory dir on it: a path from the top, components joined by "/", "" for the
// top itself. dir must be dir of s or lie below it. Either list may be nil. Where they hold no rules, or too much for
// MaxStack or MaxHeld, it gives s.
func (s *Stack) Push(dir string, gitignore, ignore *List) *Stack {
	if gitignore.Len()+ignore.Len() == 0 {
		return s
	}
	next := &Stack{up: s, dir: dir, git: gitignore, own: ignore}
	if s != nil {
		next.rules, next.held = s.rules, s.held
	}
	for _, l := range []*List{gitignore, ignore} {
		if l.Len() > 0 {
			next.rules += l.Len()
			next.held += l.held
		}
	}
	if next.rules > MaxStack || next.held > MaxHeld {
		return s
	}
	return next
}

// Match reports whether the entry at rel, a path from the top, is left out; dir says that it is a directory (a link is none). It judges
// this entry alone: a directory that is left out takes what is below with it, so a walk does not ask there.
func (s *Stack) Match(rel string, dir bool) bool {
	d, name := cutLast(rel)
	return s.MatchName(nil, d, name, dir)
}

// MatchName is Match for the entry name in the directory in, and for a walk that has p; nil has no bound but Steps.
func (s *Stack) MatchName(p *Purse, in, name string, dir bool) bool {
	_, _, r := s.decide(p, in, name, dir)
	return r != nil && !r.negate
}

// Names of the files, in the order in which they are asked.
const (
	Own = ".ignore"
	Git = ".gitignore"
)

// decide finds the rule that decides, and the frame and name of its file; no rule: nil.
func (s *Stack) decide(p *Purse, in, name string, dir bool) (*Stack, string, *rule) {
	if s == nil {
		return nil, "", nil
	}
	left := Steps
	e := entry{name: name, tree: dir, left: &left}
	for f := s; f != nil; f = f.up {
		if r := f.own.decide(p, &e, f.dir, in, Own); r != nil {
			return f, Own, r
		}
	}
	for f := s; f != nil; f = f.up {
		if r := f.git.decide(p, &e, f.dir, in, Git); r != nil {
			return f, Git, r
		}
	}
	return nil, "", nil
}

// decide is the last rule that matches, nil for none. The file stands in base, the entry in the directory in.
func (l *List) decide(p *Purse, e *entry, base, in, file string) *rule {
	if l.Len() == 0 || p.without(l) {
		return nil
	}
	e.dir, e.path = in, ""
	if base != "" {
		e.dir = strings.TrimPrefix(in[len(base):], "/")
	}
	left := e.left
	may := p.may(*left)
	had := may
	e.left = &may
	i := l.last(e)
	e.left = left
	*left -= had - may
	if !p.pay(l, e, had-may, may < 0, base, file) || i == none {
		return nil
	}
	return &l.rules[i]
}
