package text

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What Unified shows is what git apply takes.
func TestUnifiedIsTakenByGit(t *testing.T) {
	many := strings.Repeat("a line\n", 40)
	for name, c := range map[string]struct{ old, new Side }{
		"changed":  {Side{"d/f.txt", []byte(many + "x\n" + many + "y\n"), false}, Side{"d/f.txt", []byte(many + "X\n" + many + "Y\n"), false}},
		"made":     {Side{}, Side{"new", []byte("a\nb"), true}},
		"empty":    {Side{}, Side{"new", nil, false}},
		"gone":     {Side{"f", []byte("a\n"), false}, Side{}},
		"mode":     {Side{"f", []byte("a\n"), false}, Side{"f", []byte("a\n"), true}},
		"returns":  {Side{"f", []byte("a\r\nb\r\n"), false}, Side{"f", []byte("a\r\nc\n"), false}},
		"no end":   {Side{"f", []byte("a"), false}, Side{"f", []byte("a\n"), false}},
		"odd name": {Side{"a \"b\" é\tc", []byte("a\n"), false}, Side{"a \"b\" é\tc", []byte("b\n"), false}},
		"bidi":     {Side{"a\u202eb", []byte("a\n"), false}, Side{"a\u202eb", []byte("b\n"), false}},
	} {
		dir := t.TempDir()
		if c.old.Name != "" {
			at := filepath.Join(dir, c.old.Name)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, c.old.Text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		diff, cut := Unified(c.old, c.new, 0)
		if cut {
			t.Errorf("%s: cut", name)
		}
		if strings.Contains(diff, "\u202e") {
			t.Errorf("%s: a hidden character came through", name)
		}
		g := exec.Command("git", "apply", "-")
		g.Dir, g.Stdin = dir, strings.NewReader(diff)
		g.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		if out, err := g.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s\n%s", name, err, out, diff)
			continue
		}
		got, err := os.ReadFile(filepath.Join(dir, c.new.Name))
		if c.new.Name == "" {
			if _, err := os.Lstat(filepath.Join(dir, c.old.Name)); err == nil {
				t.Errorf("%s: still there", name)
			}
			continue
		}
		if err != nil || string(got) != string(c.new.Text) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if st, err := os.Stat(filepath.Join(dir, c.new.Name)); err == nil && st.Mode()&0o100 != 0 != c.new.Exec {
			t.Errorf("%s: mode %v", name, st.Mode())
		}
	}
	if diff, _ := Unified(Side{"f", []byte("a"), false}, Side{"f", []byte("a"), false}, 0); diff != "" {
		t.Errorf("equal: %q", diff)
	}
	if _, cut := Unified(Side{"f", []byte(many), false}, Side{"f", []byte(strings.ToUpper(many)), false}, 100); !cut {
		t.Error("not cut")
	}
}
