package ignore

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEqualsRipgrepWithIgnore shows that .ignore goes before .gitignore as it does in ripgrep, by the files that are left of
// random trees. The patterns are those that ripgrep reads as git does.
func TestEqualsRipgrepWithIgnore(t *testing.T) {
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("environment: ripgrep is not installed")
	}
	r := rand.New(rand.NewPCG(3, 5))
	patterns := []string{"a", "b", "*.x", "*.y", "a.x", "/a", "/b", "d/", "/d/", "d/a", "d/*.x", "*", "d*", "**/a.x", "d/**", "e", "?", "[ab]"}
	top := repository(t)
	decided, overruled := 0, 0
	for i := range 150 {
		w := &world{files: map[string]string{}}
		for _, d := range []string{"", "d/", "e/", "d/d/", "e/d/"} {
			for _, n := range []string{"a", "b", "a.x", "b.x", "a.y", "c"} {
				w.add(d + n)
			}
			for _, f := range []string{Git, Own} {
				if d != "" && r.IntN(3) > 0 {
					continue
				}
				var b strings.Builder
				for range 1 + r.IntN(3) {
					b.WriteString([]string{"", "!"}[r.IntN(2)] + patterns[r.IntN(len(patterns))] + "\n")
				}
				w.files[d+f] = b.String()
			}
		}
		w.tidy()
		at := fmt.Sprintf("w%d", i)
		w.build(t, filepath.Join(top, at))
		c := command(filepath.Join(top, at), "rg", "--no-config", "--files", "--hidden", "--null", "--sort", "path")
		out, err := c.Output()
		if e, ok := err.(*exec.ExitError); err != nil && (!ok || e.ExitCode() != 1) { // 1: no file
			t.Fatalf("rg: %v", err)
		}
		shown := map[string]bool{}
		for _, f := range strings.Split(string(out), "\x00") {
			shown[strings.TrimPrefix(f, "./")] = true
		}
		alone := &world{files: map[string]string{}, entries: w.entries}
		for f, text := range w.files {
			if filepath.Base(f) == Git {
				alone.files[f] = text
			}
		}
		git := alone.judge()
		for rel, v := range w.judge() {
			if !has(w.entries, rel) {
				continue
			}
			if shown[rel] == v.out {
				t.Fatalf("%s: ripgrep shows it: %v; here %+v; files %q", rel, shown[rel], v, w.files)
			}
			if v.line > 0 {
				decided++
			}
			if git[rel].out != v.out {
				overruled++
			}
		}
	}
	if decided < 500 || overruled < 200 {
		t.Errorf("%d verdicts, %d of them other than those of .gitignore: too few to tell anything", decided, overruled)
	}
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
