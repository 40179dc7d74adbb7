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
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/rootbound/rootbound/internal/rawmcp"
	"github.com/rootbound/rootbound/internal/rig"
)

// attack is one case of attacks.yaml.
type attack struct {
	ID         string           `yaml:"id"`
	Kind       string           `yaml:"kind"`
	Operation  string           `yaml:"operation"`
	Path       string           `yaml:"path"`
	Want       string           `yaml:"want"`
	API        string           `yaml:"api"`
	Why        string           `yaml:"why"`
	Source     string           `yaml:"source"`
	AppliesTo  []string         `yaml:"applies_to"`
	NeedsRoot  bool             `yaml:"needs_root"`
	Setup      [][]any          `yaml:"setup"`
	Args       map[string]any   `yaml:"args"`
	Roots      []string         `yaml:"roots"`
	Policy     policy           `yaml:"policy"`
	LimitMS    int              `yaml:"limit_ms"`
	LoopMS     int              `yaml:"loop_ms"`
	ShowSecret bool             `yaml:"may_show_secret"`
	Tolerate   []string         `yaml:"tolerate"`
	After      []map[string]any `yaml:"after"`
}

type policy struct {
	Hardlinks string   `yaml:"hardlinks"`
	Mounts    string   `yaml:"mounts"`
	Deny      []string `yaml:"deny"`
}

func attacks(t *testing.T) []attack {
	t.Helper()
	raw, err := os.ReadFile("testdata/attacks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Cases []attack `yaml:"cases"`
	}
	if err := yaml.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Cases) < 270 {
		t.Fatalf("only %d cases were read", len(list.Cases))
	}
	return list.Cases
}

// surroundings are the conditions a whole list is run under.
type surroundings struct {
	name    string
	dir     string // where worlds are made
	version string // protocol revision
	confine string // --confine; empty: off
	chown   int    // the world belongs to this user, as whom the server runs
	launch  launch // beyond what a case wants
	project bool   // the project form of the tools
	only    func(attack) bool
}

func TestAttacks(t *testing.T) {
	runAttacks(t, surroundings{name: "attacks", dir: base, version: rawmcp.Legacy})
}

// TestAttacksModern puts cases that need no client roots to the other era: all with RB_LONG=1.
func TestAttacksModern(t *testing.T) {
	runAttacks(t, surroundings{name: "attacks", dir: base, version: rawmcp.Modern, only: some(0, func(a attack) bool {
		return a.Kind == "static" || a.Kind == "name"
	})})
}

// TestAttacksProject puts the same inputs to the project form of the tools. What that form does not take as a path has to
// be refused there, whatever the classic form makes of it. One guard judges both, so a few races are enough, and those
// of searches, which have no classic twin.
func TestAttacksProject(t *testing.T) {
	races := []string{"race-parent-read", "race-parent-create", "race-relink-dir", "race-parent-rename-source"}
	runAttacks(t, surroundings{name: "attacks", dir: base, version: rawmcp.Legacy, project: true, only: func(a attack) bool {
		return a.API != "absolute" && a.ID != "abslink-revoked-root" && (a.Kind == "static" || a.Kind == "name" || a.Operation == "search" || slices.Contains(races, a.ID))
	}})
}

// runAttacks runs quick cases side by side and races by twos: they need a core for the attacker.
func runAttacks(t *testing.T, s surroundings) {
	quick, races := make(chan struct{}, 4), make(chan struct{}, 2)
	for _, a := range attacks(t) {
		if s.only != nil && !s.only(a) {
			continue
		}
		t.Run(a.ID, func(t *testing.T) {
			a.skipUnlessHere(t, s)
			t.Parallel()
			gate := quick
			if a.Kind == "race" {
				gate = races
			}
			gate <- struct{}{}
			defer func() { <-gate }()
			runAttack(t, a, s)
		})
	}
}

func (a attack) skipUnlessHere(t *testing.T, s surroundings) {
	name := s.name + "/" + a.ID
	switch {
	case !slices.Contains(a.AppliesTo, "linux"):
		skip(t, name, "not a case of this platform")
	case a.API == "relative" && !s.project:
		skip(t, name, "only the project form takes relative_path")
	case a.NeedsRoot && os.Getuid() != 0:
		skip(t, name, "needs administrator rights")
	}
	for _, st := range steps(a.Setup) {
		if st.name == "runtime" {
			skip(t, name, "only under "+st.str(0))
		}
	}
}

