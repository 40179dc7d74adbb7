package ignore

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// world is ignore files and entries of one tree: what others and this package are both asked about.
type world struct {
	files   map[string]string // path of an ignore file: its text
	entries []string          // parents first; directories end with "/"
}

// verdict names the rule that decides on an entry: file and line, "" and 0 for none.
type verdict struct {
	source string
	line   int
	out    bool
}

// add puts a path with its parents among the entries.
func (w *world) add(p string) {
	if strings.Contains(p, "//") {
		return
	}
	for i, c := range p {
		if c == '/' && i > 0 {
			w.entries = append(w.entries, p[:i+1])
		}
	}
	if p != "" && !strings.HasSuffix(p, "/") {
		w.entries = append(w.entries, p)
	}
}

// tidy sorts the entries and drops doubles and files that would be a directory as well.
func (w *world) tidy() {
	for f := range w.files {
		d, _ := cutLast(f)
		w.add(d + "/")
	}
	dirs := map[string]bool{}
	for _, e := range w.entries {
		if d, ok := strings.CutSuffix(e, "/"); ok {
			dirs[d] = true
		}
	}
	w.entries = slices.DeleteFunc(w.entries, func(e string) bool {
		if _, taken := w.files[e]; taken || dirs[e] {
			return true
		}
		for _, n := range strings.Split(strings.TrimSuffix(e, "/"), "/") {
			if n == "" || n == "." || n == ".." || n == ".git" || len(n) > 255 || strings.ContainsRune(n, 0) {
				return true
			}
		}
		return false
	})
	slices.SortFunc(w.entries, func(a, b string) int {
		return slices.Compare(strings.Split(strings.TrimSuffix(a, "/"), "/"), strings.Split(strings.TrimSuffix(b, "/"), "/"))
	})
	w.entries = slices.Compact(w.entries)
}

// judge asks for every entry as a walk does: what lies below a directory that is left out shares its verdict.
func (w *world) judge() map[string]verdict {
	list := func(at string) *List {
		if s, ok := w.files[at]; ok {
			return Parse([]byte(s))
		}
		return nil
	}
	stacks := map[string]*Stack{"": (*Stack)(nil).Push("", list(Git), list(Own))}
	gone := map[string]verdict{}
	out := map[string]verdict{}
	for _, e := range w.entries {
		rel, dir := strings.CutSuffix(e, "/")
		in, name := cutLast(rel)
		v, below := gone[in]
		if !below {
			if f, file, r := stacks[in].decide(nil, in, name, dir); r != nil {
				v = verdict{path.Join(f.dir, file), int(r.line), !r.negate}
			}
			if got := stacks[in].Match(rel, dir); got != v.out {
				panic(fmt.Sprintf("Match(%q) = %v, the rule says %v", rel, got, v.out))
			}
		}
		out[rel] = v
		if dir {
			if v.out {
				gone[rel] = v
			}
			stacks[rel] = stacks[in].Push(rel, list(rel+"/"+Git), list(rel+"/"+Own))
		}
	}
	return out
}

// build makes the tree below dir.
func (w *world) build(t testing.TB, dir string) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(dir, 0o755))
	for _, e := range w.entries {
		if d, ok := strings.CutSuffix(e, "/"); ok {
			must(os.MkdirAll(filepath.Join(dir, d), 0o755))
		} else {
			must(os.WriteFile(filepath.Join(dir, e), nil, 0o644))
		}
	}
	for f, text := range w.files {
		must(os.WriteFile(filepath.Join(dir, f), []byte(text), 0o644))
	}
}

// command is a program that no configuration of this machine reaches.
func command(dir, name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+dir, "XDG_CONFIG_HOME="+dir, "LC_ALL=C",
		"GIT_DIR=", "GIT_WORK_TREE=", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	c.Env = slices.DeleteFunc(c.Env, func(s string) bool { return s == "GIT_DIR=" || s == "GIT_WORK_TREE=" })
	return c
}

// scratch is a directory of the test, in memory where there is such a place: thousands of small files are made.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "rootbound-ignore-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// repository is an empty one, without templates and excludes.
func repository(t testing.TB) string {
	t.Helper()
	dir := scratch(t)
	if out, err := command(dir, "git", "init", "-q", "--template=", ".").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	return dir
}

// askGit gives the verdict of git on each entry of the worlds that were built at the paths of the repository at top.
func askGit(t testing.TB, top string, worlds map[string]*world) map[string]verdict {
	t.Helper()
	var in strings.Builder
	for at, w := range worlds {
		for _, e := range w.entries {
			in.WriteString(path.Join(at, e) + "\x00")
		}
	}
	c := command(top, "git", "-c", "core.excludesFile=/dev/null", "-c", "core.ignoreCase=false", "-c", "core.precomposeUnicode=false",
		"check-ignore", "--no-index", "--stdin", "-z", "-v", "-n")
	c.Stdin = strings.NewReader(in.String())
	var failed strings.Builder
	c.Stderr = &failed
	out, err := c.Output()
	if e, ok := err.(*exec.ExitError); err != nil && (!ok || e.ExitCode() != 1) { // 1: nothing is left out
		t.Fatalf("git check-ignore: %v: %s", err, failed.String())
	}
	fields := strings.Split(string(out), "\x00")
	got := map[string]verdict{}
	for ; len(fields) >= 4; fields = fields[4:] {
		line, _ := strconv.Atoi(fields[1])
		got[fields[3]] = verdict{fields[0], line, fields[1] != "" && !strings.HasPrefix(fields[2], "!")}
	}
	return got
}

// compare puts the worlds to git and to this package, each below a directory of its own in one repository, and gives how many verdicts
// leave out, take back and say nothing.
func compare(t *testing.T, worlds []*world) (out, back, silent int) {
	t.Helper()
	top := repository(t)
	at := map[string]*world{}
	for i, w := range worlds {
		w.tidy()
		dir := fmt.Sprintf("w%d", i)
		at[dir] = w
		w.build(t, filepath.Join(top, dir))
	}
	git := askGit(t, top, at)
	bad := 0
	for dir, w := range at {
		for rel, ours := range w.judge() {
			theirs, ok := git[path.Join(dir, rel)]
			if !ok {
				t.Fatalf("git says nothing of %q", path.Join(dir, rel))
			}
			if ours.source != "" {
				ours.source = path.Join(dir, ours.source)
			}
			switch {
			case theirs.out:
				out++
			case theirs.line > 0:
				back++
			default:
				silent++
			}
			if ours != theirs {
				if bad++; bad <= 10 {
					t.Errorf("%q: git %+v, here %+v; files %q", path.Join(dir, rel), theirs, ours, w.files)
				}
			}
		}
	}
	if bad > 10 {
		t.Errorf("%d verdicts differ", bad)
	}
	return out, back, silent
}
