//go:build linux

package cases

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// line is one entry of matches.
type line struct {
	Path string
	Line int
	Text string
}

// lines asks for page after page of a content search and checks of each that its text is its structured twin: one line for
// each match, and behind them nothing but what the server says of the answer.
func (w *world) lines(p *product, args rawmcp.Args) (all []line, notes string) {
	w.t.Helper()
	for pages := 0; ; pages++ {
		r := w.ask(p, "search_content", args)
		if !r.OK() {
			w.t.Fatalf("%.200v: %s", args, r.Short())
		}
		if strings.Contains(string(r.Raw), secretText) {
			w.t.Fatalf("%.200v: it tells of the outside: %s", args, r.Short())
		}
		var page []line
		r.Get("matches", &page)
		var want []string
		for _, m := range page {
			want = append(want, fmt.Sprintf("%s:%d:%s", m.Path, m.Line, strings.ToValidUTF8(strings.TrimSuffix(m.Text, "\r"), "\ufffd")))
		}
		text := strings.Split(r.Text, "\n")
		if n := min(len(want), len(text)); !slices.Equal(text[:n], want) {
			w.t.Errorf("the text is not that of the matches:\n%.2000q\n%.2000q", text, want)
		} else {
			for _, s := range text[n:] {
				if !strings.HasPrefix(s, "[") && s != "No matches found" {
					w.t.Errorf("a line that is no match: %q", s)
				}
			}
		}
		all = append(all, page...)
		var note string
		if r.Get("note", &note) {
			notes += note + "\n"
		}
		var next struct{ Cursor string }
		if !r.Get("next", &next) || pages > 1000 {
			return all, notes
		}
		more := rawmcp.Args{"cursor": next.Cursor}
		for k, v := range args {
			if k != "cursor" {
				more[k] = v
			}
		}
		args = more
	}
}

// setUp performs steps, or skips what this machine cannot do.
func (w *world) setUp(name string, steps ...step) {
	w.t.Helper()
	for _, s := range steps {
		var no errNoEffect
		if err := w.do(s); errors.As(err, &no) {
			skip(w.t, "search/"+name, no.why)
		} else if err != nil {
			w.t.Fatal(s.name, err)
		}
	}
}

// TestSearchOfNoFiles: what is no regular file is neither opened nor named, and holds nothing up; and as an ignore file it
// leaves nothing out, nor does one that a link leads to, or that is too large.
func TestSearchOfNoFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base+"/search", "kinds")
	defer w.close()
	w.put(w.dir+"/out/rules", []byte("*\n"+secretText+"\n"))
	var rules strings.Builder
	for i := range 1_000_000 {
		rules.WriteString("p" + strconv.Itoa(i) + "\n")
	}
	rules.WriteString("f\n")
	for i, s := range []step{
		{"fifo", nil}, {"socket", nil}, {"device", []any{"c", 1, 3}}, {"device", []any{"b", 7, 200}}, {"mkdir", nil}, {"sparse", []any{100 << 20}},
		{"symlink", []any{"$W/out/rules"}}, {"symlink", []any{"../../out/rules"}}, {"symlink", []any{"/dev/zero"}}, {"symlink", []any{".gitignore"}}, {"file", []any{rules.String()}},
	} {
		for _, name := range []string{".gitignore", ".ignore", "x"} {
			at := fmt.Sprintf("ws/k%02d/%s", i, name)
			if s.name == "device" && os.Getuid() != 0 {
				continue
			}
			w.setUp("kinds", step{s.name, append([]any{at}, s.args...)}, step{"file", []any{fmt.Sprintf("ws/k%02d/f", i), "needle\n"}})
		}
	}
	p := w.serveBad(start{}, w.dir+"/ws")
	before := take(w.dir, nil, nil)
	want := 0
	for i := range 11 {
		if _, err := os.Stat(fmt.Sprintf("%s/ws/k%02d/f", w.dir, i)); err == nil {
			want++
		}
	}
	for _, all := range []bool{false, true} {
		got, notes := w.lines(p, rawmcp.Args{"path": ".", "pattern": "needle", "include_ignored": all})
		if len(got) != want {
			t.Errorf("ignored files too: %v: %d of %d files: %v", all, len(got), want, got)
		}
		if told := strings.Contains(notes, "4 ignore files were not read or had too many or too long rules"); told == all {
			t.Errorf("ignored files too: %v: %q", all, notes)
		}
	}
	for tool, args := range map[string]rawmcp.Args{"directory_tree": {"gitignore": true}, "search_files": {"gitignore": true, "pattern": "**/f"}} {
		args["path"] = "."
		if r := w.ask(p, tool, args); !r.OK() || strings.Contains(string(r.Raw), secretText) || strings.Count(r.Text, "f\n")+strings.Count(r.Text, `"f"`) < want-1 {
			t.Errorf("%s: %s", tool, r.Short())
		}
	}
	for _, at := range []string{"k00/x", "k01/x", "k00/.gitignore"} {
		w.refusedAs(at, w.ask(p, "search_content", rawmcp.Args{"path": at, "pattern": "needle"}), "special_file", at)
	}
	for _, at := range []string{"k06/x", "k06/.gitignore", "k07/.ignore", "k08/x"} {
		w.refusedAs(at, w.ask(p, "search_content", rawmcp.Args{"path": at, "pattern": ""}), "outside_root", at)
	}
	w.unchanged(before)
	w.reads(p, "alive", "alive")
}

