//go:build linux

package cases

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

type answered struct {
	r      *rawmcp.Result
	worked time.Duration // the server, for this call alone
	err    error
}

// sent spells a path for the call: as it is with one root, absolute below the first with several.
func (r *run) sent(p string) string {
	if !r.s.project && len(r.a.Roots) > 1 && !strings.HasPrefix(p, "/") {
		first, _ := strings.CutSuffix(r.a.Roots[0], ":ro")
		return r.at(first) + "/" + p
	}
	return p
}

func (r *run) call(o operation) answered {
	o.path = r.sent(o.path)
	if to, ok := o.args["to"].(string); ok {
		args := map[string]any{}
		for k, v := range o.args {
			args[k] = v
		}
		args["to"] = r.sent(r.expand(to))
		o.args = args
	}
	tool, args := o.tool(r.world)
	res, worked, err := r.p.call(time.Duration(r.a.LimitMS)*time.Millisecond, tool, args)
	return answered{res, worked, err}
}

// before takes the pictures the verdict compares with, once.
func (r *run) before() {
	if r.held != nil {
		return
	}
	r.held = r.outside()
	if r.a.Want == "deny" {
		r.all = take(r.dir, nil, r.insideDirs())
	}
}

func (r *run) outside() picture {
	var skip []string
	for _, spec := range r.a.Roots {
		p, _ := strings.CutSuffix(spec, ":ro")
		skip = append(skip, r.at(p))
		if real, err := filepath.EvalSymlinks(r.at(p)); err == nil {
			skip = append(skip, real)
		}
	}
	skip = append(skip, r.dir+"/ws")
	for _, p := range r.a.Tolerate {
		skip = append(skip, r.at(p))
	}
	return take(r.dir, skip, append(r.touched(steps(r.a.Setup)), r.dir))
}

// insideDirs are directories whose own times may change although a call was refused: a temporary file came and went.
func (r *run) insideDirs() []string {
	var dirs []string
	filepath.WalkDir(r.dir, func(p string, d os.DirEntry, err error) error {
		if strings.HasPrefix(p, r.dir+"/ws/p/") {
			return filepath.SkipDir // the procfs of its case
		}
		if err != nil {
			return filepath.SkipDir
		}
		if d.IsDir() {
			dirs = append(dirs, p)
		}
		return nil
	})
	return dirs
}

// attack makes the case's call or calls.
func (r *run) attack(at int) int {
	if len(r.calls) > 0 { // refused at start
		r.before()
		return 0
	}
	t := r.t
	if !r.a.hasStep("in-callback", "") {
		r.aliveOnce(30 * time.Second)
	}
	if len(r.loops) == 0 && !r.a.hasStep("fusehang", "") {
		r.before()
	} else if r.held == nil {
		r.held = r.outside()
	}
	r.fds, r.fdAll = descriptors(r.p.PID(), r.dir)
	resetPeak(r.p.PID())
	r.rss, _ = resident(r.p.PID())
	op := operation{op: r.a.Operation, path: r.a.Path, args: r.a.Args}
	once := func() {
		o := op
		o.path = r.expand(op.path)
		var mine []*loop
		for _, s := range r.each {
			if strings.HasPrefix(s.name, "loop-") {
				l, err := r.world.start(s)
				if err != nil {
					t.Fatal(err)
				}
				mine = append(mine, l)
			} else if err := r.do(s); err != nil {
				t.Fatalf("setup %s: %v", s.name, err)
			}
		}
		r.calls = append(r.calls, r.call(o))
		for _, l := range mine {
			l.halt()
		}
		r.n++
	}
	n := 0
	switch {
	case asInt(r.a.Args["parallel"]) > 0:
		r.parallel(op, int(asInt(r.a.Args["parallel"])))
	case len(r.timed) > 0:
		n = r.timedCall(once, at)
	case r.a.hasStep("trace", ""):
		r.p.tell(t, "arm 0", true)
		once()
	case r.a.Kind == "race":
		for end := time.Now().Add(time.Duration(r.a.LoopMS) * time.Millisecond); time.Now().Before(end) && !t.Failed() && !r.raced(); {
			once()
			if last := r.calls[len(r.calls)-1]; last.err != nil {
				break
			}
		}
	default:
		once()
	}
	for _, l := range r.loops {
		if err := l.halt(); err != nil {
			t.Errorf("the attacker failed: %v", err)
		}
		if l.turns.Load() == 0 {
			t.Error("the attacker never went round")
		}
	}
	return n
}

