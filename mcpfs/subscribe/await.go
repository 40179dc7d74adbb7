package subscribe

import (
	"context"
	"path"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpscope"
)

// absence is what a subscription waits by whose object is gone: the nearest directory above it that is there.
type absence struct {
	at   string // that directory, inside the project
	over bool   // it went too
}

func (st *stream) misses(s *subscription) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return s.absent != nil
}

// await waits for the object of s to be there again. What was reached by a link is not waited for: the link's directory
// does not tell when the object is made anew.
func (st *stream) await(ctx context.Context, s *subscription) bool {
	sent := path.Clean(s.path)
	if s.home.inner != s.home.project || sent != path.Clean(s.home.at) || sent == "." {
		st.lose(s, false)
		return true
	}
	var failed error
	err := st.looks(ctx, func(ctx context.Context) error { failed = st.hub.await(ctx, s, sent); return nil })
	switch {
	case err != nil && mcpscope.Waits(err):
		st.again(s, map[string]bool{"": true}, true)
		return false
	case err != nil:
		st.lose(s, false)
	case failed != nil:
		st.unable(s, failed)
	}
	return true
}

// await watches the nearest directory above sent. A directory that goes while it is looked at is not the one: the next above
// it is tried.
func (h *Hub) await(ctx context.Context, s *subscription, sent string) error {
	const tries = 16 // as deep as trees that are removed while they are looked at
	for try := 1; ; try++ {
		if err := h.awaitBy(ctx, s, sent); err == errLeft || !gone(err) || try == tries {
			return err
		}
	}
}

// awaitBy is one try of await. If the directory is watched already there is nothing to do; else s is looked for once more,
// since it may have come meanwhile.
func (h *Hub) awaitBy(ctx context.Context, s *subscription, sent string) error {
	at := sent
	for {
		if at == "." {
			return errLeft
		}
		at = path.Dir(at)
		_, err := h.guard.Decide(ctx, request(s.home.project, at, nil))
		if err == nil {
			break
		}
		if !gone(err) {
			return err
		}
	}
	st := s.stream
	st.mu.Lock()
	same := s.absent != nil && s.absent.at == at && !s.absent.over
	st.mu.Unlock()
	if same {
		return nil
	}
	use, err := authority.From(ctx)
	if err != nil {
		return err
	}
	rest := strings.TrimPrefix(sent, at+"/")
	a, next := &absence{at: at}, strings.SplitN(rest, "/", 2)[0]
	var begun started
	err = h.guard.Do(ctx, request(s.home.project, at, nil), func(ctx context.Context, t *guard.Target) error {
		w, err := h.opt.Watch(ctx, t, false, func(rel string, ended bool) { s.stirred(a, next, rel, ended) })
		if err != nil {
			begun.fail(err)
			return err
		}
		return begun.put(w)
	})
	w, unable := begun.take()
	if err != nil && unable != nil {
		err = &failure{err}
	}
	if err == nil {
		err = use.Stale()
	}
	st.mu.Lock()
	switch {
	case err != nil || s.closed:
	default:
		s.watch, w = w, s.watch
		s.absent = a
		s.add("")
		st.nudge()
	}
	st.mu.Unlock()
	if w != nil {
		w.Close()
	}
	return err
}

// stirred is told of an entry of the directory that is waited by.
func (s *subscription) stirred(a *absence, next, rel string, ended bool) {
	st := s.stream
	st.mu.Lock()
	defer st.mu.Unlock()
	a.over = a.over || ended
	if !s.closed && (s.absent == a || s.absent == nil) && (ended || rel == "" || rel == next) {
		s.add("")
		st.nudge()
	}
}

// back takes up what is there again and tells that it changed, or goes on waiting.
func (st *stream) back(ctx context.Context, s *subscription, lost bool) bool {
	var gen rootbound.Generation
	err := st.look(ctx, &gen, func(ctx context.Context) error { return st.hub.subscribe(ctx, st, s.uri, s) })
	switch {
	case err == nil:
		if !st.update(ctx, s.uri, s.uri, gen) {
			st.owe(s.uri)
			return false
		}
	case mcpscope.Waits(err):
		st.again(s, map[string]bool{"": true}, lost)
		return false
	case gone(err):
		return st.await(ctx, s)
	default:
		st.unable(s, err)
	}
	return true
}

// owe has the subscription to a URI, if there is one, told as changed under the next generation.
func (st *stream) owe(uri string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if s := st.subs[uri]; s != nil {
		s.add("")
	}
}
