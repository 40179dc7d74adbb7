package diff

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// sample is one diff and the files it is made for.
type sample struct {
	name  string
	diff  string
	files map[string][]byte // before
}

// wanted is how many ordinary diffs are compared with git at least.
const wanted = 200

// TestAppliesAsGitDoes takes diffs of a real repository's history, or where there is none (a copy, a shallow clone) of
// real edits to Go's own sources, and compares what comes out with git apply: on the files they were made for, on files
// whose lines have moved, and on files that have changed so that some diffs do not fit.
func TestAppliesAsGitDoes(t *testing.T) {
	g := newGit(t)
	samples := g.history(wanted - 40)
	n := len(samples)
	samples = append(samples, g.edits(max(wanted-n, 40))...)
	if len(samples) < wanted {
		t.Fatalf("only %d diffs", len(samples))
	}
	rnd := rand.New(rand.NewPCG(7, 11))
	applied, moved, refused, movedRefused := 0, 0, 0, 0
	for i, s := range samples {
		if g.compare(s) {
			applied++
		} else {
			t.Errorf("%s: refused on the files it was made for", s.name)
		}
		every := 6 // each costs a run of git
		if os.Getenv("RB_LONG") != "" {
			every = 2
		}
		switch i % every {
		case 0:
			if s.files = shift(s.files, rnd); g.compare(s) {
				moved++
			} else {
				movedRefused++
			}
		case 1:
			if s.files = disturb(s.files, rnd); !g.compare(s) {
				refused++
			}
		}
	}
	t.Logf("%d diffs of history, %d of edits; %d applied, %d moved, %d moved and refused, %d disturbed and refused", n, len(samples)-n, applied, moved, movedRefused, refused)
	if moved < 10 || refused < 10 {
		t.Errorf("%d moved, %d refused: the comparison says little", moved, refused)
	}
}

type git struct {
	t   *testing.T
	dir string // a directory that is no repository
	n   int
}

func newGit(t *testing.T) *git {
	t.Helper()
	return &git{t: t, dir: t.TempDir()}
}

