//go:build linux

package probe_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rootbound/rootbound/probe"
	"github.com/rootbound/rootbound/probe/profile"
)

// TestStreamableHTTP puts the same cases to the same servers over HTTP: the verdicts are those of the pipes.
func TestStreamableHTTP(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][]string{"sound": {}, "lexical-check": {"S10", "S12"}, "keeps-old": {"L15", "L16", "L17", "L18", "L19", "L20"}} {
		s := tiny(t, mode)
		s.URL, s.Env = "http://127.0.0.1:{port}/mcp", []string{"BROKEN_HTTP=127.0.0.1:{port}"}
		r := judge(t, s, probe.Options{Only: []string{"sixteen", "L1[5-9]", "L2*"}})
		if r.Server.Transport != "http" {
			t.Errorf("transport %s", r.Server.Transport)
		}
		fell := []string{}
		for _, c := range r.Cases {
			if c.Verdict == probe.Fell || c.Verdict == probe.Failed {
				fell = append(fell, c.ID)
				t.Logf("%s %s %s %v", mode, c.ID, c.Got, c.Evidence)
			}
		}
		if !slices.Equal(fell, want) {
			t.Errorf("%s over HTTP fell in %v, want %v", mode, fell, want)
		}
	}
}

// TestServerOfTheSDK puts the cases to a server that go-sdk serves over HTTP, with sessions for the legacy era and without for
// 2026-07-28: what holds over pipes holds there. The long form asks all of them.
func TestServerOfTheSDK(t *testing.T) {
	bin, err := compile(t.TempDir(), "../examples/httptools")
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Load("profile/profiles/rootbound.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o, least := probe.Options{Only: []string{"sixteen", "L1*", "L3[6-9]", "L4*", "D0*"}}, 80
	if os.Getenv("RB_LONG") != "" {
		o, least = probe.Options{}, 280
	}
	s := probe.Server{Command: []string{bin, "127.0.0.1:{port}", "{app}", "{docs}"}, URL: "http://127.0.0.1:{port}/mcp", Profile: p}
	holds(t, s, o, least, "messages over HTTP have no order")
}

// TestExpiredStates: a state is kept back for as long as it lives, and a server whose states live longer falls.
func TestExpiredStates(t *testing.T) {
	bin, err := compile(t.TempDir(), "./testdata/states")
	if err != nil {
		t.Fatal(err)
	}
	for life, want := range map[string]string{"100ms": probe.Held, "1h": probe.Fell} {
		s := probe.Server{Command: []string{bin, life, "{app}", "{docs}"}}
		r := judge(t, s, probe.Options{Only: []string{"L49"}, StateLife: 100 * time.Millisecond})
		if len(r.Cases) != 1 || r.Cases[0].Verdict != want {
			t.Errorf("states that live %s: %+v", life, r.Cases)
		}
		if r := judge(t, s, probe.Options{Only: []string{"L49"}}); len(r.Cases) != 1 || r.Cases[0].Verdict != probe.Skipped {
			t.Errorf("without --state-life: %+v", r.Cases)
		}
	}
}
