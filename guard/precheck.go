package guard

import (
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard/spelling"
)

func refuse(r rootbound.Reason, detail string) *rootbound.Error {
	return &rootbound.Error{Reason: r, Detail: detail}
}

// spell reads a path argument of a request without disk access.
func (g *Guard) spell(t *Target, root, p string, mutation bool) ([]spelling.Place, *rootbound.Error) {
	if t.req.Contained {
		return spelling.InProject(t.snap, root, p, t.req.Decoded)
	}
	return spelling.Read(t.snap, root, p, mutation, t.tuning.Relative == "explicit")
}

// Precheck refuses, without asking a client and without disk access, what no roots answer could make right: a spelling
// that is never served, or, where the client's roots are not asked (asked is false), an absolute path that no project's
// spelling covers. A root may be declared by an alias of its directory, so with roots the second is only known after the
// answer.
func (g *Guard) Precheck(c *authority.Ceiling, r Request, asked bool) error {
	if r.Invalid != nil {
		return r.Invalid
	}
	ends := []string{r.Path}
	if r.Op == rootbound.OpMove || r.Op == rootbound.OpCopy {
		ends = append(ends, r.Dest)
	}
	for _, p := range ends {
		err := spelling.Check(p)
		if r.Contained {
			err = spelling.Plain(p, r.Decoded)
		}
		if err == nil && !asked && spelling.IsAbs(p) && !c.Covers(p) {
			err = refuse(rootbound.OutsideRoot, "")
		}
		if err != nil {
			err.Op, err.Path = r.Op, p
			return err
		}
	}
	return nil
}