// enough calls, and rounds of each attacker, end a race before its time, on any machine: of a server that checks a path and
// then opens it, one call in seven leaks.
const enough = 400

// raced reports whether a race was long enough; with RB_LONG=1 it lasts its time.
func (r *run) raced() bool {
	return !long() && len(r.calls) >= enough && !slices.ContainsFunc(r.loops, func(l *loop) bool { return l.turns.Load() < enough })
}

func (r *run) parallel(op operation, n int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	op.path = r.expand(op.path)
	for range n {
		wg.Go(func() {
			got := r.call(op)
			got.worked = 0 // for all at once
			mu.Lock()
			r.calls = append(r.calls, got)
			mu.Unlock()
		})
	}
	wg.Wait()
}

// timedCall makes one call with a step inside it: in the roots callback, when a directory is opened, or before a system
// call. It returns how many system calls the request made, where they were counted.
func (r *run) timedCall(once func(), at int) int {
	t, s := r.t, r.timed[0]
	nested := func(i int) step { return asStep(s.args[i].([]any)) }
	switch s.name {
	case "in-callback":
		r.roots.mu.Lock()
		r.roots.then = func() {
			if err := r.do(nested(0)); err != nil {
				t.Error(err)
			}
		}
		r.roots.mu.Unlock()
		once()
		if r.roots.hooks.Load() == 0 {
			t.Error("the client was not asked for its roots during the call")
		}
	case "on-open":
		stop, err := r.onOpen(r.at(s.str(0)), nested(1))
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Duration(r.a.LoopMS) * time.Millisecond); time.Now().Before(end); {
			once()
		}
		stop()
	case "at-syscall":
		if at > 0 || s.str(0) != "each" {
			return r.stopAt(once, max(at, 1), nested(1))
		}
		for at = 1; !t.Failed(); at++ {
			if n := r.stopAt(once, at, nested(1)); n < at {
				t.Logf("stopped before each of %d calls", n)
				return n
			}
			if err := r.do(nested(1)); err != nil {
				t.Errorf("the swap back after call %d: %v", at, err)
			}
		}
	}
	return 0
}

// stopAt makes one call, stops the server before its system call number at and performs the step there. It returns at, or
// how many calls there were if they were fewer.
func (r *run) stopAt(once func(), at int, s step) int {
	t := r.t
	if got := r.p.tell(t, fmt.Sprintf("arm %d", at), true); got != "ok" {
		t.Fatalf("tracer: %q", got)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		once()
	}()
	held := make(chan string, 1)
	go func() { // ends with its line: a stop, or the answer to being disarmed
		line, _ := r.p.out.ReadString('\n')
		held <- strings.TrimSpace(line)
	}()
	stopped := func() {
		if err := r.do(s); err != nil && !(r.a.Operation == "delete" && errors.Is(err, fs.ErrNotExist)) { // what is deleted cannot be swapped any more
			t.Errorf("the swap at call %d: %v", at, err)
		}
		r.p.tell(t, "go", false)
	}
	select {
	case <-held:
		stopped()
		<-done
		return at
	case <-done: // fewer calls than that
		r.p.tell(t, "arm 0", false)
		if <-held == "stop" { // a call after the answer
			stopped()
			r.p.out.ReadString('\n')
			return at
		}
		return at - 1
	}
}

// aliveOnce reads ws/alive, or says why not, within patience.
func (r *run) aliveOnce(patience time.Duration) error {
	first, _ := strings.CutSuffix(r.a.Roots[0], ":ro")
	args := rawmcp.Args{"path": r.at(first) + "/alive"}
	if r.s.project {
		args["path"] = "alive"
	}
	var last string
	for end := time.Now().Add(patience); ; {
		res, _, err := r.p.call(2*time.Second, "read_text_file", args)
		if err == nil && res.OK() && strings.TrimSpace(res.Text) == "alive" {
			return nil
		}
		last = fmt.Sprint(res.Short(), " ", err)
		if time.Now().After(end) || errors.Is(err, rawmcp.ErrGone) {
			return errors.New(last)
		}
		if !r.a.mayTakeRoot() {
			return errors.New(last)
		}
		wait(50 * time.Millisecond)
	}
}

// mayTakeRoot reports whether the case itself takes the root away, for a time or for good.
func (a attack) mayTakeRoot() bool {
	return a.hasStep("refresh", "") || a.hasStep("loop-exchange", "ws") || a.hasStep("roots", "") || a.ID == "root-is-file" || a.ID == "fifo-as-root"
}

// wait is a pause between looks at something that gives no event.
func wait(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	<-ctx.Done()
}