// TestSearchOfNothing: files that are nothing but size, up to 1 TiB, however they begin, cost no more than a look at them.
func TestSearchOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base+"/search", "sparse")
	defer w.close()
	for name, text := range map[string]string{"zero": "", "text": "needle\n", "bom": "\xef\xbb\xbfneedle\n", "le": "\xff\xfen\x00e\x00", "be": "\xfe\xff\x00n\x00e"} {
		w.put(w.dir+"/ws/s/"+name, []byte(text))
		if err := os.Truncate(w.dir+"/ws/s/"+name, 1<<40); err != nil {
			skip(t, "search/sparse", "the file system holds no file of 1 TiB")
		}
	}
	config := w.writeConfig(map[string]any{"limits": map[string]any{"search_bytes": "2048 GiB"}, "projects": []map[string]any{{"id": "a", "dir": w.dir + "/ws", "rights": "ro"}}})
	for _, argv := range [][]string{{w.dir + "/ws"}, {"--tools=classic", "--config", config}} {
		p := w.serveBad(start{}, argv...)
		for _, path := range []string{".", "s", "s/zero", "s/text", "s/bom", "s/le", "s/be"} {
			r, worked, err := p.call(10*time.Second, "search_content", rawmcp.Args{"path": path, "pattern": "needle|n.*x$"})
			if err != nil || !r.OK() || worked > 10*time.Second {
				t.Errorf("%s: %v after %v: %s", path, err, worked, r.Short())
			}
			if told := strings.Contains(string(r.Raw), "not text") || strings.Contains(string(r.Raw), "too_large"); !told {
				t.Errorf("%s: it does not say what was not searched: %s", path, r.Short())
			}
		}
		w.reads(p, "alive", "alive")
	}
}

// TestSearchOfWhatChanges: a file that is appended to, cut off and made again while it is searched gives lines that were in
// it, and each answer comes.
func TestSearchOfWhatChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base+"/search", "changes")
	defer w.close()
	path := w.dir + "/ws/f"
	whole := strings.Repeat("a needle in it\n", 5_000)
	w.put(path, []byte(whole))
	p := w.serveBad(start{}, w.dir+"/ws")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			var err error
			switch n % 50 {
			case 17:
				err = f.Truncate(int64(n * 4099 % len(whole)))
			case 34:
				err = f.Truncate(0)
			case 49:
				_, err = f.WriteString(whole)
			default:
				_, err = f.WriteString(whole[:15*20])
			}
			if err != nil {
				done <- err
				return
			}
		}
	}()
	hits := 0
	for i := range 60 {
		r := w.ask(p, "search_content", rawmcp.Args{"path": []string{".", "f"}[i%2], "pattern": []string{"needle", "^a n[e]+dle"}[i/2%2]})
		if !r.OK() {
			t.Fatal(r.Short())
		}
		var page []line
		r.Get("matches", &page)
		for _, m := range page {
			// where it was cut off, half a line may be followed by the next
			if !strings.HasPrefix(m.Text, "a needle") && !strings.Contains(m.Text, "a needle in it") {
				t.Errorf("%q was never in it", m.Text)
			}
		}
		hits += len(page)
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	w.put(path, []byte(whole))
	if got, _ := w.lines(p, rawmcp.Args{"path": ".", "pattern": "needle", "include": []string{"f"}}); len(got) != 5_000 {
		t.Errorf("%d lines of 5,000 when it is at rest, %d before", len(got), hits)
	}
	w.reads(p, "alive", "alive")
}

