package mcpfs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// found is one entry of matches.
type found struct {
	Path    string
	Line    int
	Column  int
	Columns []struct{ Start, End int }
	Offset  int
	Text    string
	At      int
	Cut     bool
	Before  []string
	After   []string
}

// searched gives the twin of a search's text.
func searched(t *testing.T, structured map[string]any) (matches []found, counts struct{ Files, Bytes, Binary int }) {
	t.Helper()
	validate(t, "search_content", structured)
	for key, into := range map[string]any{"matches": &matches, "searched": &counts} {
		b, err := json.Marshal(structured[key])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, into); err != nil {
			t.Fatal(err)
		}
	}
	return matches, counts
}

// bothForms runs a test on a server in each form; call completes the arguments.
func bothForms(t *testing.T, o serve.Options, make func(*live), try func(l *live, search func(path string, more args) (string, map[string]any))) {
	for _, form := range []mcpfs.Tools{mcpfs.Classic, mcpfs.Project} {
		t.Run(form.String(), func(t *testing.T) {
			o := o
			o.Tools, o.Projects = form, []rootbound.Project{project(t, "p", rootbound.Full)}
			l := start(t, o, clientOptions{})
			make(l)
			try(l, func(path string, more args) (string, map[string]any) {
				t.Helper()
				a := args{"path": path}
				if form == mcpfs.Project {
					a = in("p", path)
				}
				for k, v := range more {
					a[k] = v
				}
				return l.ok("search_content", a)
			})
		})
	}
}

func TestSearchContentWritesAsGrepDoes(t *testing.T) {
	bothForms(t, serve.Options{}, func(l *live) {
		l.file("a.txt", "one\ntwo needle\nthree\nfour\nfive Needle and needle\nsix\nseven\neight\nneedle")
		l.file("sub/b.go", "needles\n")
		l.file("sub/.hidden/c.md", "x\r\nneedle\r\n")
		l.file("sub/none.txt", "nothing\n")
	}, func(l *live, search func(string, args) (string, map[string]any)) {
		t := l.t
		for _, c := range []struct {
			path string
			more args
			want string
		}{
			{".", args{"pattern": "needle"}, "./a.txt:2:two needle\n./a.txt:5:five Needle and needle\n./a.txt:9:needle\n./sub/.hidden/c.md:2:needle\n./sub/b.go:1:needles"},
			{"sub", args{"pattern": "needle"}, "sub/.hidden/c.md:2:needle\nsub/b.go:1:needles"},
			{"sub/", args{"pattern": "needle", "word": true}, "sub/.hidden/c.md:2:needle"},
			{"a.txt", args{"pattern": "NEEDLE$", "ignore_case": true}, "a.txt:2:two needle\na.txt:5:five Needle and needle\na.txt:9:needle"},
			{"a.txt", args{"pattern": "n..dle", "literal": true}, "No matches found"},
			{".", args{"pattern": "n[e]{2}dle", "include": []string{"*.go", "sub/**/*.md"}, "exclude": []string{".hidden/"}}, "./sub/b.go:1:needles"},
			{"a.txt", args{"pattern": "needle", "context": 1}, "a.txt-1-one\na.txt:2:two needle\na.txt-3-three\na.txt-4-four\na.txt:5:five Needle and needle\na.txt-6-six\n--\na.txt-8-eight\na.txt:9:needle"},
			{".", args{"pattern": "needle.?$", "context": 1, "exclude": []string{"a.txt"}}, "./sub/.hidden/c.md-1-x\n./sub/.hidden/c.md:2:needle\n--\n./sub/b.go:1:needles"},
		} {
			text, s := search(c.path, c.more)
			searched(t, s)
			if d := cmp.Diff(c.want, text); d != "" {
				t.Errorf("%s %v: %s", c.path, c.more, d)
			}
		}

		_, s := search("a.txt", args{"pattern": "(?i)needle", "context": 1})
		matches, counts := searched(t, s)
		want := []found{
			{Path: "a.txt", Line: 2, Column: 5, Columns: []struct{ Start, End int }{{5, 11}}, Offset: 4, Text: "two needle", Before: []string{"one"}, After: []string{"three"}},
			{Path: "a.txt", Line: 5, Column: 6, Columns: []struct{ Start, End int }{{6, 12}, {17, 23}}, Offset: 26, Text: "five Needle and needle", Before: []string{"four"}, After: []string{"six"}},
			{Path: "a.txt", Line: 9, Column: 1, Columns: []struct{ Start, End int }{{1, 7}}, Offset: 65, Text: "needle", Before: []string{"eight"}},
		}
		if d := cmp.Diff(want, matches); d != "" {
			t.Error(d)
		}
		if counts.Files != 1 || counts.Bytes != 71 || counts.Binary != 0 {
			t.Errorf("searched %+v", counts)
		}
	})
}

