// Package probe asks any MCP server that serves files whether it keeps its boundary, and answers with evidence.
//
// Each case starts the server as a client would, on a throw-away tree with random canaries outside what is granted,
// plays a script of calls, answers about roots and changes of the tree, and judges by the truth of the disk and of every
// byte that came back, not by what the server says. Cases are data, see Cases; what a server cannot be asked is skipped,
// never passed. docs/probe.md tells what each case means.
//
// The package imports no other room of the module but its own, so that it judges rootbound as it judges anybody.
package probe

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rootbound/rootbound/probe/profile"
	"github.com/rootbound/rootbound/probe/script"
	"github.com/rootbound/rootbound/probe/truth"
	"github.com/rootbound/rootbound/probe/wire"
)

// Server says how a server is started.
type Server struct {
	// Command is the server's command line. {app} {docs} {ws} become directories of the tree (ws holds the other two); with
	// URL, {port} becomes a free port.
	Command []string
	// Env is what the server gets beside PATH, HOME, the locale and the like, as NAME=VALUE or the NAME of a variable of this
	// process.
	Env []string
	// URL makes it a server of Streamable HTTP, started by Command and reached there: http://127.0.0.1:{port}/mcp.
	URL string
	// Profile maps operations to tools. nil: a built-in one, or by the names in tools/list.
	Profile *profile.Profile
}

// Options of a run. The zero value is a full deterministic run of the built-in cases.
type Options struct {
	Cases []script.Case // nil: the built-in ones
	Only  []string      // ids, families or patterns with *; a case runs if one fits
	Eras  []string      // nil: all the server speaks
	Race  time.Duration // how long each race lasts; 0: races are skipped
	// Timeout is for one answer; default 10 s. A handshake may take three times as long, and a thirtieth of it is left to a
	// server that is to end.
	Timeout time.Duration
	// Start is how long a server of Streamable HTTP may take until it listens; default 15 s. One whose process ends, or that
	// listens at another port only, is given up before.
	Start time.Duration
	// StateLife is how long a requestState of the server lives, as its documentation or a setting says. 0: the case of one that
	// has expired is skipped. A state that is served later than that is a fall.
	StateLife time.Duration
	Seed      uint64 // of the canaries
	Jobs      int    // cases at once; default 4. Races run alone
	Dir       string // where trees are made; default the system's temporary directory
	Keep      bool   // do not remove the trees of cases that did not hold
	// Alone says that this process starts nothing but this run. Whatever descends from it is ended with the run, also what
	// left its group and gave its environment up; else what did both is not found.
	Alone bool
	Met   func(Subject) // called once, when the server and its tools are known
	Told  func(done, all int, o Outcome)
}

// suite is one run.
type suite struct {
	o       Options
	server  Server
	profile *profile.Profile
	eager   bool   // the server asks for roots by itself
	blind   bool   // its search finds nothing, whatever it is asked for
	mark    string // in the environment of every process of this run
	subject Subject

	mu    sync.Mutex
	trees []past
	ports map[int]bool // that servers of this run were given
}

// ErrCannotRun says that the server could not be asked anything.
var ErrCannotRun = errors.New("the server cannot be probed")

// Judge runs the cases against a server. The error wraps ErrCannotRun when there is nothing to report, is ctx's, or says
// before the server is started that Only names no case.
func Judge(ctx context.Context, server Server, o Options) (*Report, error) {
	if !truth.Supported {
		return nil, fmt.Errorf("%w: trees are judged on Linux only", ErrCannotRun)
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Start <= 0 {
		o.Start = 15 * time.Second
	}
	if o.Jobs <= 0 {
		o.Jobs = 4
	}
	if o.Cases == nil {
		var err error
		if o.Cases, err = script.Cases(""); err != nil {
			return nil, err
		}
	}
	for _, only := range o.Only { // before anything is started: a typo would run other cases than were meant
		if !slices.ContainsFunc(o.Cases, func(c script.Case) bool { return chosen([]string{only}, &c) }) {
			return nil, fmt.Errorf("no case is called %s", only)
		}
	}
	r := &suite{o: o, server: server, profile: server.Profile, mark: fmt.Sprintf("ROOTBOUND_PROBE=%d-%016x", os.Getpid(), rand.Uint64())}
	if o.Alone {
		if err := wire.Adopt(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
		}
	}
	defer wire.Sweep(r.mark, o.Alone)
	report := &Report{Schema: SchemaName, Seed: o.Seed, Started: time.Now().UTC().Truncate(time.Second), RaceMS: o.Race.Milliseconds()}
	began := time.Now()
	if err := r.meet(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	report.Server = r.subject
	if o.Met != nil {
		o.Met(r.subject)
	}
	report.Cases = r.all(ctx)
	wire.Sweep(r.mark, o.Alone) // what a server left behind would go on in its tree
	r.clear(report.Cases)
	report.ElapsedMS = time.Since(began).Milliseconds()
	report.Sum()
	return report, ctx.Err()
}

// patience bounds one answer.
func (r *suite) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, r.o.Timeout)
}

// greeting bounds a start and its handshake: a cold start on a busy machine is no fault.
func (r *suite) greeting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 3*r.o.Timeout)
}

// parting is how long a server may take to end after its input was closed: a third of a second by default, and longer where
// more time is given for an answer.
func (r *suite) parting() time.Duration { return r.o.Timeout / 30 }

