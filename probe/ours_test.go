//go:build linux

package probe_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/probe"
)

func TestMain(m *testing.M) {
	code := m.Run()
	rig.Clean()
	os.Exit(code)
}

// judge runs the deterministic cases against a server and fails on what could not be put.
func judge(t *testing.T, s probe.Server, o probe.Options) *probe.Report {
	t.Helper()
	o.Dir = t.TempDir()
	r, err := probe.Judge(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(o.Dir); len(left) > 0 && !o.Keep {
		t.Errorf("trees were left: %v", left)
	}
	return r
}

func ours(t *testing.T, args ...string) probe.Server {
	return probe.Server{Command: append(append([]string{rig.Binary(t), "serve", "--no-slow"}, args...), "{app}", "{docs}")}
}

// TestOursHolds puts every deterministic case to the server of this repository, in both eras.
func TestOursHolds(t *testing.T) {
	r := judge(t, ours(t), probe.Options{})
	for _, o := range r.Cases {
		switch {
		case o.Verdict == probe.Fell, o.Verdict == probe.Failed:
			t.Errorf("%s %s %s: %s: %s", o.ID, o.Era, o.Verdict, o.Got, strings.Join(o.Evidence, "; "))
		case o.Verdict == probe.Skipped:
			t.Logf("%s %s skipped: %s", o.ID, o.Era, o.Got)
		}
	}
	t.Logf("%+v in %d ms", r.Summary, r.ElapsedMS)
}

func pid() string { return strconv.Itoa(os.Getpid()) }