// What may not be read is not searched, named or counted: by a rule, by a preset, behind a link.
func TestSearchContentCountsNothingDenied(t *testing.T) {
	for _, denied := range []bool{false, true} {
		p := project(t, "p", rootbound.Full)
		p.Deny = []string{"**/secret/**"}
		l := start(t, serve.Options{Projects: []rootbound.Project{p}}, clientOptions{})
		l.file("a.txt", "needle\n")
		if denied {
			l.file(".env", "needle=1\n")
			l.file("x/secret/b.txt", "needle\n")
			l.file("secret/b.bin", "needle\x00")
			l.link("l", "/etc/passwd")
			l.link("d", "/etc")
		} else {
			l.mkdir("x")
		}
		text, s := l.ok("search_content", args{"path": ".", "pattern": ""})
		_, counts := searched(t, s)
		if text != "./a.txt:1:needle" || counts.Files != 1 || counts.Bytes != 7 || counts.Binary != 0 || s["note"] != nil || s["skipped"] != nil {
			t.Errorf("denied files there: %v: %q %+v note %v", denied, text, counts, s["note"])
		}
	}
}

func TestSearchContentNeedsBothRights(t *testing.T) {
	for _, r := range []rootbound.Rights{rootbound.Search | rootbound.List, rootbound.Read | rootbound.List} {
		l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", r)}}, clientOptions{})
		l.file("a.txt", "needle\n")
		for _, path := range []string{".", "a.txt"} {
			if text, e := l.no("search_content", args{"path": path, "pattern": "needle"}); e["reason"] != "right_missing" || e["operation"] != "search_content" {
				t.Errorf("%s, %s: %s", r, path, text)
			}
		}
	}
}

// Pages do not overlap, leave nothing out, and each but the last says how to go on; also over one file.
func TestSearchContentGoesOn(t *testing.T) {
	bothForms(t, serve.Options{Limits: mcpfs.Limits{Hits: 10}}, func(l *live) {
		for i := range 7 {
			l.file(fmt.Sprintf("f%d", i), strings.Repeat(fmt.Sprintf("needle %d\n", i), 9))
		}
		l.file("one/long", strings.Repeat("needle\nx\n", 23))
	}, func(l *live, search func(string, args) (string, map[string]any)) {
		t := l.t
		for path, total := range map[string]int{".": 7*9 + 23, "one/long": 23} {
			for _, page := range []int{0, 1, 4, 10, 1000} {
				more := args{"pattern": "needle"}
				if page > 0 {
					more["max_results"] = page
				}
				size := 10
				if page > 0 {
					size = min(10, page)
				}
				seen := map[string]bool{}
				for n := 0; ; n++ {
					text, s := search(path, more)
					matches, _ := searched(t, s)
					if len(matches) > size || len(matches) == 0 {
						t.Fatalf("%s, pages of %d: %d matches", path, page, len(matches))
					}
					for _, m := range matches {
						key := fmt.Sprint(m.Path, ":", m.Line)
						if seen[key] {
							t.Fatalf("%s, pages of %d: %s comes twice", path, page, key)
						}
						seen[key] = true
					}
					next, _ := s["next"].(map[string]any)
					if s["truncated"] != true {
						if next != nil || strings.Contains(text, "[cut") {
							t.Errorf("a whole answer says that it is cut: %q", text)
						}
						break
					}
					if last := text[strings.LastIndexByte(text, '\n')+1:]; !strings.HasPrefix(last, "[cut after ") || !strings.Contains(last, fmt.Sprint(next["cursor"])) {
						t.Fatalf("the last line does not say how to go on: %q", last)
					}
					if n > total {
						t.Fatal("it never ends")
					}
					more["cursor"] = next["cursor"]
				}
				if len(seen) != total {
					t.Errorf("%s, pages of %d: %d matches, want %d", path, page, len(seen), total)
				}
			}
		}
	})
}

