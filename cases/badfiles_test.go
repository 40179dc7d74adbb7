//go:build linux

package cases

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// readings are all the ways a file can be read.
func readings(path string) map[string]rawmcp.Args {
	return map[string]rawmcp.Args{
		"read_text_file":      {"path": path},
		"read_text_file head": {"path": path, "head": 5},
		"read_text_file tail": {"path": path, "tail": 5},
		"read_text_file line": {"path": path, "line": 3, "lines": 5},
		"read_text_file far":  {"path": path, "line": 1 << 40, "lines": 5},
		"read_media_file":     {"path": path},
		"read_multiple_files": {"paths": []string{path, path, path}},
		"get_file_info":       {"path": path},
		"edit_file":           {"path": path, "edits": []map[string]string{{"oldText": "none of this", "newText": "x"}}},
	}
}

// TestBadSizes: 200 MiB of text and 1 TiB of nothing, by every tool that reads: in time, in bounded memory, a bounded
// answer that says it was cut or a clear refusal, and the files as they were.
func TestBadSizes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base, "sizes")
	defer w.close()
	if err := w.fill(w.dir+"/ws/text", 200<<20); err != nil {
		t.Fatal(err)
	}
	w.put(w.dir+"/ws/sparse", nil)
	if err := os.Truncate(w.dir+"/ws/sparse", 1<<40); err != nil {
		t.Fatal(err)
	}
	p := w.serveBad(start{}, w.dir+"/ws")
	before := take(w.dir, nil, nil)
	resetPeak(p.PID())
	rss, _ := resident(p.PID())
	for _, file := range []string{"text", "sparse"} {
		for name, args := range readings(file) {
			tool, _, _ := strings.Cut(name, " ")
			what := name + " of " + file
			r, worked, err := p.call(10*time.Second, tool, args)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if worked > 10*time.Second || len(r.Raw) > 12<<20 {
				t.Errorf("%s: %d bytes in %v", what, len(r.Raw), worked)
			}
			if !r.OK() {
				w.clear(what, r)
			}
		}
	}
	for tool, args := range map[string]rawmcp.Args{
		"list_directory_with_sizes": {"path": "."}, "directory_tree": {"path": "."}, "search_files": {"path": ".", "pattern": "**"},
	} {
		if r := w.ask(p, tool, args); !r.OK() || !strings.Contains(r.Text, "sparse") {
			t.Errorf("%s: %s", tool, r.Short())
		}
	}
	if _, peak := resident(p.PID()); peak-rss > 192<<10 {
		t.Errorf("it grew by %d MiB", (peak-rss)>>10)
	}
	w.unchanged(before)
	w.reads(p, "alive", "alive")
}

// TestRootGoesWhileServing: a granted directory, and a client's root, that is deleted, moved or replaced. A change is
// refused at once, a read within a second; nothing happens in what has its name now. A client's root heals when the list
// is published again, a project does not.
func TestRootGoesWhileServing(t *testing.T) {
	for _, what := range []string{"project", "root"} {
		for _, how := range []string{"deleted", "moved", "replaced"} {
			t.Run(what+"/"+how, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, base+"/goes", what+"-"+how)
				defer w.close()
				ws := w.dir + "/ws"
				s := start{}
				argv := []string{ws}
				if what == "root" {
					s.roots, s.changes = func(int) rawmcp.Answer { return rawmcp.Answer{Roots: []string{fileURI(ws)}} }, true
					argv = []string{w.dir}
				}
				p := w.serveBad(s, argv...)
				w.reads(p, ws+"/alive", "alive")
				var err error
				switch how {
				case "deleted":
					err = os.RemoveAll(ws)
				default:
					err = os.Rename(ws, w.dir+"/elsewhere")
				}
				if err != nil {
					t.Fatal(err)
				}
				if how == "replaced" {
					w.put(ws+"/alive", []byte(secretText))
				}
				gone := time.Now()
				before := take(w.dir, nil, nil)
				for tool, args := range map[string]rawmcp.Args{
					"write_file":       {"path": ws + "/new", "content": "x"},
					"create_directory": {"path": ws + "/newdir"},
					"move_file":        {"source": ws + "/alive", "destination": ws + "/other"},
					"edit_file":        {"path": ws + "/alive", "edits": []map[string]string{{"oldText": "a", "newText": "b"}}},
				} {
					w.refusedAs(tool, w.ask(p, tool, args), "root_replaced", w.dir)
				}
				var r *rawmcp.Result
				for time.Since(gone) < 1100*time.Millisecond { // until then it may still be the old directory that is read
					if r = w.ask(p, "read_text_file", rawmcp.Args{"path": ws + "/alive"}); strings.Contains(r.Text, secretText) {
						t.Fatalf("what has the name now was read: %s", r.Short())
					}
					wait(50 * time.Millisecond)
				}
				r = w.ask(p, "read_text_file", rawmcp.Args{"path": ws + "/alive"})
				w.refusedAs("read", r, "root_replaced", w.dir)
				w.unchanged(before)
				if how == "deleted" {
					w.alive(p)
					return
				}
				if what == "project" { // not even under its own name again, if it is another directory
					if r := w.ask(p, "list_directory", rawmcp.Args{"path": ws}); r.OK() {
						t.Errorf("a project healed by itself: %s", r.Short())
					}
					return
				}
				os.RemoveAll(ws)
				w.put(ws+"/alive", []byte("alive"))
				p.RootsChanged()
				w.reads(p, ws+"/alive", "alive")
			})
		}
	}
}

