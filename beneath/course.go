package beneath

import "github.com/rootbound/rootbound"

// Course is what a walk tells whoever goes along with it. All of it is called by one goroutine, in the order of the walk.
type Course struct {
	// Enter is told of each directory that was read, also of the one the walk begins at, before its entries are visited;
	// Leave when they were. nil: nobody.
	Enter func(*Directory)
	Leave func()

	// Visit is shown each entry; an error ends the walk and is returned.
	Visit func(*Node) (Step, error)

	// Ahead is asked of directories, before the walk comes to them, whether Visit will go into them: such a directory may be
	// opened, and its entries read, beside the walk. Nothing else comes of the answer: what the walk tells is the same. It is
	// asked of entries of the directory that was entered last, by the goroutine of the walk. nil: no directory is read before
	// its turn, nor where the system gives no way to (Linux alone does), nor on file systems that another machine or a
	// program answers for.
	Ahead func(*Node) bool

	// Go is asked before anything is opened or read beside the walk, by several goroutines at once; an error of it ends a
	// sweep, and leaves a directory to the walk. nil: it may be.
	Go func() error

	// Widen is called before directories are read ahead, which begins when the walk went into some, and what it returns once
	// after that. nil: nobody is told.
	Widen func() (narrow func())

	// Readers is how many goroutines read directories ahead, from the beginning. 0: when the walk went into some directories,
	// and as many as there are other processors, at most three; less than 0: none.
	Readers int

	// Sees is asked of an entry that cannot be looked at, whose type the directory does not tell, whether Failed may be told
	// of it; its Type is that of a regular file. nil: yes.
	Sees func(*Node) bool

	// Failed is told of what could not be read, by its path below the object; it never ends the walk. nil: nobody.
	Failed func(rel string, err error)
}

func (c *Course) enter(d *Directory) {
	if c.Enter != nil {
		c.Enter(d)
	}
}

func (c *Course) leave() {
	if c.Leave != nil {
		c.Leave()
	}
}

func (c *Course) failed(rel string, err error) {
	if c.Failed != nil {
		c.Failed(rel, err)
	}
}

// judging is what a Directory asks of what it opens.
type judging struct {
	see func(*Node) bool
	may func(mark int, info Info) error
}

// Judge makes Open ask whether an entry may be seen, and whether what was opened may be read: what may not
// be seen is not_found.
func (j *judging) Judge(see func(*Node) bool, may func(mark int, info Info) error) {
	j.see, j.may = see, may
}

func (j *judging) open(n *Node) (*Object, error) {
	if j.see != nil && !j.see(n) {
		return nil, refuse(rootbound.NotFound, "", nil)
	}
	o, err := n.Open()
	if err != nil || j.may == nil {
		return o, err
	}
	if err := j.may(o.mark, o.info); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}
