package search

import (
	"context"
	"errors"
	"io"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/search/ignore"
)

// Above shows the directories above the one that is walked, down from the top of its project: *guard.Target.
type Above interface {
	Above(visit func(dir string, open func(name string) (*beneath.Object, error)) error) (rel string, err error)
}

// Ignores goes along with a walk and tells what the .gitignore and .ignore files on its way leave out, those above the
// directory that is walked included. The directory itself was asked for by name, so it is walked whatever they say of it.
// What git keeps for itself, .git, is left out too. The files are opened by the held handle of their directory, never
// through a link, and only where the walk would show and read them; one that passes a bound of package ignore, or cannot be
// read, counts as if it were not there, one whose patterns take too long (ignore.Purse) from then on, and is told by Unread.
//
// Not safe for concurrent use: all methods are for the goroutine of the walk.
type Ignores struct {
	prefix string // of the directory that is walked, from the top
	above  *ignore.Stack
	levels []ignoreLevel
	buf    []byte
	read   int64
	most   int64 // of read; 0: no bound
	unread Unread
	purse  *ignore.Purse
	early  *ignore.Purse // for what is asked before its turn; nil: it is spent
}

// Unread tells of ignore files that could not be honoured.
type Unread struct {
	Some       // not read, or over a bound of package ignore or MaxAbove: they did not count at all
	Spent Some // whose patterns took too long: from then on they were not applied
}

// Some are files of which at most MaxSkips are named.
type Some struct {
	Paths []string // from the top of the project
	Count int
}

func (s *Some) add(path string) {
	if s.Count++; len(s.Paths) < MaxSkips {
		s.Paths = append(s.Paths, path)
	}
}

type ignoreLevel struct {
	stack *ignore.Stack
	dir   string // from the top; only where the stack is not empty
}

// MaxAbove is how many bytes of files above the directory that is walked are read, from the top down: nothing shows before
// all of them were.
const MaxAbove = 16 << 20

// NewIgnores reads the files above w; nil has nothing above it. Errors: those of Above, and cancelled.
func NewIgnores(ctx context.Context, w Above) (*Ignores, error) {
	x := &Ignores{}
	x.purse = ignore.NewPurse(func(dir, name string) { x.unread.Spent.add(join(dir, name)) })
	x.early = ignore.NewPurse(func(string, string) { x.early = nil })
	if w == nil {
		return x, nil
	}
	var err error
	x.most = MaxAbove
	x.prefix, err = w.Above(func(dir string, open func(string) (*beneath.Object, error)) error {
		if ctx.Err() != nil {
			return failed(ctx.Err())
		}
		git, err := x.list(dir, ignore.Git, open)
		if err != nil {
			return err
		}
		own, err := x.list(dir, ignore.Own, open)
		if err != nil {
			return err
		}
		x.above = x.push(x.above, dir, git, own)
		return nil
	})
	x.most = 0
	return x, err
}

// Course puts x into a walk: its Enter and Leave, and entries that are left out do not reach its Visit.
func (x *Ignores) Course(c beneath.Course) beneath.Course {
	visit, enter, leave := c.Visit, c.Enter, c.Leave
	c.Enter = func(d *beneath.Directory) {
		x.Enter(d)
		if enter != nil {
			enter(d)
		}
	}
	c.Leave = func() {
		x.Leave()
		if leave != nil {
			leave()
		}
	}
	if ahead := c.Ahead; ahead != nil {
		c.Ahead = func(n *beneath.Node) bool { return x.ahead(n.Name()) && ahead(n) }
	}
	c.Visit = func(n *beneath.Node) (beneath.Step, error) {
		if x.Out(n) {
			return beneath.Over, nil
		}
		return visit(n)
	}
	return c
}

// Enter reads the files of a directory: Course.Enter.
func (x *Ignores) Enter(d *beneath.Directory) {
	above := x.above
	if n := len(x.levels); n > 0 {
		above = x.levels[n-1].stack
	}
	rel := "" // a path is worth its price only where there are rules
	at := func() string {
		if rel == "" {
			rel = join(x.prefix, d.Rel())
		}
		return rel
	}
	git, _ := x.listAt(at, ignore.Git, d.Open) // whoever ends the walk is told elsewhere
	own, _ := x.listAt(at, ignore.Own, d.Open)
	l := ignoreLevel{stack: above}
	if git.Len() > 0 || own.Len() > 0 {
		l.stack = x.push(above, at(), git, own)
	}
	if l.stack != nil {
		l.dir = at()
	}
	x.levels = append(x.levels, l)
}

