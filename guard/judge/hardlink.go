package judge

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// maxAbove bounds the directories above a file in which other names of it are looked for, and maxEntries the entries of
// one directory that are.
const (
	maxAbove   = 16
	maxEntries = 256
)

// OtherNames refuses to write a file of several names if one of them is where a rule's objects stand: beside it or beside a
// directory above it. Nothing is ever written in place, so the other name would keep what it holds; the caller believes that
// it would not. Names that no literal pattern tells are not found (docs/rules.md).
func (j *Judge) OtherNames(ctx context.Context, project *rootbound.Project, rel string, at beneath.Ref, i beneath.Info) error {
	if i.Links < 2 || !i.Mode.IsRegular() {
		return nil
	}
	pol, err := j.Law.Policy(project)
	if err != nil {
		return err
	}
	known := pol.Known()
	above := strings.Count(rel, "/") // directories between the project and the file
	dir := at.Path
	for n := 0; n <= min(above, maxAbove) && dir != ""; n++ {
		if dir = path.Dir(dir); dir == "." {
			dir = ""
		}
		for _, k := range known {
			if !k.Anywhere && n < above {
				continue
			}
			if j.isAt(ctx, beneath.Ref{Root: at.Root, Path: join(dir, k.Path)}, k.Tree, i) {
				return j.sparing(k.Rule, "a rule hides another name of it")
			}
		}
		j.Touch()
	}
	return nil
}

var errFound = errors.New("found")

// isAt reports whether what stands at a place, or in the directory there, is the object i.
func (j *Judge) isAt(ctx context.Context, at beneath.Ref, tree bool, i beneath.Info) bool {
	e, err := j.Snap.Set.Entry(at, false)
	if err != nil {
		return false
	}
	defer e.Close()
	if now, err := e.Lstat(); err != nil || now.ID.Same(i.ID) {
		return err == nil
	} else if !tree || !now.Mode.IsDir() {
		return false
	}
	d, err := e.Open(beneath.Dir)
	if err != nil {
		return false
	}
	defer d.Close()
	n := 0
	err = d.List(ctx, "", func(c *beneath.Node) (beneath.Step, error) {
		if n++; n > maxEntries {
			return beneath.Stop, nil
		}
		if now, err := c.Info(); err == nil && now.ID.Same(i.ID) {
			return beneath.Stop, errFound
		}
		return beneath.Over, nil
	})
	return err == errFound
}
