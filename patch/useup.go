package patch

import (
	"context"
	"fmt"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/authority/token"
	"github.com/rootbound/rootbound/guard"
)

// Apply uses a plan up and makes it so, all of it or nothing. ctx carries the authority that applies it, and where a
// person agreed how (authority.Use.Agreed). What it needs is judged before the plan is used up, so that whoever lacks a
// right does not spoil it for somebody who has it; every file is resolved, locked and compared again after that.
//
// Errors: right_missing, also where a person has to agree; project_unknown and root_replaced if the project is another
// directory now; argument_invalid if it expired or was used up; those of the package's function Apply. Directories that
// were missing above new files are made first, and Detail says how many of them an error leaves.
func (d *Desk) Apply(ctx context.Context, g *guard.Guard, p *Plan) (Applied, error) {
	use, err := authority.From(ctx)
	if err != nil {
		return Applied{}, err
	}
	s := use.Snapshot()
	project := projectOf(s, p.Project)
	if project == nil {
		return Applied{}, &rootbound.Error{Reason: rootbound.ProjectUnknown, Op: rootbound.OpApply}
	}
	if dir, ok := directory(s, p.Project); !ok || dir != p.Dir {
		return Applied{}, &rootbound.Error{Reason: rootbound.RootReplaced, Op: rootbound.OpApply, Root: p.Project, Detail: "the plan was made for another directory",
			Next: "Propose the patch again."}
	}
	person := "Ask the person to look at it and agree: rootbound patch show " + p.ID + ", then rootbound patch apply " + p.ID + "."
	if project.ProposeWrites && use.Agreed == "" {
		return Applied{}, &rootbound.Error{Reason: rootbound.RightMissing, Op: rootbound.OpApply, Root: p.Project, Detail: "writes: propose", Next: person}
	}
	if !d.o.Now().Before(p.Expires) {
		return Applied{}, classed(token.ErrAskAgain)
	}
	dirs, err := d.prejudge(ctx, g, p)
	if err != nil {
		err = applying(err)
		if e, ok := err.(*rootbound.Error); ok && e.Reason == rootbound.RightMissing && use.Agreed == "" { // it was proposed already
			e.Next = person
		}
		return Applied{}, err
	}
	if err := d.spend(p); err != nil {
		return Applied{}, err
	}
	made := 0
	for _, dir := range dirs {
		err := g.Do(ctx, guard.Request{Op: rootbound.OpMkdir, Root: string(p.Project), Path: dir, Contained: true}, func(_ context.Context, on *guard.Target) error {
			n, err := on.Mkdir()
			made += n
			return err
		})
		if err != nil {
			return Applied{}, tellMade(err, made)
		}
	}
	done, err := Apply(ctx, g, string(p.Project), p.files(), d.o.Journal)
	if err != nil {
		return Applied{}, tellMade(err, made)
	}
	return done, nil
}

// prejudge asks the guard about every file, without an effect, and lists the directories that are missing.
func (d *Desk) prejudge(ctx context.Context, g *guard.Guard, p *Plan) (dirs []string, err error) {
	seen := map[string]bool{}
	for i := range p.Files {
		f := &p.Files[i]
		r := guard.Request{Op: rootbound.OpWrite, Root: string(p.Project), Path: f.Path, Contained: true, Parents: f.Action == Creates}
		if f.Action == Deletes {
			r.Op = rootbound.OpDelete
		}
		at, err := g.Decide(ctx, r)
		if err != nil { // once more for the record: Decide leaves none
			r.Invalid = err
			return nil, g.Do(ctx, r, func(context.Context, *guard.Target) error { return err })
		}
		if at.Project != p.Project || at.Path != f.Path {
			return nil, &rootbound.Error{Reason: rootbound.VersionConflict, Path: f.Path, Detail: "the path leads elsewhere now", Next: "Propose the patch again."}
		}
		cut := strings.LastIndexByte(f.Path, '/')
		if f.Action != Creates || cut < 0 || seen[f.Path[:cut]] {
			continue
		}
		seen[f.Path[:cut]] = true
		// Where the parent is there this decides like the request above.
		r.Parents = false
		if _, err := g.Decide(ctx, r); rootbound.ReasonOf(err) == rootbound.ParentMissing {
			dirs = append(dirs, f.Path[:cut])
		}
	}
	return dirs, nil
}

// applying names the operation in a refusal.
func applying(err error) error {
	e, ok := err.(*rootbound.Error)
	if !ok {
		return err
	}
	out := *e
	out.Op = rootbound.OpApply
	return &out
}

func tellMade(err error, made int) error {
	e, ok := err.(*rootbound.Error)
	if !ok || made == 0 {
		return applying(err)
	}
	out := *e
	out.Op = rootbound.OpApply
	out.Detail = strings.TrimPrefix(fmt.Sprintf("%s; directories that were made before it: %d", e.Detail, made), "; ")
	return &out
}
