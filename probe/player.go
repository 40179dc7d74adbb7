package probe

import (
	"context"
	"encoding/json"
	"errors"
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

// player plays one case in a world of its own and collects what speaks against the server.
type player struct {
	run *suite
	c   *script.Case
	era string
	w   *truth.World
	ctx context.Context

	conn    *wire.Conn
	started time.Time
	pending map[string]*ongoing
	opened  map[string]reader // of Held checks
	cork    bool
	kept    string // what the last answer that is kept gave
	missing string // why the case has nothing to ask
	asks    int    // questions for roots before the last change

	mu       sync.Mutex
	roots    script.Roots
	release  chan struct{}
	base     truth.Look
	outside  []string // changes outside since the start that the probe did not make
	inside   []string // changes inside since the last call was judged
	leaks    int
	lines    []Line
	evidence []string
	got      []string
	broken   error // the world could not be changed as the case says
}

// ongoing is a call that is not waited for.
type ongoing struct {
	step script.Step
	call wire.Call
	p    *wire.Pending
}

// reader is a file that was opened before the steps, and what it held then.
type reader struct {
	file  *os.File
	bytes []byte
}

// note adds to the transcript; a long text is cut, a long transcript too.
func (p *player) note(who, text string) {
	const lines, bytes = 60, 700
	if len(p.lines) > lines {
		return
	}
	if len(text) > bytes {
		text = fmt.Sprintf("%s… (%d bytes)", text[:bytes], len(text))
	}
	if len(p.lines) == lines {
		who, text = "world", "(more was said)"
	}
	p.lines = append(p.lines, Line{Who: who, AtMS: time.Since(p.started).Milliseconds(), Text: strings.ToValidUTF8(p.w.Blank(text), "�")})
}

// see looks at every message that passes.
func (p *player) see(in bool, raw []byte) {
	leaked := in && truth.Leaked(raw)
	p.mu.Lock()
	defer p.mu.Unlock()
	who := "client"
	if in {
		who = "server"
	}
	if len(p.lines) <= 60 {
		p.note(who, compact(raw))
	}
	if leaked {
		p.leaked("bytes or names from outside came back")
	}
}

// hear looks at what the server says beside messages.
func (p *player) hear(raw []byte) {
	if truth.Leaked(raw) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.leaked("bytes or names from outside came beside the messages: on standard error, or around HTTP")
	}
}

// leaked takes note of a leak. p.mu is held.
func (p *player) leaked(what string) {
	if p.leaks++; p.leaks == 1 {
		p.evidence = append(p.evidence, what)
	}
}

func (p *player) against(format string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.evidence = append(p.evidence, p.w.Blank(fmt.Sprintf(format, a...)))
}

// play plays the case and looks at the tree when the server has ended. The error says why it could not be asked at all.
func (p *player) play(ctx context.Context) error {
	err := p.perform(ctx)
	if p.base == nil || len(p.c.Storm) > 0 {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle()
	for _, o := range p.outside {
		p.evidence = append(p.evidence, "outside, "+o)
	}
	var not *unfit
	switch {
	case errors.As(err, &not) && len(p.outside) > 0: // what it did outside counts all the same
	case err != nil:
		return err
	case p.missing != "" && len(p.evidence) == 0: // what it did meanwhile counts all the same
		return &unfit{p.missing}
	}
	return p.broken
}

// perform does what the case says, from the start of the server to its end.
func (p *player) perform(ctx context.Context) error {
	if err := p.w.Do(p.c.Tree); err != nil {
		return err
	}
	p.release, p.pending, p.opened, p.roots = make(chan struct{}), map[string]*ongoing{}, map[string]reader{}, p.c.Roots
	defer func() {
		for _, f := range p.opened {
			f.file.Close()
		}
	}()
	for _, c := range p.c.After {
		if c.Held != "" {
			f, err := os.Open(p.w.Fill(c.Held))
			if err != nil {
				return err
			}
			b, err := os.ReadFile(p.w.Fill(c.Held))
			if err != nil {
				return err
			}
			p.opened[c.Held] = reader{f, b}
		}
	}
	for _, f := range p.c.Shared {
		p.w.Shared = append(p.w.Shared, p.w.Fill(f))
	}
	p.base = p.w.Look()
	var end context.CancelFunc // the tree took as long as it took; from here each step has its time
	p.ctx, end = context.WithTimeout(ctx, p.run.o.Timeout*time.Duration(len(p.c.Steps)+2)+p.run.o.Race+p.run.o.StateLife)
	defer end()
	o, err := p.run.options(p.w, p.c.Dirs, p.era)
	if err != nil {
		return err
	}
	o.See, o.Hear, o.Line = p.see, p.hear, p.c.Line
	if !p.roots.Undeclared {
		o.Roots = p.answer
	}
	if p.conn, err = p.run.open(p.ctx, o); err != nil {
		return fmt.Errorf("the server did not start: %w", err)
	}
	defer func() { p.letGo(); p.conn.Close(p.run.parting()) }()
	greeting, stop := p.run.greeting(p.ctx)
	defer stop()
	if _, err := p.conn.Hello(greeting); err != nil {
		if p.c.Dirs != nil && len(*p.c.Dirs) == 0 && errors.Is(err, wire.ErrGone) {
			p.got = append(p.got, "refused to start") // nothing is granted, and nothing is served
			return nil
		}
		return fmt.Errorf("no handshake: %w", err)
	}
	if !p.c.Hasty {
		p.settled(-1)
	}
	if len(p.c.Storm) > 0 {
		return p.race()
	}
	for i := range p.c.Steps {
		if err := p.step(i); err != nil {
			return err
		}
		if p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		if p.missing != "" {
			break
		}
	}
	if p.missing == "" {
		p.after()
	}
	return nil
}

// settle takes note of what changed since the last look. p.mu is held.
func (p *player) settle() {
	now := p.w.Look()
	outside, inside := p.w.Changes(p.base, now)
	p.outside, p.inside, p.base = append(p.outside, outside...), append(p.inside, inside...), now
}

// do changes the tree as the case says, without taking its own changes for the server's.
func (p *player) do(deeds []truth.Deed) {
	if len(deeds) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle()
	if err := p.w.Do(deeds); err != nil {
		p.broken = err
	}
	text, _ := json.Marshal(deeds)
	p.note("world", string(text))
	p.base = p.w.Look()
}

// answer is the client's script when it is asked for its roots.
func (p *player) answer(int) wire.Answer {
	p.mu.Lock()
	r, release := p.roots, p.release
	p.mu.Unlock()
	wait := func(c <-chan time.Time) {
		select {
		case <-c:
		case <-release:
		case <-p.ctx.Done():
		}
	}
	if r.Held {
		wait(nil)
	}
	if r.Late > 0 {
		wait(time.After(r.Late))
	}
	p.do(r.Do)
	return r.Answer(p.w)
}

func (p *player) letGo() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.release)
	p.release = make(chan struct{})
}

