package ignore

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestEqualsGitOnLists puts every list of testdata to git, with paths made from its own patterns.
func TestEqualsGitOnLists(t *testing.T) {
	files, err := filepath.Glob("testdata/*.ignore")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d lists: %v", len(files), err)
	}
	var worlds []*world
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		worlds = append(worlds, around(string(text)), nested(string(text)))
	}
	out, back, silent := compare(t, worlds)
	if out < 500 || back < 20 || silent < 500 {
		t.Errorf("%d left out, %d taken back, %d without a rule: too few to tell anything", out, back, silent)
	}
}

// TestEqualsGitOnThisMachine does the same with the files that the toolchain and the dependencies brought along.
func TestEqualsGitOnThisMachine(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	roots := []string{strings.TrimSpace(string(cache)), filepath.Join(runtime.GOROOT(), "src", "cmd"), "../.."}
	roots = append(roots, filepath.SplitList(os.Getenv("RB_IGNORE_ROOTS"))...)
	var worlds []*world
	seen := map[string]bool{}
	for _, root := range roots {
		filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.Name() != Git || !d.Type().IsRegular() {
				return nil
			}
			text, err := os.ReadFile(p)
			if err == nil && len(text) <= MaxFile && !seen[string(text)] {
				seen[string(text)] = true
				worlds = append(worlds, around(string(text)))
			}
			return nil
		})
	}
	if len(worlds) == 0 { // this repository has one
		t.Fatal("no ignore file was found")
	}
	out, back, silent := compare(t, worlds)
	t.Logf("%d files: %d left out, %d taken back, %d without a rule", len(worlds), out, back, silent)
}

// around is a world with one file at the top and entries made from its patterns: as they stand, with the wildcards filled in
// and emptied, deeper, as a directory with something in it, and with a name that is a little different.
func around(text string) *world {
	w := &world{files: map[string]string{Git: text}}
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(strings.TrimPrefix(strings.TrimSpace(line), "!"), "/")
		if line == "" || len(line) > 200 {
			continue
		}
		for _, fill := range []*strings.Replacer{
			strings.NewReplacer("**", "x/y", "*", "any", "?", "q", "[", "", "]", "", `\`, ""),
			strings.NewReplacer("/**", "", "**/", "", "*", "", "?", "", `\`, ""),
			strings.NewReplacer("**", "deep", "*", ".a.b", "[", "", "]", "", "!", "", `\`, ""),
		} {
			p := strings.Trim(fill.Replace(line), "/")
			if p == "" {
				continue
			}
			w.add(p)
			w.add("sub/" + p)
			w.add("sub/dir/" + p + "/within")
			w.add("other/" + p + "x")
			w.add("x" + p)
			if _, last := cutLast(p); last != "" {
				w.add("flat/" + last)
			}
		}
	}
	return w
}

// nested is around with the same file in a directory below as well, and one that takes things back.
func nested(text string) *world {
	w := around(text)
	w.files["sub/"+Git] = text
	w.files["other/"+Git] = "!*\n/dist\n"
	return w
}

// pieces of patterns and names for random worlds: few, so that they meet.
var (
	patternPieces = []string{"a", "b", "ab", "a", "b", "/", "/", "/", "*", "*", "**", "**/", "/**", "/**/", "?", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[[:alpha:]]",
		"[[:x", "[a", "\\", "\\a", "\\*", "\\/", "\\ ", " ", "!", "#", ".", "-", "***", "[a/b]", "[--a]", "[a\\]b]", "[[:digit:]-a]", "\t", "c", "[a-", "[[:foo:]]", "[!]a]", "]", "{a,b}"}
	namePieces = []string{"a", "b", "ab", "ba", "aa", "c", "abc", "*", " ", "]", "[a", "-", "\\", "a.b", "!", "#", "a ", "a\t", "é", "1", "bb", "x", "{a,b}", "a\\"}
)

func random(r *rand.Rand) *world {
	w := &world{files: map[string]string{}}
	name := func() string {
		n := namePieces[r.IntN(len(namePieces))]
		if r.IntN(3) == 0 {
			n += namePieces[r.IntN(len(namePieces))]
		}
		return n
	}
	dirs := []string{""}
	for range 4 + r.IntN(6) {
		d := dirs[r.IntN(len(dirs))]
		p := name()
		if d != "" {
			p = d + "/" + p
		}
		if strings.Count(p, "/") < 4 && r.IntN(2) == 0 {
			dirs = append(dirs, p)
			w.add(p + "/")
		} else {
			w.add(p)
		}
	}
	for range 12 {
		if d := dirs[r.IntN(len(dirs))]; d != "" {
			w.add(d + "/" + name())
		} else {
			w.add(name())
		}
	}
	for i := range 1 + r.IntN(3) {
		at := Git
		if i > 0 {
			if d := dirs[r.IntN(len(dirs))]; d != "" {
				at = d + "/" + Git
			}
		}
		var b strings.Builder
		for range 1 + r.IntN(5) {
			if r.IntN(4) == 0 {
				b.WriteByte('!')
			}
			for range 1 + r.IntN(5) {
				b.WriteString(patternPieces[r.IntN(len(patternPieces))])
			}
			if r.IntN(5) == 0 {
				b.WriteByte('/')
			}
			b.WriteString([]string{"\n", "\n", "\n", "\r\n", "  \n", "\n\n"}[r.IntN(6)])
		}
		text := b.String()
		switch r.IntN(8) {
		case 0:
			text = strings.TrimRight(text, "\r\n")
		case 1:
			text = "\xef\xbb\xbf" + text
		case 2:
			text += "a\x00b\n"
		}
		w.files[at] = text
	}
	return w
}

// TestEqualsGitOnRandom is seeded, so what it tries is the same every time. RB_LONG=1 tries fifty times as much.
func TestEqualsGitOnRandom(t *testing.T) {
	rounds := 1
	if os.Getenv("RB_LONG") != "" {
		rounds = 100
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 7))
			var worlds []*world
			for range 300 {
				worlds = append(worlds, random(r))
			}
			out, back, silent := compare(t, worlds)
			if out < 300 || back < 50 || silent < 500 {
				t.Errorf("%d left out, %d taken back, %d without a rule: too few to tell anything", out, back, silent)
			}
		})
	}
}
