package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/search/ignore"
)

// holder is a tree and the path in it that is walked, with what lies above it.
type holder struct {
	t   *testing.T
	top string
	rel string
}

func (h holder) Above(visit func(string, func(string) (*beneath.Object, error)) error) (string, error) {
	if h.rel == "" {
		return "", nil
	}
	dirs := []string{""}
	for i, c := range h.rel {
		if c == '/' {
			dirs = append(dirs, h.rel[:i])
		}
	}
	for _, d := range dirs {
		err := visit(d, func(name string) (*beneath.Object, error) {
			root, err := beneath.OpenRoot(h.top)
			if err != nil {
				return nil, err
			}
			h.t.Cleanup(root.Release)
			return beneath.NewSet([]beneath.Member{{Root: root}}, nil).Open(beneath.Ref{Path: join(d, name)}, beneath.File)
		})
		if err != nil {
			return h.rel, err
		}
	}
	return h.rel, nil
}

// kept are the files of a walk below rel that the ignore files leave.
func kept(t *testing.T, top, rel string) ([]string, Unread) {
	t.Helper()
	x, err := NewIgnores(context.Background(), holder{t, top, rel})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	err = open(t, top, rel).Tour(context.Background(), x.Course(beneath.Course{Visit: func(n *beneath.Node) (beneath.Step, error) {
		if !n.Type().IsDir() {
			out = append(out, join(rel, n.Rel()))
		}
		return beneath.Into, nil
	}}))
	if err != nil {
		t.Fatal(err)
	}
	if len(x.levels) != 0 {
		t.Errorf("%d directories were entered and not left", len(x.levels))
	}
	slices.Sort(out)
	return out, x.Unread()
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{"-c", "core.excludesFile=/dev/null", "-c", "core.ignoreCase=false"}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+dir)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

// TestIgnoresLeaveWhatGitLists walks random trees, and directories inside them, with the files that git would list there.
func TestIgnoresLeaveWhatGitLists(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 3))
	patterns := []string{"*.x", "a", "/a", "b/", "/d/b/", "d/*/a.x", "**/b", "d/**/a", "*", "[ab].y", "!a", "!*.x", "!b/", "!/d", "c?"}
	listed, below, out := 0, 0, 0
	for range 10 {
		top := t.TempDir()
		git(t, top, "init", "-q", "--template=", ".")
		dirs := []string{"", "a/", "b/", "d/", "d/b/", "d/a/", "d/b/d/", "c1/"}
		for _, d := range dirs {
			for _, f := range []string{"a.x", "b.x", "a.y", "c2", "f"} {
				put(t, filepath.Join(top, d+f))
			}
			if d != "" && r.IntN(2) == 0 {
				continue
			}
			var lines []string
			for range 1 + r.IntN(3) {
				lines = append(lines, patterns[r.IntN(len(patterns))])
			}
			if err := os.WriteFile(filepath.Join(top, d+ignore.Git), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out += len(dirs) * 5
		all := strings.Split(strings.TrimSuffix(git(t, top, "ls-files", "-z", "--others", "--exclude-standard"), "\x00"), "\x00")
		slices.Sort(all)
		if all[0] == "" {
			all = nil
		}
		if got, _ := kept(t, top, ""); !slices.Equal(got, all) {
			t.Errorf("%q, git lists %q", got, all)
		}
		listed += len(all)
		for _, d := range dirs[1:] {
			var want []string
			for _, f := range all {
				if strings.HasPrefix(f, d) {
					want = append(want, f)
				}
			}
			if want == nil { // left out as a whole: who asks for it gets what the rules leave of it
				continue
			}
			below++
			if got, _ := kept(t, top, strings.TrimSuffix(d, "/")); !slices.Equal(got, want) {
				t.Errorf("%s: %q, git lists %q", d, got, want)
			}
		}
	}
	if listed < 50 || out-listed < 100 || below < 15 {
		t.Errorf("%d files listed, %d not, %d directories below: too few to tell anything", listed, out-listed, below)
	}
}

func TestIgnores(t *testing.T) {
	top := t.TempDir()
	write := func(rel, text string) {
		t.Helper()
		put(t, filepath.Join(top, rel))
		if err := os.WriteFile(filepath.Join(top, rel), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(t, top+"/.git/config", top+"/sub/.git", top+"/sub/x.log", top+"/sub/f", top+"/out/f", top+"/out/x.log", top+"/large/f", top+"/long/f", top+"/linked/f", top+"/dir/f")
	write(".gitignore", "*.log\nout/\n")
	write("sub/.ignore", "!x.log\n")
	write("large/.gitignore", "f\n"+strings.Repeat("#", ignore.MaxFile))
	write("long/.ignore", strings.Repeat("f\n", ignore.MaxRules+1))
	write("rules", "f\n")
	if err := os.Symlink("../rules", top+"/linked/.gitignore"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(top+"/dir/.gitignore", 0o755); err != nil {
		t.Fatal(err)
	}
	got, unread := kept(t, top, "")
	want := []string{".gitignore", "dir/f", "large/.gitignore", "large/f", "linked/.gitignore", "linked/f", "long/.ignore", "long/f", "rules", "sub/.ignore", "sub/f", "sub/x.log"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if unread.Count != 2 || fmt.Sprint(unread.Paths) != "[large/.gitignore long/.ignore]" {
		t.Errorf("not honoured: %+v", unread)
	}
	// asked for by name, it is walked; its files are judged one by one
	if got, _ := kept(t, top, "out"); !slices.Equal(got, []string{"out/f"}) {
		t.Errorf("%q", got)
	}
}
