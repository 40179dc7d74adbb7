//go:build linux

package probe_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rootbound/rootbound/probe"
)

var update = flag.Bool("update", false, "write the committed verdicts anew")

// broken builds the tiny servers once.
var broken = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "probe-broken-")
	if err != nil {
		return "", err
	}
	return compile(dir, "./testdata/broken")
})

// compile builds a program into a directory.
func compile(dir, pkg string) (string, error) {
	bin := filepath.Join(dir, filepath.Base(pkg))
	out, err := exec.Command("go", "build", "-o", bin, pkg).CombinedOutput()
	if err != nil {
		err = &buildError{err, string(out)}
	}
	return bin, err
}

type buildError struct {
	error
	out string
}

func (b *buildError) Error() string { return b.error.Error() + ": " + b.out }

func tiny(t *testing.T, mode string) probe.Server {
	t.Helper()
	bin, err := broken()
	if err != nil {
		t.Fatal(err)
	}
	return probe.Server{Command: []string{bin, mode, "{app}", "{docs}"}}
}

// controls must hold with every fault: a fault that shows everywhere would say nothing of the case that shows it.
var controls = []string{"S02", "S01", "S04", "S05", "S13", "I03", "T02", "N16"}

// control is the first, which reads what may be read, and one of the others, each in its turn.
func control(n int) []string {
	return []string{controls[0], controls[1+n%(len(controls)-1)]}
}

var deterministic = []string{"sixteen", "lifecycle", "static", "names", "resource", "integrity", "disclosure", "moved-out"}

const fallenFile = "testdata/broken.json"

// TestBrokenServersFall puts the cases to servers with one fault each and compares what falls with the committed sets.
// Without RB_LONG each is asked the cases that it is known to fail, and two controls; with it, all of them.
func TestBrokenServersFall(t *testing.T) {
	raw, err := os.ReadFile(fallenFile)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]string
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) < 12 {
		t.Fatalf("%d broken servers", len(want))
	}
	long := os.Getenv("RB_LONG") != ""
	var mu sync.Mutex
	got := map[string][]string{}
	t.Run("modes", func(t *testing.T) {
		for n, mode := range slices.Sorted(maps.Keys(want)) {
			t.Run(mode, func(t *testing.T) {
				t.Parallel()
				o := probe.Options{Only: slices.Concat(want[mode], control(n))}
				if slices.ContainsFunc(want[mode], func(id string) bool { return strings.HasPrefix(id, "X") }) {
					o.Race = 10 * time.Second // a storm ends soon after its first hit
				}
				if long {
					o.Only = slices.Concat(deterministic, want[mode])
				}
				r := settled(t, tiny(t, mode), o, func(c probe.Outcome) bool {
					return unasked(c) || !*update && (c.Verdict == probe.Fell) != slices.Contains(want[mode], c.ID)
				})
				fell := []string{}
				for _, c := range r.Cases {
					switch c.Verdict {
					case probe.Fell:
						fell = append(fell, c.ID)
						t.Logf("%s: %s %v", c.ID, c.Got, c.Evidence) // shown if the set differs
					case probe.Failed:
						t.Errorf("%s could not be asked: %s", c.ID, c.Got)
					}
				}
				mu.Lock()
				got[mode] = fell
				mu.Unlock()
				if !*update && !slices.Equal(fell, want[mode]) {
					t.Errorf("fell: %v\nwant: %v", fell, want[mode])
				}
				if mode != "sound" && len(fell) == 0 {
					t.Error("a broken server passes")
				}
			})
		}
	})
	if *update {
		out, err := json.MarshalIndent(got, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(fallenFile, append(out, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSoundServerPasses: a server without a fault falls nowhere.
func TestSoundServerPasses(t *testing.T) {
	t.Parallel()
	r := judge(t, tiny(t, "sound"), probe.Options{})
	if r.Summary.Held < 140 || r.Summary.Fell+r.Summary.Error > 0 {
		t.Errorf("%+v", r.Summary)
		for _, c := range r.Cases {
			if c.Verdict == probe.Fell || c.Verdict == probe.Failed {
				t.Errorf("%s %s: %s %v", c.ID, c.Verdict, c.Got, c.Evidence)
			}
		}
	}
}
