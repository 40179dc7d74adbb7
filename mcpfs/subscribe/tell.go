package subscribe

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/resource"
	"github.com/rootbound/rootbound/mcpscope"
)

// turn tells what there is to tell now. What needs an authority that is not there waits for the next generation.
func (st *stream) turn(ctx context.Context) {
	if st.group.waits() && !st.standing.Blind() {
		if err := st.looks(ctx, nothing); err != nil {
			st.tellLists(ctx, tools|prompts)
			return
		}
	}
	for more := true; more; { // where much is to be settled, or generations do not last as long as that takes, it is told in between
		more = st.settle(ctx)
		if !st.tellLists(ctx, tools|prompts|resources) {
			return
		}
		for n := 0; n < together || !more; n++ {
			s, paths, lost := st.take()
			if s == nil {
				break
			}
			if !st.tell(ctx, s, paths, lost) {
				return
			}
		}
	}
}

func nothing(context.Context) error { return nil }

// take is the next subscription with something to tell.
func (st *stream) take() (s *subscription, paths map[string]bool, lost bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for len(st.due) > 0 {
		s = st.due[0]
		st.due = st.due[1:]
		s.queued = false
		if s.closed {
			st.left--
		} else if !st.over {
			paths = s.taken()
			lost, s.lost = s.lost, false
			return s, paths, lost
		}
	}
	return nil, nil, false
}

// again puts back what could not be judged now.
func (st *stream) again(s *subscription, paths map[string]bool, lost bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if s.closed {
		return
	}
	s.lost = s.lost || lost
	for rel := range paths {
		s.add(rel)
	}
}

// tell tells the changes of one subscription. false: there is no authority to judge them by, or nobody to tell.
func (st *stream) tell(ctx context.Context, s *subscription, paths map[string]bool, lost bool) bool {
	if st.misses(s) {
		return st.back(ctx, s, lost)
	}
	said := map[string]bool{}
	for rel := range paths {
		uri, gen, err := st.judge(ctx, s, rel)
		switch {
		case err == nil && !said[uri]:
			said[uri] = true
			if !st.update(ctx, s.uri, uri, gen) {
				st.again(s, paths, lost)
				return false
			}
		case err == nil, denied(err):
		case mcpscope.Waits(err):
			st.again(s, paths, lost)
			return false
		default: // it can be neither told nor left out
			st.lose(s, false)
			return true
		}
		delete(paths, rel)
	}
	if lost {
		return st.anew(ctx, s)
	}
	return true
}