// open starts a server, and waits for one of Streamable HTTP until it listens.
func (r *suite) open(ctx context.Context, o wire.Options) (*wire.Conn, error) {
	ctx, stop := context.WithTimeout(ctx, r.o.Start)
	defer stop()
	return wire.Open(ctx, o)
}

// source makes the random texts of one case depend on nothing but the seed and the case.
func source(seed uint64, id, era string) func() uint64 {
	h := fnv.New64a()
	h.Write([]byte(id + "/" + era))
	return rand.New(rand.NewPCG(seed, h.Sum64())).Uint64
}

// question is one case in one era.
type question struct {
	c   *script.Case
	era string
}

func (r *suite) all(ctx context.Context) []Outcome {
	var list []question
	for i := range r.o.Cases {
		c := &r.o.Cases[i]
		if !chosen(r.o.Only, c) {
			continue
		}
		had := len(list)
		for _, era := range c.Eras {
			if slices.Contains(r.subject.Eras, era) {
				list = append(list, question{c, era})
			}
		}
		if len(list) == had { // shown once, as skipped
			list = append(list, question{c, c.Eras[0]})
		}
	}
	out := make([]Outcome, len(list))
	var mu sync.Mutex
	done := 0
	ask := func(i int) {
		out[i] = r.ask(ctx, list[i], i)
		mu.Lock()
		defer mu.Unlock()
		if done++; r.o.Told != nil {
			r.o.Told(done, len(list), out[i])
		}
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range r.o.Jobs {
		workers.Go(func() {
			for i := range next {
				ask(i)
			}
		})
	}
	for i, q := range list {
		if len(q.c.Storm) == 0 {
			next <- i
		}
	}
	close(next)
	workers.Wait()
	for i, q := range list {
		if len(q.c.Storm) > 0 {
			ask(i)
		}
	}
	return out
}

func chosen(only []string, c *script.Case) bool {
	return len(only) == 0 || slices.ContainsFunc(only, func(o string) bool {
		id, _ := filepath.Match(o, c.ID)
		return id || o == c.Family
	})
}

// ask plays one case, whose outcome stands at a place of the report, and gives the verdict.
func (r *suite) ask(ctx context.Context, q question, at int) (o Outcome) {
	c := q.c
	o = Outcome{ID: c.ID, Family: c.Family, Era: q.era, Want: c.Wants(), What: c.What, Why: c.Why, Mend: c.Mend, Ref: c.Ref}
	began := time.Now()
	defer func() { o.ElapsedMS = time.Since(began).Milliseconds() }()
	if why := r.unfit(q); why != "" {
		o.Verdict, o.Got = Skipped, why
		return o
	}
	if ctx.Err() != nil { // nothing more is started
		o.Verdict, o.Got = Failed, "stopped"
		return o
	}
	w, err := truth.New(r.o.Dir, source(r.o.Seed, c.ID, q.era))
	if err != nil {
		o.Verdict, o.Got = Failed, err.Error()
		return o
	}
	p := &player{run: r, c: c, era: q.era, w: w, started: began}
	err = p.play(ctx)
	o.Transcript, o.Evidence, o.Got = p.lines, p.evidence, w.Blank(strings.Join(p.got, "; "))
	var not *unfit
	switch {
	case errors.As(err, &not), errors.Is(err, os.ErrPermission):
		o.Verdict, o.Got, o.Evidence = Skipped, err.Error(), nil
	case len(p.evidence) > 0:
		o.Verdict = Fell
	case err != nil:
		o.Verdict, o.Got = Failed, w.Blank(err.Error())
	default:
		o.Verdict = Held
	}
	if r.kept(w, &o) {
		return o
	}
	past := past{w, p.base, at}
	if p.base.Bytes() > small {
		remove(w, &o)
	}
	if p.base.Bytes() > small || len(c.Storm) > 0 {
		past.last = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trees = append(r.trees, past)
	return o
}

// unfit says why a case cannot be put to this server; empty if it can.
func (r *suite) unfit(q question) string {
	if !slices.Contains(r.subject.Eras, q.era) {
		return "the server does not speak this era"
	}
	for _, s := range q.c.Steps {
		if _, ok := r.profile.Ops[s.Op]; s.Op != "" && !ok {
			return "no tool for " + s.Op
		}
		if s.Op == "search" && r.blind {
			return "its search does not find what is there: nothing it is asked proves anything"
		}
		if s.Absolute && r.profile.Relative() {
			return "the server's tools take no absolute paths"
		}
		if s.Era != "" && !slices.Contains(r.subject.Eras, s.Era) {
			return "the server does not speak the other era"
		}
	}
	if len(q.c.Storm) > 0 && r.o.Race <= 0 {
		return "races were not asked for"
	}
	if r.o.StateLife <= 0 && slices.ContainsFunc(q.c.Steps, func(s script.Step) bool { return s.State == "expired" }) {
		return "how long a requestState lives was not said"
	}
	if q.c.Pipe && r.server.URL != "" {
		return "messages over HTTP have no order"
	}
	if q.c.Dirs != nil {
		if _, err := arguments(r.server.Command, q.c.Dirs); err != nil {
			return err.Error()
		}
	}
	return ""
}