// push tells of files that are too many together.
func (x *Ignores) push(s *ignore.Stack, dir string, git, own *ignore.List) *ignore.Stack {
	pushed := s.Push(dir, git, own)
	if pushed == s {
		if git.Len() > 0 {
			x.unread.add(join(dir, ignore.Git))
		}
		if own.Len() > 0 {
			x.unread.add(join(dir, ignore.Own))
		}
	}
	return pushed
}

// Leave ends the directory that was entered last: Course.Leave.
func (x *Ignores) Leave() { x.levels = x.levels[:len(x.levels)-1] }

// Out reports whether an entry of the directory that was entered last is left out, with what lies below it.
func (x *Ignores) Out(n *beneath.Node) bool { return x.OutName(n.Name(), n.Type().IsDir()) }

// OutName is Out of an entry by its name; dir says that it is a directory.
func (x *Ignores) OutName(name string, dir bool) bool {
	if name == ".git" {
		return true
	}
	l := &x.levels[len(x.levels)-1]
	return l.stack != nil && l.stack.MatchName(x.purse, l.dir, name, dir)
}

// ahead reports whether OutName will leave a directory in, as far as that can be told without taking from what is given to
// the answer: that its turn would then have less changes what is left out.
func (x *Ignores) ahead(name string) bool {
	if name == ".git" {
		return false
	}
	l := &x.levels[len(x.levels)-1]
	if l.stack == nil {
		return true
	}
	early := x.early
	return early != nil && !l.stack.MatchName(early, l.dir, name, true) && x.early != nil
}

// Read is how many bytes of ignore files were read so far; nil read none.
func (x *Ignores) Read() int64 {
	if x == nil {
		return 0
	}
	return x.read
}

// Unread tells of files that could not be honoured so far; nil knows of none.
func (x *Ignores) Unread() Unread {
	if x == nil {
		return Unread{}
	}
	return x.unread
}

func (x *Ignores) list(dir, name string, open func(string) (*beneath.Object, error)) (*ignore.List, error) {
	return x.listAt(func() string { return dir }, name, open)
}

// listAt reads one file, nil for none. Only an error that is of the whole walk is given back.
func (x *Ignores) listAt(dir func() string, name string, open func(string) (*beneath.Object, error)) (*ignore.List, error) {
	o, err := open(name)
	if err != nil {
		switch rootbound.ReasonOf(err) {
		case rootbound.GenerationStale, rootbound.Cancelled:
			return nil, err
		case rootbound.IOError:
			x.unread.add(join(dir(), name))
		}
		return nil, nil
	}
	defer o.Close()
	if !o.Info().Mode.IsRegular() {
		return nil, nil
	}
	text, ok := x.text(o)
	if !ok {
		x.unread.add(join(dir(), name))
		return nil, nil
	}
	l := ignore.Parse(text)
	if l.Over() {
		x.unread.add(join(dir(), name))
	}
	return l, nil
}

// text reads a file whose size was only its size when it was opened. false: too large, or not to be read.
func (x *Ignores) text(o *beneath.Object) ([]byte, bool) {
	size := o.Info().Size
	if size > ignore.MaxFile || x.most > 0 && x.read+size > x.most {
		return nil, false
	}
	if len(x.buf) <= int(size) {
		x.buf = make([]byte, size+4<<10)
	}
	for n := 0; ; {
		got, err := o.ReadAt(x.buf[n:], int64(n))
		n += got
		x.read += int64(got)
		switch {
		case errors.Is(err, io.EOF):
			return x.buf[:n], true
		case err != nil:
			return nil, false
		case n > ignore.MaxFile:
			return nil, false
		case n == len(x.buf):
			x.buf = append(x.buf, make([]byte, len(x.buf))...)
		}
	}
}

func join(dir, name string) string {
	switch {
	case dir == "":
		return name
	case name == "":
		return dir
	}
	return dir + "/" + name
}