// update tells what was judged under gen, to who subscribed to a URI. false: that has ended meanwhile, or nobody hears it now.
func (st *stream) update(ctx context.Context, subscribed, uri string, gen rootbound.Generation) bool {
	done := st.group.begin(gen)
	if done == nil {
		return false
	}
	defer done()
	if !st.send(ctx, "notifications/resources/updated", &mcp.ResourceUpdatedNotificationParams{Meta: st.meta(), URI: uri}) {
		return false
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if s := st.subs[subscribed]; s != nil {
		s.sent = true
	}
	return true
}

// judge finds what is to be told of a change at rel: the object itself if it can be read or listed now, by its own URI; of
// what is gone, the directory it was in, so that nothing is told of a name nobody could look at. gen is the generation that
// says so. Errors are those of the guard; nothing is told then.
func (st *stream) judge(ctx context.Context, s *subscription, rel string) (uri string, gen rootbound.Generation, err error) {
	for {
		err = st.look(ctx, &gen, func(ctx context.Context) error {
			_, err := st.hub.guard.Decide(ctx, request(s.home.project, path.Join(s.path, rel), nil))
			return err
		})
		switch {
		case err == nil, rel == "" && rootbound.ReasonOf(err) == rootbound.NotFound:
			if rel == "" {
				return s.uri, gen, nil
			}
			return resource.URI(s.home.project, path.Join(s.path, rel)), gen, nil
		case rel != "" && gone(err):
			if rel = path.Dir(rel); rel == "." {
				rel = ""
			}
		default:
			return "", gen, err
		}
	}
}

// looks is Standing.Look. Where that fails for want of time only it is tried again a moment later: maybe nobody else would.
func (st *stream) looks(ctx context.Context, f func(context.Context) error) error {
	err := st.standing.Look(ctx, f)
	if mcpscope.Passing(err) {
		st.mu.Lock()
		defer st.mu.Unlock()
		if !st.later {
			st.later = true
			time.AfterFunc(moment, func() {
				st.mu.Lock()
				defer st.mu.Unlock()
				st.later = false
				st.nudge()
			})
		}
	}
	return err
}

// moment is how long a look that failed for want of time is not tried again.
const moment = 100 * time.Millisecond

// look is looks, and tells in which generation it was.
func (st *stream) look(ctx context.Context, gen *rootbound.Generation, f func(context.Context) error) error {
	return st.looks(ctx, func(ctx context.Context) error {
		use, err := authority.From(ctx)
		if err != nil {
			return err
		}
		*gen = use.Snapshot().Generation
		return f(ctx)
	})
}

func gone(err error) bool {
	switch rootbound.ReasonOf(err) {
	case rootbound.NotFound, rootbound.ParentMissing, rootbound.NotADirectory:
		return true
	}
	return false
}

// denied tells a refusal of what was looked at from a look that failed.
func denied(err error) bool {
	switch rootbound.ReasonOf(err) {
	case "", rootbound.IOError, rootbound.InternalError, rootbound.LimitReached, rootbound.Cancelled, rootbound.AuditUnavailable:
		return false
	}
	return !mcpscope.Waits(err)
}

// request is how a resource is looked at: a file is read, a directory listed.
func request(project rootbound.RootID, path string, invalid error) guard.Request {
	return guard.Request{Op: rootbound.OpRead, Root: string(project), Path: path, Contained: true, Decoded: true, Listing: true, Invalid: invalid}
}

// anew watches again what lost its watch, or waits for it if it is not there any more.
func (st *stream) anew(ctx context.Context, s *subscription) bool {
	err := st.looks(ctx, func(ctx context.Context) error { return st.hub.subscribe(ctx, st, s.uri, s) })
	switch {
	case err == nil:
		return true
	case mcpscope.Waits(err):
		st.again(s, map[string]bool{"": true}, true)
		return false
	case gone(err):
		return st.await(ctx, s)
	}
	st.unable(s, err)
	return true
}

// unable loses a subscription. What is there and cannot be watched ends a listen.
func (st *stream) unable(s *subscription, err error) {
	f := new(failure)
	st.lose(s, errors.As(err, &f))
}

// settle lets some of the watches go on under the generation that has begun and drops what it denies: what resume could tell
// without a look at the disk is gone already. Who was not reached before a generation ended is first in the next. more: there
// are others.
func (st *stream) settle(ctx context.Context) (more bool) {
	some := st.unsettled()
	if len(some) == 0 {
		return false
	}
	errs := make([]error, len(some))
	err := st.looks(ctx, func(ctx context.Context) error {
		for i, s := range some {
			errs[i] = st.hub.renew(ctx, s)
		}
		return nil
	})
	st.reviewed(some, errs, err == nil)
	for i, s := range some {
		if err != nil {
			errs[i] = err
		}
		switch err := errs[i]; {
		case err != nil && mcpscope.Waits(err):
			st.mu.Lock()
			st.review = true
			st.mu.Unlock()
			return false
		case err != nil && denied(err) && !gone(err): // which the change of the list tells
			st.drop(s)
		case err != nil:
			st.lose(s, false)
		}
	}
	return true
}

// unsettled are subscriptions that are to be reviewed, those first that wait longest.
func (st *stream) unsettled() (some []*subscription) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.review {
		st.review = false
		st.round++
	}
	for e := st.order.Front(); e != nil && len(some) < together; e = e.Next() {
		s := e.Value.(*subscription)
		if s.settled == st.round {
			break
		}
		some = append(some, s)
	}
	return some
}

// reviewed puts those that go on behind the others. held: in the generation in force.
func (st *stream) reviewed(some []*subscription, errs []error, held bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i, s := range some {
		if errs[i] != nil || st.subs[s.uri] != s {
			continue
		}
		st.order.MoveToBack(s.turn)
		if held {
			s.settled = st.round
		}
	}
}

// together is how many subscriptions are renewed in one look, which takes as long as a renewal or two.
const together = 64

// tellLists tells which lists changed. That of the resources depends on the authority: it is told when the client can
// list them again. false: nobody hears it now.
func (st *stream) tellLists(ctx context.Context, which kinds) bool {
	for _, l := range [...]struct {
		kind   kinds
		method string
		params mcp.Params
	}{
		{tools, "notifications/tools/list_changed", &mcp.ToolListChangedParams{Meta: st.meta()}},
		{prompts, "notifications/prompts/list_changed", &mcp.PromptListChangedParams{Meta: st.meta()}},
		{resources, "notifications/resources/list_changed", &mcp.ResourceListChangedParams{Meta: st.meta()}},
	} {
		st.mu.Lock()
		k := st.lists & which & l.kind
		st.lists &^= k
		st.mu.Unlock()
		if k == 0 {
			continue
		}
		waits := k == resources && !st.standing.Blind() && st.looks(ctx, nothing) != nil
		told := !waits && st.send(ctx, l.method, l.params)
		st.mu.Lock()
		if told {
			st.sent |= k
		} else {
			st.lists |= k
		}
		st.mu.Unlock()
		if !told && !waits {
			return false
		}
	}
	return true
}

func (st *stream) meta() mcp.Meta {
	if st.id == nil {
		return nil
	}
	return mcp.Meta{mcp.MetaKeySubscriptionID: st.id}
}

// send hands a notification over. false: the client is gone, which ends the stream by another way, or hears nothing now, as
// a legacy session over HTTP without an open stream.
func (st *stream) send(ctx context.Context, method string, params mcp.Params) bool {
	return st.hub.tap.send(ctx, st.session, method, params) == nil
}