func TestSearchContentOfOddFiles(t *testing.T) {
	l := one(t)
	wide := func(s string) string {
		var b strings.Builder
		b.WriteString("\xff\xfe")
		for _, c := range []byte(s) {
			b.WriteString(string([]byte{c, 0}))
		}
		return b.String()
	}
	l.file("bin", "needle\x00\n")
	l.file("utf16.txt", wide("x\nneedle\n"))
	l.file("latin1", "na\xefve needle\n")
	l.file("odd\n\u202ename", "needle\n")
	l.file("long", strings.Repeat("x", 10_000)+"needle"+strings.Repeat("y", 10_000)+"\n")
	l.file("longer", strings.Repeat("z", 3<<20)+"needle\n")
	mkfifo(t, l.path("pipe"))
	text, s := l.ok("search_content", args{"path": ".", "pattern": "needle"})
	matches, counts := searched(t, s)
	var lines []string
	for _, m := range matches {
		lines = append(lines, fmt.Sprintf("%s:%d:%d", m.Path, m.Line, m.Column))
	}
	want := []string{"./latin1:1:7", "./long:1:10001", "./longer:1:3145729", "./odd\\x0a\\xe2\\x80\\xaename:1:1", "./utf16.txt:2:1"}
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("%s\n%s", d, text)
	}
	if counts.Binary != 1 || counts.Files != 5 {
		t.Errorf("searched %+v", counts)
	}
	note, _ := s["note"].(string)
	for _, said := range []string{"1 file that is not text", "1 file has lines that were searched in parts"} {
		if !strings.Contains(note, said) {
			t.Errorf("the note lacks %q: %q", said, note)
		}
	}
	for _, m := range matches {
		if strings.HasPrefix(m.Path, "./long") && (!m.Cut || m.At == 0 || len(m.Text) > 1024 || !strings.Contains(m.Text, "needle")) {
			t.Errorf("%s: cut %v, at %d, %d bytes", m.Path, m.Cut, m.At, len(m.Text))
		}
	}
	if !strings.Contains(text, "./latin1:1:na\ufffdve needle") || !strings.Contains(text, "yyy [line cut]\n") {
		t.Errorf("%.3000q", text)
	}
	// The escaped name can be sent back.
	if text, _ := l.ok("search_content", args{"path": `odd\x0a\xe2\x80\xaename`, "pattern": "needle"}); text != `odd\x0a\xe2\x80\xaename:1:needle` {
		t.Errorf("%q", text)
	}
	if _, e := l.no("search_content", args{"path": "pipe", "pattern": "needle"}); e["reason"] != "special_file" {
		t.Error(e)
	}
	if _, err := os.Stat(l.path("pipe")); err != nil {
		t.Error(err)
	}
}

// The bounds on bytes, files and time cut the answer and say so; going on gets everywhere.
func TestSearchContentStopsAtItsBounds(t *testing.T) {
	for name, limits := range map[string]mcpfs.Limits{
		"bytes": {SearchBytes: 100_000}, "files": {SearchFiles: 3}, "time": {SearchTime: 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}, Limits: limits}, clientOptions{})
			for i := range 20 {
				l.file(fmt.Sprintf("d%d/f", i), strings.Repeat("x\n", 20_000))
			}
			l.file("d9/z", "needle\n")
			a := args{"path": ".", "pattern": "needle"}
			hits, pages, late := 0, 0, 0
			for ; ; pages++ {
				text, s := l.ok("search_content", a)
				matches, _ := searched(t, s)
				hits += len(matches)
				if list, _ := s["skipped"].([]any); len(list) > 0 {
					late++
				}
				if s["truncated"] != true {
					break
				}
				if !strings.Contains(text, "cut") || !strings.Contains(text, "not all was searched") {
					t.Fatalf("%q", text)
				}
				if pages > 60 {
					t.Fatal("it does not get on")
				}
				a["cursor"] = s["next"].(map[string]any)["cursor"]
			}
			if name == "time" { // a file that takes too long is left behind and named, or no answer would come past it
				if pages < 21 || late != 21 {
					t.Errorf("%d cut answers, %d with a file that was left behind", pages, late)
				}
				return
			}
			if hits != 1 || pages < 4 || late != 0 {
				t.Errorf("%d hits after %d cut answers, %d that left something out", hits, pages, late)
			}
			stopped, total := 0, int64(0)
			for _, r := range l.records.Records() {
				if r.Operation == rootbound.OpSearchContent && r.Outcome != nil {
					total += r.Outcome.Bytes
					if r.Outcome.Stopped == name {
						stopped++
					}
				}
			}
			if stopped != pages || total != 20*40_000+7 {
				t.Errorf("the records tell of %d cut answers and %d bytes", stopped, total)
			}
		})
	}
}

