package patch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/authority/token"
)

// Life is how long a plan can be applied.
const Life = 15 * time.Minute

// Bounds of the plans that a Desk holds in memory; the oldest go first.
const (
	maxPlans = 64
	maxBytes = 32 << 20
)

// Share is how many plans of one authority may wait for a person at once. A store of Pending plans is shared by all servers of
// a user; one session must not leave the others without room.
const Share = 16

// Pending keeps plans that wait for a person, where another process of the same user finds them. Safe for concurrent use.
type Pending interface {
	// Put keeps body, which Plan.Encode made, until then. limit_reached: too many wait.
	Put(id string, until time.Time, body []byte) error
	// Drop forgets it; one that is not there is no error.
	Drop(id string) error
	// Has reports whether it still waits.
	Has(id string) bool
}

// DeskOptions of a Desk. The zero value serves one process and shows no person anything.
type DeskOptions struct {
	Ring    *token.Ring   // seals the tokens; nil: a random key
	Spender token.Spender // remembers what was used up; nil: in memory. Needs to be shared with whoever applies Pending plans
	Pending Pending       // nil: plans that a person must agree to are seen by nobody
	Journal Journal
	Now     func() time.Time // nil: time.Now
}

// Desk gives out tokens for plans and takes each back once. Safe for concurrent use.
type Desk struct {
	o DeskOptions

	mu    sync.Mutex
	order []string // nonces, oldest first
	held  map[string]held
	ids   map[string]string // id → nonce
	bytes int
	laid  map[string]map[string]time.Time // authority → ids of plans that are out for a person → until when
}

type held struct {
	plan  *Plan
	token string
	size  int
	laid  bool // out for a person
}