// run is one case under way.
type run struct {
	*world
	a     attack
	s     surroundings
	p     *product
	start start
	roots published
	loops []*loop
	calls []answered
	held  picture // outside, before
	all   picture // everything, before
	fds   map[string]int
	fdAll int
	rss   int64
	timed []step // done inside or beside each call
	each  []step // steps with $N
}

type answered struct {
	r      *rawmcp.Result
	worked time.Duration // the server, for this call alone
	err    error
}

func runAttack(t *testing.T, a attack, s surroundings) {
	if s.project {
		a = a.inProject()
	}
	if a.hasStep("at-syscall", "each") && !a.undoable() {
		for at := 1; ; at++ {
			if n := oneAttack(t, a, s, at); at > n || t.Failed() {
				t.Logf("stopped before each of %d calls", n)
				return
			}
		}
	}
	oneAttack(t, a, s, 0)
}

func (a attack) hasStep(name, arg string) bool {
	return slices.ContainsFunc(steps(a.Setup), func(s step) bool { return s.name == name && (arg == "" || s.str(0) == arg) })
}

// undoable reports whether doing the timed step again takes it back, so that one server can be stopped at all positions.
func (a attack) undoable() bool {
	return slices.ContainsFunc(a.Setup, func(s []any) bool {
		nested, ok := s[len(s)-1].([]any)
		return ok && nested[0] == "exchange"
	})
}

// oneAttack makes the world, performs the case and judges it. at is the position for cases that stop before each call;
// the result is how many calls there were.
func oneAttack(t *testing.T, a attack, s surroundings, at int) int {
	name := a.ID
	if at > 0 {
		name = fmt.Sprintf("%s.%d", a.ID, at)
	}
	form := ""
	if s.project {
		form = "-project"
	}
	r := &run{world: newWorld(t, s.dir+"/"+s.name+"-"+s.version[:4]+form, name), a: a, s: s}
	defer r.close()
	r.prepare()
	for _, st := range steps(a.Setup) {
		if r.p == nil && st.live() {
			r.serve(at > 0)
		}
		if err := r.perform(st); err != nil {
			var no errNoEffect
			if errors.As(err, &no) {
				skip(t, s.name+"/"+a.ID, no.why)
			}
			t.Fatalf("setup %s %v: %v", st.name, st.args, err)
		}
		if t.Failed() {
			return 0
		}
	}
	if r.p == nil {
		r.serve(at > 0)
	}
	n := r.attack(at)
	r.judge()
	return n
}

// prepare reads the conditions of the process out of the setup.
func (r *run) prepare() {
	r.start = start{version: r.s.version, launch: r.s.launch}
	if r.a.LimitMS == 0 {
		r.a.LimitMS = 2000
	}
	if r.a.LoopMS == 0 {
		r.a.LoopMS = 1500
	}
	if len(r.a.Roots) == 0 {
		r.a.Roots = []string{"ws"}
	}
	r.start.launch.Trace = r.a.hasStep("trace", "") || r.a.hasStep("at-syscall", "")
}

// perform does one step of the setup, in its order.
func (r *run) perform(s step) error {
	t := r.t
	if s.perCall() {
		r.each = append(r.each, s)
		return nil
	}
	switch s.name {
	case "cwd":
		d, err := os.Open(r.at(s.str(0)))
		if err != nil {
			return err
		}
		r.after(func() { d.Close() })
		r.start.cwdDir = d
	case "env":
		r.start.env = append(r.start.env, s.str(0)+"="+r.expand(s.str(1)))
	case "uid":
		r.start.launch.UID = int(s.num(t, 0))
	case "nofile":
		r.start.launch.NoFile = uint64(s.num(t, 0))
	case "fsize":
		r.start.launch.FSize = uint64(s.num(t, 0))
	case "hide":
		if !mounts() {
			return errNoEffect{"no private mount namespace"}
		}
		r.start.launch.Hide = append(r.start.launch.Hide, s.str(0))
	case "deny-syscall":
		r.start.launch.Deny = append(r.start.launch.Deny, denied{Call: s.str(0), Errno: errnos[s.str(1)]})
	case "trace":
	case "call":
		op := operation{op: s.str(0), path: r.expand(s.str(1))}
		if len(s.args) > 3 {
			op.args, _ = s.args[3].(map[string]any)
		}
		got := r.call(op)
		if got.err != nil {
			return got.err
		}
		if want := s.str(2); got.r.OK() != (want == "allow") {
			return fmt.Errorf("want %s, got %s", want, got.r.Short())
		}
	case "roots":
		list, _ := s.args[0].([]any)
		var uris []string
		for _, p := range list {
			uris = append(uris, fileURI(r.at(fmt.Sprint(p))))
		}
		r.roots.set(uris)
		return r.p.RootsChanged()
	case "refresh":
		time.Sleep(1100 * time.Millisecond) // the product may notice a replaced root up to 1 s late; it tells nobody when it looks
	case "in-callback", "on-open", "at-syscall":
		r.timed = append(r.timed, s)
	default:
		if strings.HasPrefix(s.name, "loop-") {
			r.before()
			l, err := r.world.start(s)
			if err != nil {
				return err
			}
			r.loops = append(r.loops, l)
			r.after(func() { l.halt() })
			return nil
		}
		return r.do(s)
	}
	return nil
}