// failing is a call and the reason it must be refused for.
type failing struct {
	tool   string
	args   rawmcp.Args
	reason string
}

// TestBadSystems: the system refuses, fails or has no room left. Each call is refused with a clear text, leaves everything
// as it was, and the server goes on.
func TestBadSystems(t *testing.T) {
	edit := func(path string) rawmcp.Args {
		return rawmcp.Args{"path": path, "edits": []map[string]string{{"oldText": "inside", "newText": strings.Repeat("x", 200_000)}}}
	}
	write := func(path string, n int) rawmcp.Args {
		return rawmcp.Args{"path": path, "content": strings.Repeat("x", n)}
	}
	io := func(call string) launch { return launch{Deny: []denied{{Call: call, Errno: errnos["EIO"]}}} }
	for name, c := range map[string]struct {
		launch launch
		flags  []string
		setup  []step
		calls  []failing
	}{
		"EACCES": {launch: launch{UID: 65534}, setup: locked(), calls: noAccess()},
		"EACCES, confined": {launch: launch{UID: 65534}, flags: []string{"--confine=require"}, setup: locked(), calls: append(noAccess(),
			failing{"read_text_file", rawmcp.Args{"path": "../out/secret"}, "outside_root"}, failing{"write_file", write("../out/new", 1), "outside_root"})},
		"ENOSPC": {setup: []step{{"tmpfs", []any{"ws/small", 65536}}, {"file", []any{"ws/small/f", inText}}}, calls: []failing{
			{"write_file", write("small/new", 200_000), "io_error"}, {"write_file", write("small/f", 200_000), "io_error"}, {"edit_file", edit("small/f"), "io_error"}}},
		"EIO, reading": {launch: launch{Deny: []denied{{Call: "pread64", Errno: errnos["EIO"], Over: 1000}}}, setup: []step{{"fill", []any{"ws/big", 4000}}}, calls: []failing{
			{"read_text_file", rawmcp.Args{"path": "big"}, "io_error"}, {"read_media_file", rawmcp.Args{"path": "big"}, "io_error"},
			{"edit_file", rawmcp.Args{"path": "big", "edits": []map[string]string{{"oldText": "345", "newText": "y"}}}, "io_error"}}},
		"EIO, listing": {launch: io("getdents64"), calls: []failing{{"list_directory", rawmcp.Args{"path": "d"}, "io_error"}}},
		"EIO, syncing": {launch: io("fsync"), calls: []failing{{"write_file", write("d/f", 5), "io_error"}, {"write_file", write("d/new", 5), "io_error"}}},
		"EIO, renaming": {launch: io("renameat2"), calls: []failing{
			{"write_file", write("d/f", 5), "io_error"}, {"move_file", rawmcp.Args{"source": "d/f", "destination": "d/g"}, "io_error"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			label := strings.NewReplacer(" ", "-", ",", "").Replace(name)
			if os.Getuid() != 0 && (c.launch.UID != 0 || name == "ENOSPC") {
				skip(t, "systems/"+label, "needs administrator rights")
			}
			if slices.Contains(c.flags, "--confine=require") {
				landlock(t)
			}
			w := newWorld(t, base+"/systems", label)
			defer w.close()
			for _, s := range c.setup {
				var no errNoEffect
				if err := w.do(s); errors.As(err, &no) {
					skip(t, "systems/"+label, no.why)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			s := start{launch: c.launch, argv: append([]string{"--confine=off", "--no-slow"}, append(c.flags, w.dir+"/ws")...)}
			p, err := w.begin(s)
			if err != nil {
				t.Fatal(err)
			}
			noTime := []string{w.dir + "/ws", w.dir + "/ws/d", w.dir + "/ws/small", w.dir + "/ws/ro"} // a temporary file came and went
			before := take(w.dir, nil, noTime)
			for _, f := range c.calls {
				w.refusedAs(fmt.Sprint(f.tool, " ", f.args["path"]), w.ask(p, f.tool, f.args), f.reason)
			}
			if d := before.diff(take(w.dir, nil, noTime)); len(d) > 0 {
				t.Errorf("changed on disk:\n\t%s", strings.Join(d, "\n\t"))
			}
			if r := w.ask(p, "get_file_info", rawmcp.Args{"path": "alive"}); !r.OK() {
				t.Errorf("a good call afterwards: %s", r.Short())
			}
		})
	}
}

// locked is what an ordinary user cannot use: a closed file, a closed directory, one that takes no new names.
func locked() []step {
	return []step{
		{"file", []any{"ws/closed", inText}}, {"chmod", []any{"ws/closed", "0000"}}, {"file", []any{"ws/locked/x", inText}}, {"chmod", []any{"ws/locked", "0000"}},
		{"file", []any{"ws/ro/x", inText}}, {"chmod", []any{"ws/ro", "0555"}},
	}
}

func noAccess() []failing {
	return []failing{
		{"read_text_file", rawmcp.Args{"path": "closed"}, "io_error"}, {"read_media_file", rawmcp.Args{"path": "closed"}, "io_error"},
		{"read_text_file", rawmcp.Args{"path": "locked/x"}, "io_error"}, {"list_directory", rawmcp.Args{"path": "locked"}, "io_error"},
		{"write_file", rawmcp.Args{"path": "ro/new", "content": "x"}, "io_error"}, {"write_file", rawmcp.Args{"path": "ro/x", "content": "x"}, "io_error"},
		{"create_directory", rawmcp.Args{"path": "ro/new"}, "io_error"}, {"move_file", rawmcp.Args{"source": "ro/x", "destination": "ro/y"}, "io_error"},
		{"edit_file", rawmcp.Args{"path": "ro/x", "edits": []map[string]string{{"oldText": "inside", "newText": "x"}}}, "io_error"},
	}
}

// TestFewDescriptorsInParallel: 48 descriptors for calls of all kinds at once. Each is answered; what is refused was
// refused for that, and a file that was written holds all of its text.
func TestFewDescriptorsInParallel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base, "few")
	defer w.close()
	p := w.serveBad(start{launch: launch{NoFile: 48}}, w.dir+"/ws")
	var all sync.WaitGroup
	text := strings.Repeat("text ", 1000)
	for i := range 120 {
		all.Go(func() {
			tool, args := "write_file", rawmcp.Args{"path": fmt.Sprintf("new%d", i), "content": text}
			switch i % 3 {
			case 1:
				tool, args = "directory_tree", rawmcp.Args{"path": "."}
			case 2:
				tool, args = "read_multiple_files", rawmcp.Args{"paths": []string{"alive", "d/f", "alive"}}
			}
			r, _, err := p.call(20*time.Second, tool, args)
			if err != nil {
				t.Errorf("%s: %v", tool, err)
				return
			}
			if !r.OK() {
				w.refusedAs(tool, r, "io_error")
			}
			if path, _ := args["path"].(string); tool == "write_file" {
				b, err := os.ReadFile(w.dir + "/ws/" + path)
				if r.OK() && string(b) != text || !r.OK() && err == nil {
					t.Errorf("%s: told %v, holds %d bytes", path, r.OK(), len(b))
				}
			}
		})
	}
	all.Wait()
	entries, err := os.ReadDir(w.dir + "/ws")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if n := e.Name(); n != "alive" && n != "d" && !strings.HasPrefix(n, "new") {
			t.Errorf("left: %s", n)
		}
	}
	w.reads(p, "alive", "alive")
}