// NewDesk makes a Desk.
func NewDesk(o DeskOptions) *Desk {
	if o.Ring == nil {
		o.Ring, _ = token.NewRing(token.NewKey()) // a fresh key is never refused
	}
	if o.Spender == nil {
		o.Spender = &token.Memory{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Desk{o: o, held: map[string]held{}, ids: map[string]string{}, laid: map[string]map[string]time.Time{}}
}

// Issued is what a proposal is answered with.
type Issued struct {
	Token   string
	Waits   bool // only a person's agreement lets it be applied
	Asks    bool // and if the client can ask its user, that is enough: no right is missing
	Visible bool // a person at a terminal finds it
}

// Issue gives a plan its id and its token, and lays it out for a person where the session alone cannot apply it: where
// writes: propose, or where it lacks a right.
func (d *Desk) Issue(ctx context.Context, p *Plan) (Issued, error) {
	use, err := authority.From(ctx)
	if err != nil {
		return Issued{}, err
	}
	if err := use.Stale(); err != nil {
		return Issued{}, err
	}
	p.Nonce, p.ID = rand.Text(), strings.ToLower(rand.Text()[:10])
	p.Expires = d.o.Now().Add(Life)
	c := claims(use, p)
	c.Nonce, c.Expiry = p.Nonce, p.Expires
	out := Issued{}
	if out.Token, err = d.o.Ring.Seal(c); err != nil {
		return Issued{}, &rootbound.Error{Reason: rootbound.InternalError, Op: rootbound.OpPropose, Err: err}
	}
	project := projectOf(use.Snapshot(), p.Project)
	if project == nil {
		return Issued{}, &rootbound.Error{Reason: rootbound.ProjectUnknown, Op: rootbound.OpPropose}
	}
	whole := project.Rights.Has(p.Rights())
	out.Waits, out.Asks = project.ProposeWrites || !whole, project.ProposeWrites && whole
	// A project that is a client's root exists in its session only: no other process could apply the plan.
	if out.Waits && d.o.Pending != nil && use.Snapshot().Mode != authority.Client {
		err := d.lay(use.Snapshot().Authority, p)
		switch {
		case rootbound.ReasonOf(err) != "":
			return Issued{}, told(err, Request{Root: string(p.Project)})
		case err != nil:
			return Issued{}, &rootbound.Error{Reason: rootbound.IOError, Op: rootbound.OpPropose, Detail: "the plan cannot be kept for a person", Retryable: true, Err: err}
		}
		out.Visible = true
	}
	d.keep(p, out)
	return out, nil
}

// lay lays a plan out for a person, within the share of its authority. limit_reached: the share is used up, or all room is.
func (d *Desk) lay(by string, p *Plan) error {
	waiting := d.reserve(by, p)
	if waiting != nil { // a person may have applied or rejected some of them since
		for _, id := range waiting {
			if !d.o.Pending.Has(id) {
				d.release(by, id)
			}
		}
		waiting = d.reserve(by, p)
	}
	if waiting != nil {
		return &rootbound.Error{Reason: rootbound.LimitReached, Detail: fmt.Sprintf("%d plans of this session wait for a person already", len(waiting)), Retryable: true,
			Next: "Ask the person to apply or reject some of them with rootbound patch, or wait until they expire."}
	}
	body, err := p.Encode()
	if err == nil {
		err = d.o.Pending.Put(p.ID, p.Expires, body)
	}
	if err != nil {
		d.release(by, p.ID)
	}
	return err
}

// reserve counts a plan among those of its authority, or lists the ids that use its share up.
func (d *Desk) reserve(by string, p *Plan) (full []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.o.Now()
	for by, ids := range d.laid {
		for id, until := range ids {
			if !now.Before(until) {
				delete(ids, id)
			}
		}
		if len(ids) == 0 {
			delete(d.laid, by)
		}
	}
	if len(d.laid[by]) >= Share {
		return slices.Collect(maps.Keys(d.laid[by]))
	}
	if d.laid[by] == nil {
		d.laid[by] = map[string]time.Time{}
	}
	d.laid[by][p.ID] = p.Expires
	return nil
}

func (d *Desk) release(by, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.laid[by], id)
}

// claims are what a token for p binds when use asks.
func claims(use *authority.Use, p *Plan) token.Claims {
	s := use.Snapshot()
	c := token.Claims{Kind: token.Patch, Authority: s.Authority, Generation: s.Generation, Project: p.Project,
		RootsDigest: s.RootsDigest, PolicyDigest: s.PolicyDigest, PlanDigest: p.Digest}
	if use.Origin != nil {
		c.Principal = use.Origin.Principal
	}
	return c
}

func projectOf(s *authority.Snapshot, id rootbound.RootID) *rootbound.Project {
	for _, g := range s.Grants {
		if g.Project.ID == id {
			return g.Project
		}
	}
	return nil
}

func (d *Desk) keep(p *Plan, i Issued) {
	size := len(p.Diff)
	for i := range p.Files {
		size += len(p.Files[i].After) + len(p.Files[i].Path)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held[p.Nonce] = held{p, i.Token, size, i.Visible}
	d.ids[p.ID] = p.Nonce
	d.order = append(d.order, p.Nonce)
	d.bytes += size
	now := d.o.Now()
	for len(d.order) > 1 && (len(d.order) > maxPlans || d.bytes > maxBytes || !now.Before(d.held[d.order[0]].plan.Expires)) {
		d.forgetLocked(d.order[0])
	}
}

func (d *Desk) forgetLocked(nonce string) {
	h, ok := d.held[nonce]
	if !ok {
		return
	}
	delete(d.held, nonce)
	delete(d.ids, h.plan.ID)
	d.bytes -= h.size
	for i, n := range d.order {
		if n == nonce {
			d.order = append(d.order[:i:i], d.order[i+1:]...)
			break
		}
	}
}

// Redeem finds the plan of a token, or of a plan's id, and checks that whoever asks may apply it: it is sealed by us, for
// this authority, principal and project, of the generation, roots and policy in force, not expired and not used up. root
// is what the caller named; empty: nothing was named. The plan is not used up yet: Apply does that.
//
// Errors: argument_invalid with the class in Detail, generation_stale.
func (d *Desk) Redeem(ctx context.Context, root, ref string) (*Plan, error) {
	use, err := authority.From(ctx)
	if err != nil {
		return nil, err
	}
	if err := use.Stale(); err != nil {
		return nil, applying(err)
	}
	tok := ref
	if !strings.HasPrefix(ref, "rb1.") {
		d.mu.Lock()
		tok = d.held[d.ids[ref]].token
		d.mu.Unlock()
		if tok == "" {
			return nil, invalid("no such plan")
		}
	}
	c, err := d.o.Ring.Open(tok)
	if err != nil {
		return nil, classed(err)
	}
	d.mu.Lock()
	h, ok := d.held[c.Nonce]
	d.mu.Unlock()
	want := claims(use, &Plan{Project: c.Project, Digest: c.PlanDigest})
	if ok {
		want = claims(use, h.plan)
	}
	if err := c.Check(want, d.o.Now()); err != nil {
		return nil, classed(err)
	}
	if !names(use.Snapshot(), root, c.Project) {
		return nil, classed(token.ErrNotThis)
	}
	if !ok {
		return nil, invalid("the plan is used up, or was forgotten because too many came after it")
	}
	if h.laid && !d.o.Pending.Has(h.plan.ID) {
		d.mu.Lock()
		d.forgetLocked(c.Nonce)
		d.mu.Unlock()
		return nil, invalid("a person applied or rejected the plan")
	}
	return h.plan, nil
}

// names reports whether root, as a caller spells it, is project.
func names(s *authority.Snapshot, root string, project rootbound.RootID) bool {
	if root == "" || root == string(project) {
		return true
	}
	for _, g := range s.Grants {
		if g.Project.ID == project && (string(g.ID) == root || g.Name == root) {
			return true
		}
	}
	return false
}

func invalid(detail string) *rootbound.Error {
	return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Op: rootbound.OpApply, Detail: detail, Next: "Propose the patch again if it is still wanted."}
}

// classed turns a refusal of a token into one for its caller, who is told the class and no more.
func classed(err error) error {
	switch {
	case errors.Is(err, token.ErrStale):
		return &rootbound.Error{Reason: rootbound.GenerationStale, Op: rootbound.OpApply, Detail: "the plan was made under other roots or rules",
			Next: "Propose the patch again: a plan is never carried over.", Err: err}
	case errors.Is(err, token.ErrNotThis):
		e := invalid("the token was made for another session, project or plan")
		e.Err = err
		return e
	case errors.Is(err, token.ErrAskAgain):
		e := invalid("the token has expired, or the server was started anew")
		e.Err = err
		return e
	}
	e := invalid("the token is none of ours, or was changed on the way")
	e.Err = err
	return e
}

// Asks reports whether a person's agreement, and nothing else, lets a session apply a plan.
func Asks(ctx context.Context, p *Plan) bool {
	use, err := authority.From(ctx)
	if err != nil {
		return false
	}
	project := projectOf(use.Snapshot(), p.Project)
	return project != nil && project.ProposeWrites && project.Rights.Has(p.Rights())
}

// spend uses a plan up.
func (d *Desk) spend(p *Plan) error {
	err := d.o.Spender.Spend(p.Nonce, p.Expires)
	if err == nil || errors.Is(err, token.ErrSpent) {
		d.mu.Lock()
		d.forgetLocked(p.Nonce)
		d.mu.Unlock()
		if d.o.Pending != nil {
			_ = d.o.Pending.Drop(p.ID) // what stays is spent
		}
	}
	switch {
	case errors.Is(err, token.ErrSpent):
		return invalid("the plan was applied or rejected before")
	case err != nil:
		return &rootbound.Error{Reason: rootbound.LimitReached, Op: rootbound.OpApply, Detail: "it cannot be remembered that the plan was used", Retryable: true, Err: err}
	}
	return nil
}

// Reject uses a plan up without applying it.
func (d *Desk) Reject(p *Plan) error { return d.spend(p) }
