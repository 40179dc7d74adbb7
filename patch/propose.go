package patch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/fileop/text"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/patch/diff"
)

// Request is what a plan is to be made of: edits, or a unified diff.
type Request struct {
	Root      string // project id, root id or unique root name; paths of a diff start there
	Contained bool   // paths are plain and relative, see guard.Request
	Edits     []Edit
	Diff      string
	Limit     int64 // bytes of one file, before and after; 0: fileop.DefaultEdit
}

// Edit replaces text in one file, as edit_file does. Edits of one file are made one after the other. Of a file that does
// not exist the first edit has an empty Old and its New is the file.
type Edit struct {
	Path string
	text.Edit
	Expect string // version of the read it is based on; may be empty
}

// Bounds of a plan.
const (
	maxAfter = 32 << 20 // bytes that all files will hold together
	maxShown = 8 << 20  // bytes of its diff: all of it is shown, or there is no plan
)

// Propose makes a plan and changes nothing. Each file is judged by the guard as operation propose: the rules of a change,
// the rights propose and, for what exists, read. All files belong to one project.
//
// Errors carry the path they speak of: those of guard.Guard.Do, diff.Parse and text.Apply; not_found and exists where a
// diff says otherwise; version_conflict; limit_reached for more than guard.MaxTargets files or a larger plan;
// argument_invalid if nothing would change.
func Propose(ctx context.Context, g *guard.Guard, r Request) (*Plan, error) {
	use, err := authority.From(ctx)
	if err != nil {
		return nil, err
	}
	if r.Limit <= 0 {
		r.Limit = fileop.DefaultEdit
	}
	d := &drafting{g: g, r: r, plan: &Plan{Made: time.Now()}, seen: map[string]bool{}, above: map[string]bool{}, objects: map[Object]bool{}}
	if use.Origin != nil {
		d.plan.Client = use.Origin.ClientName
	}
	if r.Diff != "" {
		err = d.fromDiff(ctx)
	} else {
		err = d.fromEdits(ctx)
	}
	if err != nil {
		return nil, told(err, r)
	}
	p := d.plan
	if len(p.Files) == 0 {
		return nil, &rootbound.Error{Reason: rootbound.ArgumentInvalid, Op: rootbound.OpPropose, Detail: "nothing would change", Next: "Send a change that differs from what the files hold."}
	}
	var ok bool
	if p.Dir, ok = directory(use.Snapshot(), p.Project); !ok {
		return nil, &rootbound.Error{Reason: rootbound.InternalError, Op: rootbound.OpPropose}
	}
	p.Diff = d.shown.String()
	p.Digest = p.digest()
	return p, nil
}

// told completes a refusal that no guard has.
func told(err error, r Request) error {
	e, ok := err.(*rootbound.Error)
	if !ok || e.Op != "" {
		return err
	}
	out := *e
	out.Op, out.Root = rootbound.OpPropose, rootbound.RootID(r.Root)
	return &out
}

// directory is the identity of a project's own directory.
func directory(s *authority.Snapshot, id rootbound.RootID) (Object, bool) {
	for _, m := range s.Marks {
		if m.Project.ID == id {
			id := m.Root.ID()
			return Object{id.Dev, id.Ino}, true
		}
	}
	for _, g := range s.Grants { // mode client has no ceiling: the root is the project
		if g.Project.ID == id && g.Prefix == "" {
			id := g.Root.ID()
			return Object{id.Dev, id.Ino}, true
		}
	}
	return Object{}, false
}

// drafting is one Propose.
type drafting struct {
	g       *guard.Guard
	r       Request
	plan    *Plan
	shown   strings.Builder
	after   int64
	seen    map[string]bool
	above   map[string]bool // names that a file of the plan lies below
	objects map[Object]bool
}

// found is one file as it is now.
type found struct {
	path    string // reached
	exists  bool
	text    []byte
	exec    bool
	version string
	object  Object
	bound   int64 // bytes it may hold afterwards
}