// serve starts the product with the case's roots.
func (r *run) serve(traced bool) {
	t := r.t
	confine := r.s.confine
	if confine == "" {
		confine = "off"
	}
	flags := []string{"--confine=" + confine, "--no-slow", "--audit", r.state + "/audit.jsonl"}
	var dirs []string
	plain := r.a.Policy.Hardlinks != "deny" && r.a.Policy.Mounts != "deny" && len(r.a.Policy.Deny) == 0
	for _, spec := range r.a.Roots {
		p, ro := strings.CutSuffix(spec, ":ro")
		plain = plain && !ro
		p = r.at(p)
		if _, err := os.Lstat(p); err != nil {
			if err := os.MkdirAll(p, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		dirs = append(dirs, p)
	}
	if rig.Foreign() {
		flags, plain = nil, true
	} else if r.s.project {
		plain = false
	} else if plain {
		flags = append(flags, "--allow-delete")
	}
	if plain {
		r.start.argv = append(flags, dirs...)
	} else {
		tools := "--tools=classic"
		if r.s.project {
			tools = "--tools=project"
		}
		r.start.argv = append(flags, tools, "--config", r.config(dirs))
	}
	if r.a.hasStep("roots", "") || r.a.hasStep("in-callback", "") {
		var uris []string
		for _, d := range dirs {
			uris = append(uris, fileURI(d))
		}
		r.roots.set(uris)
		r.start.roots, r.start.changes = r.roots.answer, true
	}
	if r.s.chown != 0 {
		r.giveTo(r.s.chown)
	}
	p, err := r.begin(r.start)
	if r.p = p; p != nil && r.s.project {
		p.project = "p0"
	}
	if err != nil { // a refused start is a refusal of everything
		if r.a.Want == "allow" || p == nil {
			t.Fatalf("the server does not start: %v", err)
		}
		r.calls = append(r.calls, answered{r: &rawmcp.Result{IsError: true, Raw: []byte(p.Stderr()), Text: p.Stderr()}})
	}
}

// giveTo makes the world another user's, so that permissions are not what refuses.
func (r *run) giveTo(uid int) {
	for _, dir := range []string{r.dir, r.state} {
		filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
			if err == nil {
				os.Lchown(p, uid, uid)
			}
			return nil
		})
	}
}

// config writes a configuration file with what directory arguments cannot say.
func (r *run) config(dirs []string) string {
	var projects []map[string]any
	for i, d := range dirs {
		p := map[string]any{"id": fmt.Sprintf("p%d", i), "dir": d, "rights": "full"}
		if strings.HasSuffix(r.a.Roots[i], ":ro") {
			p["rights"] = "ro"
		}
		if r.a.Policy.Mounts == "deny" {
			p["mounts"] = "deny"
		}
		if r.a.Policy.Hardlinks == "deny" {
			p["hardlinks"] = "deny"
		}
		if len(r.a.Policy.Deny) > 0 {
			p["deny"] = r.a.Policy.Deny
		}
		projects = append(projects, p)
	}
	return r.writeConfig(map[string]any{"projects": projects})
}

func (w *world) writeConfig(c map[string]any) string {
	w.t.Helper()
	b, err := yaml.Marshal(c)
	if err != nil {
		w.t.Fatal(err)
	}
	path := w.state + "/rootbound.yaml"
	if err := os.WriteFile(path, b, 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
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
