//go:build linux

package probe_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/rootbound/rootbound/internal/rig"
)

// TestActionRuns does what a runner does with the action's steps: it builds the program from the action's own revision, and
// leaves reports whose verdict is the exit code. RB_LONG also builds.
func TestActionRuns(t *testing.T) {
	raw, err := os.ReadFile("action/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Runs struct {
			Steps []struct {
				Run string            `yaml:"run"`
				Env map[string]string `yaml:"env"`
			} `yaml:"steps"`
		} `yaml:"runs"`
	}
	if err := yaml.Unmarshal(raw, &action); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("action")
	if err != nil {
		t.Fatal(err)
	}
	bin, err := broken()
	if err != nil {
		t.Fatal(err)
	}
	work, temp := t.TempDir(), t.TempDir()
	step := func(n int, inputs ...string) (string, int) {
		s := action.Runs.Steps[n]
		c := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
		c.Dir = work
		c.Env = append(os.Environ(), "RUNNER_TEMP="+temp, "GITHUB_STEP_SUMMARY="+work+"/summary.md")
		fill := strings.NewReplacer(inputs...)
		for k, v := range s.Env {
			if v = fill.Replace(v); strings.Contains(v, "${{") {
				t.Fatalf("%s is not filled: %s", k, v)
			}
			c.Env = append(c.Env, k+"="+v)
		}
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), c.ProcessState.ExitCode()
	}
	if os.Getenv("RB_LONG") != "" {
		if out, code := step(1, "${{ inputs.version }}", "", "${{ github.action_path }}", here); code != 0 {
			t.Fatal(out)
		}
	} else { // building takes a minute; what it builds is the program that the tests have
		if err := os.Mkdir(temp+"/rootbound-probe", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(rig.Binary(t), temp+"/rootbound-probe/rootbound"); err != nil {
			t.Fatal(err)
		}
	}
	for mode, want := range map[string]int{"sound": 0, "lexical-check": 1, "exits-at-once": 2} {
		dir := "of " + mode
		out, code := step(2, "${{ inputs.command }}", bin+" "+mode+" {app} {docs}", "${{ inputs.race }}", "0s", "${{ inputs.arguments }}", "--only S02,S1*,T01",
			"${{ inputs.report }}", dir)
		if code != want {
			t.Errorf("%s: exit code %d, want %d\n%s", mode, code, want, out)
		}
		for _, format := range []string{"json", "html", "junit", "sarif", "markdown"} {
			if info, err := os.Stat(filepath.Join(work, dir, "probe."+format)); (err == nil && info.Size() > 0) != (want != 2) {
				t.Errorf("%s: the report in %s: %v", mode, format, err)
			}
		}
	}
	if summary, err := os.ReadFile(work + "/summary.md"); err != nil || strings.Count(string(summary), "| S10 |") != 2 {
		t.Errorf("%v %s", err, summary)
	}
}