// look reads one file through the guard.
func (d *drafting) look(ctx context.Context, op rootbound.Operation, path string) (f found, err error) {
	r := guard.Request{Op: op, Root: d.r.Root, Path: path, Contained: d.r.Contained, Parents: true}
	err = d.g.Do(ctx, r, func(ctx context.Context, on *guard.Target) error {
		p := on.Project()
		if d.plan.Project == "" {
			d.plan.Project = p.ID
		}
		if p.ID != d.plan.Project {
			return &rootbound.Error{Reason: rootbound.OutsideRoot, Detail: "it belongs to another project than the files before it", Root: p.ID, Next: "Propose one patch for each project."}
		}
		f.path, f.bound, f.version = on.Path(), d.r.Limit, fileop.AbsentVersion
		if p.MaxWrite > 0 {
			f.bound = min(f.bound, p.MaxWrite)
		}
		o := on.Object()
		if o == nil {
			return nil
		}
		f.exists = true
		before, err := o.Stat()
		if err != nil {
			return err
		}
		if before.Size > d.r.Limit {
			return &rootbound.Error{Reason: rootbound.TooLarge, Detail: fmt.Sprintf("%d bytes, the limit is %d", before.Size, d.r.Limit), Next: "Leave this file out of the patch."}
		}
		var b bytes.Buffer
		if _, err := io.Copy(&b, io.LimitReader(on, d.r.Limit+1)); err != nil {
			return err
		}
		after, err := o.Stat()
		if err != nil {
			return err
		}
		if before.Version() != after.Version() || int64(b.Len()) != after.Size {
			return &rootbound.Error{Reason: rootbound.VersionConflict, Detail: "it changed while it was read", Retryable: true}
		}
		f.text, f.exec, f.version, f.object = b.Bytes(), after.Mode&0o100 != 0, after.Version(), Object{after.ID.Dev, after.ID.Ino}
		return nil
	})
	return f, err
}

// add puts one file into the plan.
func (d *drafting) add(f found, after []byte, gone bool, exec *bool) error {
	refuse := func(r rootbound.Reason, detail, next string) error {
		return &rootbound.Error{Reason: r, Path: f.path, Detail: detail, Next: next}
	}
	n := Planned{Path: f.path, Version: f.version, Object: f.object, Action: Writes}
	old, new := text.Side{}, text.Side{}
	if f.exists {
		old = text.Side{Name: f.path, Text: f.text, Exec: f.exec}
	}
	switch {
	case gone:
		n.Action = Deletes
	default:
		if int64(len(after)) > f.bound {
			return refuse(rootbound.TooLarge, fmt.Sprintf("%d bytes after the patch, the limit is %d", len(after), f.bound), "Write less into this file.")
		}
		n.After = after
		new = text.Side{Name: f.path, Text: after, Exec: f.exec}
		if exec != nil && (*exec != f.exec || !f.exists) {
			n.Exec, new.Exec = exec, *exec
		}
		switch {
		case !f.exists:
			n.Action = Creates
		case bytes.Equal(f.text, after) && n.Exec == nil:
			return nil
		case bytes.Equal(f.text, after):
			n.Action = Modes
		}
	}
	if d.seen[f.path] || f.exists && d.objects[f.object] {
		return refuse(rootbound.ArgumentInvalid, "the same file twice", "Put everything that is to happen to one file together.")
	}
	d.seen[f.path] = true
	below := d.above[f.path]
	for at := f.path; ; {
		up := strings.LastIndexByte(at, '/')
		if up < 0 {
			break
		}
		at = at[:up]
		d.above[at], below = true, below || d.seen[at]
	}
	if below { // one step makes all of it: neither can wait until the other is gone
		return refuse(rootbound.ArgumentInvalid, "a file, and another one below its name", "Let each name be a file or a directory, and propose what replaces one by the other after the first is applied.")
	}
	if f.exists {
		d.objects[f.object] = true
	}
	if d.after += int64(len(after)); d.after > maxAfter {
		return refuse(rootbound.LimitReached, fmt.Sprintf("the files hold more than %d bytes together", maxAfter), "Propose fewer files at once.")
	}
	if len(d.plan.Files) == guard.MaxTargets {
		return refuse(rootbound.LimitReached, fmt.Sprintf("more than %d files", guard.MaxTargets), "Propose fewer files at once.")
	}
	shown, cut := text.Unified(old, new, max(maxShown-d.shown.Len(), 1))
	if cut {
		return refuse(rootbound.LimitReached, fmt.Sprintf("the diff is longer than %d bytes", maxShown), "Propose fewer or smaller changes at once.")
	}
	d.shown.WriteString(shown)
	d.plan.Files = append(d.plan.Files, n)
	return nil
}

