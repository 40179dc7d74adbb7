//go:build linux

package probe_test

import (
	"errors"
	"flag"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/probe"
	"github.com/rootbound/rootbound/probe/profile"
	"github.com/rootbound/rootbound/probe/script"
	"github.com/rootbound/rootbound/probe/truth"
)

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "4") // a run mostly waits for processes, and for those that never answer
	code := m.Run()
	rig.Clean()
	os.Exit(code)
}

// judge runs the deterministic cases against a server and fails on what could not be put.
func judge(t *testing.T, s probe.Server, o probe.Options) *probe.Report {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second // tests run beside others on slow machines
	}
	if o.Start == 0 {
		o.Start = time.Minute
	}
	r, err := probe.Judge(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(o.Dir); len(left) > 0 && !o.Keep {
		t.Errorf("trees were left: %v", left)
	}
	return r
}

// settled is judge, and again for those outcomes that odd says are not as they should be: a busy machine lets a case run
// out of time and a race go by without a hit.
func settled(t *testing.T, s probe.Server, o probe.Options, odd func(probe.Outcome) bool) *probe.Report {
	t.Helper()
	r := judge(t, s, o)
	for range 2 {
		o.Only = nil
		for _, c := range r.Cases {
			if odd(c) && !slices.Contains(o.Only, c.ID) {
				o.Only = append(o.Only, c.ID)
			}
		}
		if o.Only == nil {
			break
		}
		t.Logf("once more: %v", o.Only)
		for _, c := range judge(t, s, o).Cases {
			if i := slices.IndexFunc(r.Cases, func(old probe.Outcome) bool { return old.ID == c.ID && old.Era == c.Era }); i >= 0 && odd(r.Cases[i]) {
				r.Cases[i] = c
			}
		}
	}
	return r
}

func unasked(c probe.Outcome) bool { return c.Verdict == probe.Failed }

func ours(t *testing.T, args ...string) probe.Server {
	return probe.Server{Command: append(append([]string{rig.Binary(t), "serve", "--no-slow"}, args...), "{app}", "{docs}"),
		Env: []string{"ROOTBOUND_FS_TIMEOUT=1m"}} // a busy disk is no fault
}

// TestOursHolds puts every deterministic case to the server of this repository, with both sets of tools, in both eras, on
// one processor and on all: what holds may not depend on any of them.
func TestOursHolds(t *testing.T) {
	long := os.Getenv("RB_LONG") != ""
	t.Run("classic", func(t *testing.T) { holds(t, ours(t, "--allow-delete"), probe.Options{}, 300) })
	t.Run("project", func(t *testing.T) {
		o, least := probe.Options{Eras: []string{script.EraModern}}, 130
		if long {
			o, least = probe.Options{}, 280
		}
		holds(t, ours(t, "--tools=project", "--allow-delete"), o, least)
	})
	if !long {
		return // long forms
	}
	t.Run("expired", func(t *testing.T) {
		holds(t, ours(t), probe.Options{Only: []string{"L49"}, StateLife: time.Minute}, 1)
	})
	one := ours(t, "--allow-delete")
	one.Env = append(one.Env, "GOMAXPROCS=1")
	for n := range 3 {
		t.Run("one-processor-"+strconv.Itoa(n+1), func(t *testing.T) { holds(t, one, probe.Options{}, 300) })
	}
}

// TestThreeRunsAgree: the verdicts of a server are its own, and neither the clock's nor the canaries'. With RB_LONG all cases are
// asked and the time of each run is told; a run takes up to 30 s on a quiet machine.
func TestThreeRunsAgree(t *testing.T) {
	o := probe.Options{Only: []string{"sixteen"}}
	if os.Getenv("RB_LONG") != "" {
		o.Only = nil
	}
	var first map[string]string
	for n := range 3 {
		o.Seed = uint64(n)
		r := judge(t, ours(t, "--allow-delete"), o)
		got := map[string]string{}
		for _, c := range r.Cases {
			got[c.ID+" "+c.Era] = c.Verdict
		}
		t.Logf("run %d: %+v in %d ms", n+1, r.Summary, r.ElapsedMS)
		if first == nil {
			first = got
		}
		if len(got) != len(first) || len(got) == 0 {
			t.Errorf("run %d has %d verdicts, the first %d", n+1, len(got), len(first))
		}
		for c, v := range got {
			if v != first[c] {
				t.Errorf("%s is %s in run %d and %s in the first", c, v, n+1, first[c])
			}
		}
	}
}