// What ignore files leave out is not searched unless it is asked for; files above the directory that is searched count, and
// what a rule denies cannot take anything away.
func TestSearchContentHonoursIgnoreFiles(t *testing.T) {
	bothForms(t, serve.Options{}, func(l *live) {
		l.file(".gitignore", "*.log\n/out/\n")
		l.file("sub/.ignore", "!keep.log\n")
		for _, name := range []string{"a.log", "a.txt", "out/b.txt", "sub/keep.log", "sub/other.log", "sub/out/c.txt", ".git/config"} {
			l.file(name, "needle\n")
		}
	}, func(l *live, search func(string, args) (string, map[string]any)) {
		for _, c := range []struct {
			path string
			all  bool
			want string
		}{
			{".", false, "./a.txt ./sub/keep.log ./sub/out/c.txt"},
			{"sub", false, "sub/keep.log sub/out/c.txt"},
			{"out", false, "out/b.txt"}, // named, so searched
			{"a.log", false, "a.log"},
			{".", true, "./.git/config ./a.log ./a.txt ./out/b.txt ./sub/keep.log ./sub/other.log ./sub/out/c.txt"},
		} {
			_, s := search(c.path, args{"pattern": "needle", "include_ignored": c.all})
			matches, _ := searched(l.t, s)
			var got []string
			for _, m := range matches {
				got = append(got, m.Path)
			}
			if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
				l.t.Errorf("%s, all %v: %s", c.path, c.all, d)
			}
		}
	})
}

// TestSearchWidens: a content search tells when it begins to work side by side, and once when it is over.
func TestSearchWidens(t *testing.T) {
	var began, ended atomic.Int32
	o := serve.Options{Widen: func() func() { began.Add(1); return func() { ended.Add(1) } }}
	bothForms(t, o, func(l *live) { l.file("a.txt", "needle\n") }, func(l *live, search func(string, args) (string, map[string]any)) {
		began.Store(0)
		ended.Store(0)
		if text, _ := search(".", args{"pattern": "needle"}); !strings.Contains(text, "needle") {
			t.Error(text)
		}
		if b, e := began.Load(), ended.Load(); b != 1 || e != 1 {
			t.Errorf("it began %d times and ended %d", b, e)
		}
	})
}

// TestLargeAnswersWiden: an answer that is large is made, encoded and written beside other calls; once it is there, nothing
// stays wide. A small one asks for nothing.
func TestLargeAnswersWiden(t *testing.T) {
	var began, on atomic.Int32
	none := make(chan struct{}, 100)
	l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}, Widen: func() func() {
		began.Add(1)
		on.Add(1)
		return func() {
			if on.Add(-1) == 0 {
				none <- struct{}{}
			}
		}
	}}, clientOptions{})
	l.file("small/f", "")
	for n := range 5000 { // in one directory: the walk has no use for another processor
		l.file(fmt.Sprintf("d/%s%d", strings.Repeat("x", 80), n), "")
	}
	if l.ok("directory_tree", args{"path": "small"}); began.Load() != 0 {
		t.Errorf("for a small answer it was asked %d times", began.Load())
	}
	text, _ := l.ok("directory_tree", args{"path": "d"})
	if len(text) < 300_000 {
		t.Fatalf("%d bytes", len(text))
	}
	for began.Load() < 3 || on.Load() != 0 { // until its nodes are text, until its text is JSON, until it is written
		select {
		case <-none:
		case <-time.After(time.Minute):
			t.Fatalf("it was asked %d times, and %d have not ended", began.Load(), on.Load())
		}
	}
}