func (d *drafting) fromEdits(ctx context.Context) error {
	var paths []string
	of := map[string][]text.Edit{}
	expect := map[string]string{}
	for _, e := range d.r.Edits {
		if _, ok := of[e.Path]; !ok {
			paths = append(paths, e.Path)
		}
		of[e.Path] = append(of[e.Path], e.Edit)
		if e.Expect != "" && expect[e.Path] != "" && expect[e.Path] != e.Expect {
			return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Path: e.Path, Detail: "two versions are expected of one file"}
		}
		if e.Expect != "" {
			expect[e.Path] = e.Expect
		}
	}
	if len(paths) > guard.MaxTargets {
		return &rootbound.Error{Reason: rootbound.LimitReached, Detail: fmt.Sprintf("%d files, the limit is %d", len(paths), guard.MaxTargets), Next: "Propose fewer files at once."}
	}
	for _, path := range paths {
		f, err := d.look(ctx, rootbound.OpPropose, path)
		if err != nil {
			return err
		}
		if err := expected(expect[path], f.version); err != nil {
			return at(err, path)
		}
		if !f.exists && of[path][0].Old != "" {
			return &rootbound.Error{Reason: rootbound.NotFound, Path: path, Next: "To make a file send one edit with an empty oldText."}
		}
		after, _, err := text.Apply(ctx, f.text, of[path], f.bound)
		if err != nil {
			return at(err, path)
		}
		if err := d.add(f, after, false, nil); err != nil {
			return err
		}
	}
	return nil
}

// expected compares versions as edit_file does: that of a cut read will do, since edits bring what they replace.
func expected(want, now string) error {
	if want == "" || want == now || fileop.PartialVersion(now) == want {
		return nil
	}
	if want == fileop.AbsentVersion {
		return &rootbound.Error{Reason: rootbound.Exists, Detail: "expected to be absent",
			Next: "Choose another name, or expect the version of what is there, or none, to change it."}
	}
	return &rootbound.Error{Reason: rootbound.VersionConflict}
}

func (d *drafting) fromDiff(ctx context.Context) error {
	changes, err := diff.Parse(d.r.Diff)
	if err != nil {
		return err
	}
	for i := range changes {
		if ctx.Err() != nil {
			return &rootbound.Error{Reason: rootbound.Cancelled, Err: context.Cause(ctx)}
		}
		if err := d.change(ctx, &changes[i]); err != nil {
			return err
		}
	}
	return nil
}

// change plans one change of a diff. The source of a copy is only read.
func (d *drafting) change(ctx context.Context, c *diff.Change) error {
	var src, dst found
	var err error
	if c.Old != "" {
		op := rootbound.OpPropose
		if c.Copy {
			op = rootbound.OpRead
		}
		if src, err = d.look(ctx, op, c.Old); err != nil {
			return err
		}
		if !src.exists && !c.MayBeNew {
			return at(&rootbound.Error{Reason: rootbound.NotFound, Next: "The diff is of a file that exists; read the directory and make it anew."}, c.Old)
		}
	}
	dst = src
	if c.New != "" && c.New != c.Old {
		if dst, err = d.look(ctx, rootbound.OpPropose, c.New); err != nil {
			return err
		}
		if dst.exists {
			return at(&rootbound.Error{Reason: rootbound.Exists, Detail: "the diff makes this file"}, c.New)
		}
	}
	bound := dst.bound
	if c.New == "" {
		bound = 0
	}
	after, err := c.Apply(src.text, bound)
	if err != nil {
		return err
	}
	exec := c.Exec
	if c.New != c.Old && exec == nil && src.exec {
		exec = new(true)
	}
	if c.Old != "" && c.New != c.Old && !c.Copy {
		if err := d.add(src, nil, true, nil); err != nil {
			return err
		}
	}
	if c.New == "" {
		return nil
	}
	return d.add(dst, after, false, exec)
}

func at(err error, path string) error {
	e, ok := err.(*rootbound.Error)
	if !ok || e.Path != "" {
		return err
	}
	out := *e
	out.Path = path
	return &out
}

// Rights are the rights that applying a plan needs.
func (p *Plan) Rights() rootbound.Rights {
	var r rootbound.Rights
	for _, f := range p.Files {
		switch f.Action {
		case Creates:
			r |= rootbound.Create
		case Deletes:
			r |= rootbound.Delete
		default:
			r |= rootbound.Write
		}
	}
	return r
}