// holds fails on every verdict but held, and on a case that was skipped without one of the known reasons or one of skips.
func holds(t *testing.T, s probe.Server, o probe.Options, least int, skips ...string) {
	r := settled(t, s, o, unasked)
	for _, o := range r.Cases {
		switch o.Verdict {
		case probe.Fell, probe.Failed:
			t.Errorf("%s %s %s: %s: %s", o.ID, o.Era, o.Verdict, o.Got, strings.Join(o.Evidence, "; "))
		case probe.Skipped:
			if !slices.Contains(append(skips, "races were not asked for", "how long a requestState lives was not said", "the server's tools take no absolute paths", "the server does not speak this era", "the server does not speak the other era"), o.Got) && !strings.HasSuffix(o.Got, "operation not permitted") {
				t.Errorf("%s %s skipped: %s", o.ID, o.Era, o.Got)
			}
		}
	}
	if r.Summary.Held < least {
		t.Errorf("only %d cases held", r.Summary.Held)
	}
	t.Logf("%+v in %d ms", r.Summary, r.ElapsedMS)
}

// TestOursIsCommitted compares a run with short races, and with a state that is kept back for a minute, with the committed
// verdicts.
func TestOursIsCommitted(t *testing.T) {
	if os.Getenv("RB_E2E") == "" && !*update {
		t.Skip("a whole run with races is for make probe")
	}
	compare(t, oursFile, judge(t, ours(t, "--allow-delete"), probe.Options{Race: time.Second, StateLife: time.Minute}))
}

// TestRun is the library as a server's author uses it.
func TestRun(t *testing.T) {
	r := probe.Run(t, ours(t), probe.Options{Only: []string{"S0*", "S1[0-4]"}})
	if r.Summary.Held < 24 {
		t.Errorf("%+v", r.Summary)
	}
}

// TestWhatACaseNeedsIsNoFault: a server that refuses the set-up of a case was not asked, and neither held nor fell.
func TestWhatACaseNeedsIsNoFault(t *testing.T) {
	for _, c := range judge(t, ours(t, "--read-only"), probe.Options{Only: []string{"S15"}}).Cases {
		if c.Verdict != probe.Skipped || !strings.Contains(c.Got, "what the case needs was refused: propose: ") || strings.Contains(c.Got, os.TempDir()) {
			t.Errorf("%s %s: %s %v", c.Era, c.Verdict, c.Got, c.Evidence)
		}
	}
	blind := &profile.Profile{Name: "blind", Ops: map[string]profile.Invocation{
		"propose": {Tool: "propose_patch", Args: map[string]any{"root": "{project}", "edits": []any{map[string]any{"path": "{relative}", "oldText": "", "newText": "{content}"}}}, Keep: "ticket"},
		"apply":   {Tool: "apply_patch", Args: map[string]any{"root": "{project}", "plan": "{kept}"}},
		"read":    {Tool: "read_text_file", Args: map[string]any{"path": "{path}"}},
	}}
	s := ours(t)
	s.Profile = blind
	for _, c := range judge(t, s, probe.Options{Only: []string{"S15"}}).Cases {
		if c.Verdict != probe.Skipped {
			t.Errorf("a plan without its id: %s %s: %s %v", c.Era, c.Verdict, c.Got, c.Evidence)
		}
	}
}

// TestAnIdleRaceSaysWhatToDo: a race of which no call succeeds proves nothing.
func TestAnIdleRaceSaysWhatToDo(t *testing.T) {
	idle := script.Case{ID: "idle", Family: "race", What: "w", Why: "w", Eras: []string{script.EraLegacy}, Roots: script.Roots{List: []string{"file://{app}"}},
		Steps: []script.Step{{Op: "read", Path: "{app}/none", Want: script.Either}}, Storm: []truth.Deed{{Exchange: "{app}/src", To: "{app}/docs"}}, Tree: []truth.Deed{{Dir: "{app}/docs"}}}
	for _, c := range judge(t, ours(t), probe.Options{Cases: []script.Case{idle}, Race: 100 * time.Millisecond}).Cases {
		if c.Verdict != probe.Failed || !strings.Contains(c.Got, "0 of ") || !strings.Contains(c.Got, "try a longer --race") {
			t.Errorf("%s: %s", c.Verdict, c.Got)
		}
	}
}

// TestATypoStartsNothing: a name that fits no case is told before the server is started, also beside one that does.
func TestATypoStartsNothing(t *testing.T) {
	_, err := probe.Judge(t.Context(), probe.Server{Command: []string{"/no such server"}}, probe.Options{Only: []string{"S01", "ZZ9"}})
	if err == nil || !strings.Contains(err.Error(), "ZZ9") || errors.Is(err, probe.ErrCannotRun) {
		t.Error(err)
	}
}

func pid() string { return strconv.Itoa(os.Getpid()) }
