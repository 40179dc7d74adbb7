package match_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rootbound/rootbound/search/match"
)

// place is a hit as every program can tell it.
type place struct {
	file   string
	line   int
	column int // of the first match, from 1; 0 where the program does not tell it
	offset int64
}

// trees copies files of three real trees, where the rules of all programs agree: UTF-8 without a NUL, and no line above
// 256 KiB. Each tree gives bytes up to size.
func trees(t *testing.T, size int64) (dir string, names []string) {
	t.Helper()
	goroot, err1 := exec.Command("go", "env", "GOROOT").Output()
	modules, err2 := exec.Command("go", "env", "GOMODCACHE").Output()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, root := range map[string]string{
		"go": filepath.Join(strings.TrimSpace(string(goroot)), "src"), "modules": strings.TrimSpace(string(modules)), "share": "/usr/share",
	} {
		var taken int64
		_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if taken > size {
				return fs.SkipAll
			}
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			h := fnv.New32()
			_, _ = h.Write([]byte(p[len(root):]))
			if !long && h.Sum32()%16 != 0 { // a few of many directories
				return nil
			}
			if info, err := d.Info(); err != nil || info.Size() > 256<<10 {
				return nil
			}
			text, err := os.ReadFile(p)
			if err != nil || !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
				return nil
			}
			taken += int64(len(text))
			file := fmt.Sprintf("%s-%05d", name, len(names))
			names = append(names, file)
			return os.WriteFile(filepath.Join(dir, file), text, 0o600)
		})
		if taken == 0 {
			t.Logf("%s holds no text here", name)
		}
	}
	slices.Sort(names)
	return dir, names
}

func ours(t *testing.T, dir string, names []string, l listed) map[place]bool {
	t.Helper()
	m := compile(t, l.pattern, l.options())
	out := map[place]bool{}
	var b match.Buffer
	for _, name := range names {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		st, err := match.Scan(context.Background(), f, m, match.ScanOptions{}, &b, func(h match.Hit) bool {
			out[place{name, h.Line, h.Spans[0].Start + 1, h.Offset}] = true
			return true
		})
		if err := errors.Join(err, f.Close()); err != nil || st.InParts || st.Binary {
			t.Fatalf("%s: %+v %v", name, st, err)
		}
	}
	return out
}

// theirs runs a program that writes FILE NUL numbers, separated by ":", and the line; fields are how many numbers.
func theirs(t *testing.T, dir string, fields int, program string, args ...string) map[place]bool {
	t.Helper()
	c := exec.Command(program, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	text, err := c.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1 && stderr.Len() == 0) {
		t.Fatalf("%s %q: %v %s", program, args, err, &stderr)
	}
	out := map[place]bool{}
	for line := range strings.Lines(string(text)) {
		name, rest, ok := strings.Cut(line, "\x00")
		parts := strings.SplitN(rest, ":", fields+1)
		if !ok || len(parts) != fields+1 {
			t.Fatalf("%s %q wrote %q", program, args, line)
		}
		p := place{file: strings.TrimPrefix(name, "./")}
		p.line, _ = strconv.Atoi(parts[0])
		p.offset, _ = strconv.ParseInt(parts[fields-1], 10, 64)
		if fields == 3 {
			p.column, _ = strconv.Atoi(parts[1])
		}
		out[p] = true
	}
	return out
}

// perl writes the classes that are Unicode in ripgrep as the ASCII ones they are here.
func perl(pattern string) string {
	inside := false
	return regexp.MustCompile(`\\.|\[|\]`).ReplaceAllStringFunc(pattern, func(s string) string {
		set, negated := "", false
		switch s {
		case "[":
			inside = true
		case "]":
			inside = false
		case `\b`, `\B`:
			return "(?-u:" + s + ")"
		case `\w`:
			set = "0-9A-Za-z_"
		case `\d`:
			set = "0-9"
		case `\s`, `\S`:
			set, negated = `\t\n\f\r\x20`, s == `\S`
		}
		switch {
		case set == "":
			return s
		case inside:
			return set
		case negated:
			return "[^" + set + "]"
		}
		return "[" + set + "]"
	})
}

func compare(t *testing.T, dir string, l listed, program string, want, got map[place]bool) {
	t.Helper()
	shown := 0
	tell := func(what string, a, b map[place]bool) {
		for _, p := range slices.SortedFunc(maps.Keys(a), func(a, b place) int {
			return strings.Compare(fmt.Sprintf("%s %09d", a.file, a.line), fmt.Sprintf("%s %09d", b.file, b.line))
		}) {
			if !b[p] && shown < 3 {
				shown++
				text, _ := os.ReadFile(filepath.Join(dir, p.file))
				line, _, _ := bytes.Cut(text[min(int(p.offset), len(text)):], []byte("\n"))
				t.Errorf("%s: %s %+v %.200q", l, what, p, line)
			}
		}
	}
	tell("only "+program+" has", want, got)
	tell("only we have", got, want)
}

// TestSameHitsAsOthers compares lines, offsets and, with ripgrep, columns over three real trees.
func TestSameHitsAsOthers(t *testing.T) {
	size := int64(250 << 10)
	if long {
		size = 24 << 20
	}
	dir, names := trees(t, size)
	hits := 0
	for _, program := range []string{"rg", "grep"} {
		t.Run(program, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skip(program + " is not on this machine")
			}
			if program == "grep" && exec.Command("grep", "-P", "a", os.DevNull).Run() != nil {
				if out, _ := exec.Command("grep", "-P", "a", os.DevNull).CombinedOutput(); len(out) > 0 {
					t.Skip("grep on this machine has no -P")
				}
			}
			for _, l := range readListed(t) {
				got := ours(t, dir, names, l)
				hits += len(got)
				if program == "rg" {
					args := []string{"--no-config", "--no-ignore", "--hidden", "--color=never", "--no-heading", "-Hnb", "--column", "--null", "-j1"}
					pattern := perl(l.pattern)
					if l.options().Literal {
						pattern = l.pattern
					}
					if l.flags != "-" {
						args = append(args, "-"+l.flags)
					}
					compare(t, dir, l, program, theirs(t, dir, 3, "rg", append(args, "-e", pattern, ".")...), got)
					continue
				}
				lines := map[place]bool{} // grep tells no column
				for p := range got {
					p.column = 0
					lines[p] = true
				}
				args := []string{"-r", "-a", "-Hnb", "-Z", "--color=never"}
				if !l.options().Literal {
					args = append(args, "-P")
				}
				if l.flags != "-" {
					args = append(args, "-"+l.flags)
				}
				compare(t, dir, l, program, theirs(t, dir, 2, "grep", append(args, "-e", l.pattern, ".")...), lines)
			}
			t.Logf("%d hits", hits)
			if hits < 10000 {
				t.Errorf("%d hits in all: the trees hold too little to compare", hits)
			}
		})
	}
}
