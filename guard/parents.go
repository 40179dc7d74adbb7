package guard

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/spelling"
)

// judgeBelowMissing judges a file that is to be made where directories above it are missing.
func (g *Guard) judgeBelowMissing(t *Target, p spelling.Place) error {
	at, project, rel, err := t.j.Lacking(t.mayCreate, p)
	if project != nil {
		t.project, t.rel = project, rel
	}
	if err != nil {
		return err
	}
	t.missing = &p
	t.need = t.creates()
	if err := t.right(project, t.need|t.req.Need); err != nil {
		return err
	}
	return t.j.Reached(project, rel, t.appearing(), at, true)
}

// appearing is what is to appear where nothing is: a file, unless the request brings a directory.
func (t *Target) appearing() (i beneath.Info) {
	if t.req.Op == rootbound.OpCreate && t.req.Recursive {
		i.Mode = fs.ModeDir
	}
	return i
}

// mayCreate asks for the right to make something in a project.
func (t *Target) mayCreate(p *rootbound.Project) error {
	if err := t.may(p); err != nil {
		return err
	}
	return t.right(p, t.creates())
}

// makeParents makes them, one by one, each judged once more and each in a lease of its own, and then judges the request
// anew: from here on it is like one whose parents were there.
func (g *Guard) makeParents(ctx context.Context, t *Target) error {
	p := *t.missing
	p.Rest = strings.TrimRight(p.Rest, "/")
	p.Rest = p.Rest[:strings.LastIndexByte(p.Rest, '/')+1]
	if err := t.use.CheckRoot(p.Grant, true); err != nil {
		return err
	}
	o, made, err := t.j.MkdirAll(t.mayCreate, p, t.lease)
	t.made = made
	if err != nil {
		return err
	}
	o.Close()
	t.drop()
	t.req.Parents = false
	return g.judgeLocked(ctx, t)
}

// tellMade makes a refusal say which directories were made before it (contract §4.3).
func (t *Target) tellMade(err error) error {
	var e *rootbound.Error
	if t.made == 0 || !errors.As(err, &e) {
		return err
	}
	out := *e
	what := " of the directories above it was made"
	if t.made > 1 {
		what = " of the directories above it were made"
	}
	out.Detail = joinDetail(e.Detail, strconv.Itoa(t.made)+what)
	return &out
}

func joinDetail(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// Made is how many missing directories above the entry were made for this call.
func (t *Target) Made() int { return t.made }