// step does one step and judges it.
func (p *player) step(i int) error {
	s := p.c.Steps[i]
	switch {
	case s.Publish != nil:
		p.mu.Lock()
		p.roots = *s.Publish
		p.asks, _ = p.conn.Asks()
		p.mu.Unlock()
		if s.Quiet {
			return nil
		}
		if p.cork = i+1 < len(p.c.Steps) && p.c.Steps[i+1].Behind; p.cork {
			p.conn.Cork()
		}
		p.conn.RootsChanged(p.ctx) // a server that is gone is seen at the next call
		return nil
	case len(s.Do) > 0:
		p.do(s.Do)
		return nil
	case s.Answer:
		p.letGo()
		return nil
	case s.Asked:
		return p.asked(p.asks, p.run.o.Timeout)
	case s.Pause != "":
		d, err := time.ParseDuration(s.Pause)
		if err == nil {
			p.pause(d)
		}
		return err
	case s.Settled:
		p.settled(p.asks)
		return nil
	case s.Finish != "":
		g := p.pending[s.Finish]
		if g == nil {
			return fmt.Errorf("no call %q was started", s.Finish)
		}
		delete(p.pending, s.Finish)
		g.step.Want, g.step.Has, g.step.Lacks = s.Want, s.Has, s.Lacks
		p.judge(g)
		return nil
	case s.State != "":
		return p.trick(s)
	case s.Copies > 0:
		return p.copies(s)
	}
	g, err := p.begin(s, s.Path)
	switch {
	case err != nil:
		p.against("%v", err)
		return nil
	case s.Start != "":
		p.pending[s.Start] = g
		return nil
	}
	answer := p.judge(g)
	if s.Like != "" {
		p.alike(s, answer)
	}
	return nil
}

// A server that asks by itself gets that long to ask, and then to take the answer in: nothing on the wire tells when it
// has, and what it does meanwhile is what other cases ask.
const (
	asking   = 3 * time.Second
	settling = 250 * time.Millisecond
)

// settled waits until a server that asks by itself has asked more than that many times, and was answered.
func (p *player) settled(asks int) {
	if p.run.eager && p.era == script.EraLegacy && !p.c.Roots.Undeclared && p.asked(max(asks, 0), asking) == nil {
		p.pause(settling)
	}
}

func (p *player) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.ctx.Done():
	}
}

// asked waits until the server has asked for the roots more than that many times.
func (p *player) asked(asks int, limit time.Duration) error {
	ctx, stop := context.WithTimeout(p.ctx, limit)
	defer stop()
	for {
		n, next := p.conn.Asks()
		if n > asks {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return &unfit{"the server does not ask for roots"}
		}
	}
}

// unfit says that a case does not fit a server.
type unfit struct{ why string }

func (u *unfit) Error() string { return u.why }

func (p *player) values(s script.Step, n int) profile.Values {
	fill := func(t string) string { return p.w.Fill(strings.ReplaceAll(t, "{n}", fmt.Sprint(n))) }
	v := profile.Values{Path: fill(s.Path), To: fill(s.To), Content: fill(s.Content), Old: fill(s.Old), New: fill(s.New), Kept: p.kept}
	if s.Fill > 0 {
		v.Content = strings.Repeat("0123456789abcde\n", s.Fill/16)
	}
	if v.Content == "" {
		v.Content = "written by the probe\n"
	}
	return v
}

// begin sends a step's call.
func (p *player) begin(s script.Step, path string) (*ongoing, error) {
	s.Path = path
	call, err := p.run.profile.Call(p.w, s.Op, p.values(s, 0))
	if err != nil {
		return nil, err
	}
	if s.Era != "" {
		call.Version = revision(s.Era)
	}
	g := &ongoing{step: s, call: call}
	ctx, stop := p.run.patience(p.ctx)
	defer stop()
	g.p, err = p.conn.Begin(ctx, call)
	if err == nil && p.cork {
		p.cork = false
		err = p.conn.Uncork()
	}
	return g, err
}

func revision(era string) string {
	if era == script.EraModern {
		return wire.Modern
	}
	return wire.Legacy
}

// after looks at the tree as the case says.
func (p *player) after() {
	for _, c := range p.c.After {
		if err := p.check(c); err != nil {
			p.against("%v", err)
		}
	}
}