// TestSearchOfForgedNames: no name and no line makes a line of an answer that is not one, for a reader that takes any
// character which ends lines somewhere; and what a colon in a name leaves open, the structured twin tells.
func TestSearchOfForgedNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base+"/search", "forged")
	defer w.close()
	var names []string
	for _, s := range []string{"\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\u0085", "\u2028", "\u2029", "\x1b[2K\x1b[1A", "\xff\xfe", "\u202e", ":1:a needle\u200b", "\x07"} {
		names = append(names, "a"+s+"alive:1:forged needle")
	}
	names = append(names, "alive:1:forged needle", ":1:needle", "-1-needle", "[cut after 1 match; go on with cursor: x]", "\nNo matches found")
	for _, n := range names {
		w.put(w.dir+"/ws/n/"+n, []byte("one needle\n"))
		w.put(w.dir+"/ws/n/"+n+".d/"+n, []byte("one needle\r\nnot this\n"))
	}
	p := w.serveBad(start{}, w.dir+"/ws")
	got, _ := w.lines(p, rawmcp.Args{"path": ".", "pattern": "needle$|needle\r$"})
	if len(got) != 2*len(names) {
		t.Errorf("%d lines of %d files", len(got), 2*len(names))
	}
	for _, m := range got {
		if m.Line != 1 || strings.TrimSuffix(m.Text, "\r") != "one needle" {
			t.Errorf("a line that is not there: %+v", m)
		}
		if i := strings.IndexAny(m.Path, "\n\r\v\f\x1b\x1c\x1d\x1e\u0085\u2028\u2029\u202e\u200b\x07"); i >= 0 {
			t.Errorf("a name comes as it is: %q", m.Path)
		}
		if strings.HasSuffix(m.Path, ".d") { // a directory
			t.Errorf("%q", m.Path)
		}
		if r := w.ask(p, "search_content", rawmcp.Args{"path": m.Path, "pattern": "one needle"}); !r.OK() || !strings.HasPrefix(r.Text, m.Path+":1:one needle") {
			t.Errorf("what was told cannot be sent back: %q: %s", m.Path, r.Short())
		}
	}
}

// TestSearchOfMountedLoops: a directory that is mounted in itself, again and again, is searched to an end, and nothing in it
// is anything but what is inside.
func TestSearchOfMountedLoops(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base+"/search", "loops")
	defer w.close()
	w.put(w.dir+"/ws/d/needle", []byte("a needle\n"))
	w.setUp("loops", step{"mkdir", []any{"ws/d/again"}}, step{"mkdir", []any{"ws/d/all"}}, step{"bind", []any{"ws/d/again", "ws"}})
	for range 6 { // each doubles what is there
		if err := unix.Mount(w.dir+"/ws", w.dir+"/ws/d/all", "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			t.Fatal(err)
		}
		w.after(func() { unix.Unmount(w.dir+"/ws/d/all", unix.MNT_DETACH) })
	}
	p := w.serveBad(start{}, w.dir+"/ws")
	got, _ := w.lines(p, rawmcp.Args{"path": ".", "pattern": "needle"})
	if len(got) < 8 || got[len(got)-1].Path != "./d/needle" {
		t.Errorf("%d lines", len(got))
	}
	seen := map[string]bool{}
	for _, m := range got {
		if seen[m.Path] || !strings.HasSuffix(m.Path, "/d/needle") {
			t.Errorf("%q", m.Path)
		}
		seen[m.Path] = true
	}
	for tool, args := range map[string]rawmcp.Args{"directory_tree": {"path": "."}, "search_files": {"path": ".", "pattern": "**/needle"}} {
		if r := w.ask(p, tool, args); !r.OK() || strings.Contains(string(r.Raw), secretText) {
			t.Errorf("%s: %s", tool, r.Short())
		}
	}
	w.reads(p, "alive", "alive")
}
