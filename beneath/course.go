package beneath

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