// run runs git without the machine's and the user's settings.
func (g *git) run(dir string, in []byte, args ...string) ([]byte, error) {
	c := exec.Command("git", append([]string{"-c", "core.autocrlf=false", "-c", "core.quotepath=true", "-c", "core.fileMode=true", "-c", "core.abbrev=12"}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C", "GIT_CEILING_DIRECTORIES="+filepath.Dir(g.dir))
	if in != nil {
		c.Stdin = bytes.NewReader(in)
	}
	return c.Output()
}

// compare applies a sample both ways and reports whether it fits. Where the two differ the test fails.
func (g *git) compare(s sample) bool {
	g.t.Helper()
	g.n++
	dir := filepath.Join(g.dir, fmt.Sprint(g.n))
	if err := os.Mkdir(dir, 0o755); err != nil {
		g.t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, b := range s.files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			g.t.Fatal(err)
		}
		if err := os.WriteFile(at, b, 0o644); err != nil {
			g.t.Fatal(err)
		}
	}
	_, gerr := g.run(dir, []byte(s.diff), "apply", "-")
	ours, err := inMemory(s)
	if (err == nil) != (gerr == nil) {
		g.t.Errorf("%s: git says %v, we say %v", s.name, gerr, err)
		return false
	}
	if err != nil {
		return false
	}
	theirs := map[string][]byte{}
	err = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		theirs[filepath.ToSlash(rel)], err = os.ReadFile(p)
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
	for name := range theirs {
		if _, ok := ours[name]; !ok {
			g.t.Errorf("%s: git has %s, we have not", s.name, name)
		}
	}
	for name, b := range ours {
		if c, ok := theirs[name]; !ok || !bytes.Equal(b, c) {
			g.t.Errorf("%s: %s differs from what git made of it (there %v)", s.name, name, ok)
		}
	}
	return true
}

// inMemory applies a sample with this package.
func inMemory(s sample) (map[string][]byte, error) {
	changes, err := Parse(s.diff)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for name, b := range s.files {
		out[name] = b
	}
	type put struct {
		name string
		b    []byte
	}
	var puts []put
	for i := range changes {
		c := &changes[i]
		before, ok := s.files[c.Old]
		if c.Old != "" && !ok && !c.MayBeNew {
			return nil, fmt.Errorf("%s is missing", c.Old)
		}
		if _, there := s.files[c.New]; there && c.New != c.Old {
			return nil, fmt.Errorf("%s is there", c.New)
		}
		after, err := c.Apply(before, 0)
		if err != nil {
			return nil, err
		}
		if c.Old != "" && c.Old != c.New && !c.Copy {
			delete(out, c.Old)
		}
		if c.New != "" {
			puts = append(puts, put{c.New, after})
		}
	}
	for _, p := range puts {
		out[p.name] = p.b
	}
	return out, nil
}

// history takes diffs of this repository's own commits; none of a clone without them.
func (g *git) history(most int) []sample {
	here, err := os.Getwd()
	if err != nil {
		g.t.Fatal(err)
	}
	shallow, err := g.run(here, nil, "rev-parse", "--is-shallow-repository")
	if err != nil || strings.TrimSpace(string(shallow)) != "false" {
		return nil
	}
	log, err := g.run(here, nil, "log", "--no-merges", "-p", "-M", "--full-index", "--format=%x00%H %P", "-n", fmt.Sprint(most*3/2))
	if err != nil {
		return nil
	}
	var out []sample
	var ask bytes.Buffer
	names := map[int][]string{}
	for entry := range bytes.SplitSeq(log, []byte{0}) {
		head, diff, _ := bytes.Cut(entry, []byte("\n"))
		f := strings.Fields(string(head))
		if len(f) != 2 || len(out) == most || len(diff) > 1<<20 || bytes.Contains(diff, []byte("\nBinary files ")) || len(bytes.TrimSpace(diff)) == 0 {
			continue
		}
		s := sample{name: f[0][:12], diff: string(diff), files: map[string][]byte{}}
		changes, err := Parse(s.diff)
		if err != nil {
			g.t.Errorf("%s: %v", s.name, err)
			continue
		}
		if len(changes) > 60 {
			continue
		}
		for _, c := range changes {
			if c.Old != "" {
				names[len(out)] = append(names[len(out)], c.Old)
				fmt.Fprintf(&ask, "%s:%s\n", f[1], c.Old)
			}
		}
		out = append(out, s)
	}
	blobs, err := g.run(here, ask.Bytes(), "cat-file", "--batch")
	if err != nil {
		g.t.Fatal(err)
	}
	for i := range out {
		for _, name := range names[i] {
			head, rest, _ := bytes.Cut(blobs, []byte("\n"))
			var id, kind string
			var size int
			if _, err := fmt.Sscan(string(head), &id, &kind, &size); err != nil {
				g.t.Fatalf("%s: %s: %q", out[i].name, name, head)
			}
			out[i].files[name], blobs = bytes.Clone(rest[:size]), rest[size+1:]
		}
	}
	return out
}

// edits makes diffs of edits to sources of the Go distribution.
func (g *git) edits(n int) []sample {
	sources, err := filepath.Glob(filepath.Join(runtime.GOROOT(), "src", "strings", "*.go"))
	more, err2 := filepath.Glob(filepath.Join(runtime.GOROOT(), "src", "net", "http", "*.go"))
	if sources = append(sources, more...); err != nil || err2 != nil || len(sources) < 20 {
		g.t.Fatal("the sources of Go are not there", err, err2)
	}
	rnd := rand.New(rand.NewPCG(3, 5))
	for _, side := range []string{"old", "new"} {
		if err := os.Mkdir(filepath.Join(g.dir, side), 0o755); err != nil {
			g.t.Fatal(err)
		}
	}
	var out []sample
	for i := 0; len(out) < n; i++ {
		before, err := os.ReadFile(sources[i%len(sources)])
		if err != nil {
			g.t.Fatal(err)
		}
		name := filepath.Base(sources[i%len(sources)])
		after := edited(before, rnd)
		for side, b := range map[string][]byte{"old": before, "new": after} {
			if err := os.WriteFile(filepath.Join(g.dir, side, name), b, 0o644); err != nil {
				g.t.Fatal(err)
			}
		}
		diff, _ := g.run(g.dir, nil, "diff", "--no-index", "--no-prefix", fmt.Sprintf("-U%d", 1+i%4), "old/"+name, "new/"+name) // its status tells that they differ
		if len(diff) == 0 {
			continue
		}
		lines := strings.SplitAfterN(string(diff), "\n", 5)
		lines[0] = "diff --git a/" + name + " b/" + name + "\n"
		lines[2], lines[3] = "--- a/"+name+"\n", "+++ b/"+name+"\n"
		if i%2 == 1 { // as a plain diff writes it
			lines = lines[2:]
		}
		out = append(out, sample{name: fmt.Sprintf("edit %d of %s", i, name), diff: strings.Join(lines, ""), files: map[string][]byte{name: before}})
	}
	return out
}

// edited changes, drops, doubles and adds a few lines, and sometimes takes the last line end away.
func edited(b []byte, rnd *rand.Rand) []byte {
	l := strings.SplitAfter(string(b), "\n")
	for range 1 + rnd.IntN(6) {
		i := rnd.IntN(len(l))
		switch rnd.IntN(4) {
		case 0:
			l[i] = "// changed\n" + l[i]
		case 1:
			l[i] = ""
		case 2:
			l[i] += l[i]
		default:
			l[i] = strings.ToUpper(l[i])
		}
	}
	out := strings.Join(l, "")
	if rnd.IntN(5) == 0 {
		out = strings.TrimSuffix(out, "\n")
	}
	return []byte(out)
}

// shift puts lines before and takes lines from the start of files.
func shift(files map[string][]byte, rnd *rand.Rand) map[string][]byte {
	out := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(files)) { // in order, so that the draws are the same in every run
		b := files[name]
		switch rnd.IntN(3) {
		case 0:
			out[name] = append([]byte(strings.Repeat("moved\n", 1+rnd.IntN(30))), b...)
		case 1:
			l := bytes.SplitAfter(b, []byte("\n"))
			out[name] = bytes.Join(l[min(rnd.IntN(4), len(l)-1):], nil)
		default: // doubled: the nearest of two places counts
			if !bytes.HasSuffix(b, []byte("\n")) {
				out[name] = b
				continue
			}
			out[name] = append(bytes.Clone(b), b...)
		}
	}
	return out
}

// disturb changes about one line in forty.
func disturb(files map[string][]byte, rnd *rand.Rand) map[string][]byte {
	out := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		l := bytes.SplitAfter(files[name], []byte("\n"))
		for i := range l {
			if rnd.IntN(40) == 0 {
				l[i] = append([]byte("x"), l[i]...)
			}
		}
		out[name] = bytes.Join(l, nil)
	}
	return out
}
