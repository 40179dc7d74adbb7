package probe

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rootbound/rootbound/probe/profile"
	"github.com/rootbound/rootbound/probe/script"
	"github.com/rootbound/rootbound/probe/truth"
	"github.com/rootbound/rootbound/probe/wire"
)

// trick asks, takes the state that comes with the server's question, and does with it what a client must not.
func (p *player) trick(s script.Step) error {
	ctx, stop := p.run.patience(p.ctx)
	defer stop()
	call, err := p.run.profile.Call(p.w, s.Op, p.values(s, 0))
	if err != nil {
		return err
	}
	asked := call
	if s.State == "elsewhere" {
		if asked, err = p.run.profile.Call(p.w, "read", profile.Values{Path: p.w.Fill("{docs}/guide.txt")}); err != nil {
			return err
		}
	}
	conn := p.conn
	if s.State == "another" {
		o, err := p.run.options(p.w, p.c.Dirs, p.era)
		if err != nil {
			return err
		}
		o.Roots, o.See, o.Hear = p.answer, p.see, p.hear
		if conn, err = p.run.open(p.ctx, o); err != nil {
			return err
		}
		defer conn.Close(p.run.parting())
	}
	state := ""
	if s.State != "unasked" {
		r, err := conn.Ask(ctx, asked)
		if err != nil {
			p.lost(s, err)
			return nil
		}
		if !r.Open || r.State == "" {
			return &unfit{"the server does not ask with a state inside the call"}
		}
		state = r.State
	}
	switch s.State {
	case "tampered":
		state = tampered(state)
	case "expired":
		p.pause(p.run.o.StateLife + slack)
		stop()
		ctx, stop = p.run.patience(p.ctx)
		defer stop()
	}
	answer := p.roots.Answer(p.w)
	before := p.prior(s)
	if s.State == "replayed" {
		r, err := p.conn.Retry(ctx, call, state, answer)
		if err != nil || r.Refused || r.Open {
			p.against("the first use of the state was not served")
			return nil
		}
		p.do([]truth.Deed{{Remove: s.Path}})
		p.mu.Lock()
		p.inside = nil // what the first use made was wanted
		p.mu.Unlock()
	}
	r, err := p.conn.Retry(ctx, call, state, answer)
	if err != nil {
		p.lost(s, err)
		return nil
	}
	p.mu.Lock()
	p.settle()
	changed := p.inside
	p.inside = nil
	p.mu.Unlock()
	p.got = append(p.got, said(r))
	p.denied(s, before, r, changed)
	return nil
}

// slack is how much longer than its life a state is kept back: lives are told in seconds, and clocks are read twice.
const slack = time.Second

// tampered changes one character in the middle.
func tampered(s string) string {
	b := []byte(s)
	at := len(b) / 2
	if b[at] == 'A' {
		b[at] = 'B'
	} else {
		b[at] = 'A'
	}
	return string(b)
}

// copies sends a step's call many times at once.
func (p *player) copies(s script.Step) error {
	calls := make([]wire.Call, s.Copies)
	for n := range calls {
		var err error
		if calls[n], err = p.run.profile.Call(p.w, s.Op, p.values(s, n)); err != nil {
			return err
		}
	}
	ctx, stop := p.run.patience(p.ctx)
	defer stop()
	results, errs := make([]*wire.Result, len(calls)), make([]error, len(calls))
	var all sync.WaitGroup
	for n, c := range calls {
		all.Go(func() { results[n], errs[n] = p.conn.Do(ctx, c) })
	}
	all.Wait()
	before := p.prior(s)
	p.mu.Lock()
	p.settle()
	changed := p.inside
	p.inside = nil
	p.mu.Unlock()
	done, lost := 0, 0
	for n, r := range results {
		switch {
		case errs[n] != nil:
			if s.Unheeded {
				continue
			}
			if lost++; lost == 1 {
				p.lost(s, errs[n])
			}
		case !r.Refused && !r.Open:
			done++
		}
		if s.Want == script.Deny && r != nil {
			p.denied(s, before, r, changed)
		}
	}
	p.got = append(p.got, fmt.Sprintf("%d of %d done", done, len(calls)))
	if s.Applied != "" {
		b, err := os.ReadFile(p.where(s.Applied))
		if err != nil {
			return err
		}
		if applied := strings.Count(string(b), "applied"); applied != done {
			p.against("%d calls were acknowledged and %d applied", done, applied)
		}
	}
	return nil
}
