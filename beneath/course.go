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
