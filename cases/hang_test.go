//go:build linux

package cases

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// TestSearchOfWhatHangs: a directory and a file that do not answer hold up the search that met them, until fs_timeout, and
// nobody else. When they answer after all, nothing is left of that search.
func TestSearchOfWhatHangs(t *testing.T) {
	nodes := []fuseNode{{}, {name: "a.txt", parent: 1, text: []byte("needle\n")}, {name: "stuck", parent: 1},
		{name: "deep.txt", parent: 3, text: []byte("x\nneedle\n")}, {name: "slow.txt", parent: 1, text: []byte("needle\n")}}
	if mounts() { // what else is read and written here must not wait for a busy disk
		if err := os.MkdirAll(base+"/hang", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("none", base+"/hang", "tmpfs", 0, "mode=0755"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(base+"/hang", unix.MNT_DETACH) })
	}
	for _, c := range []struct {
		name, tools string
		op          uint32
		node        uint64
	}{
		{"directory", "project", fuseOpendir, 3},
		{"entries", "classic", fuseReaddir, 3},
		{"file", "classic", fuseOpen, 4},
		{"contents", "project", fuseRead, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, base+"/hang", c.name)
			defer w.close()
			f, err := w.mountFUSE(w.dir+"/ws/m", nodes, func(op uint32, node uint64) bool { return op == c.op && node == c.node })
			var no errNoEffect
			if errors.As(err, &no) {
				skip(t, "hang/"+c.name, no.why)
			} else if err != nil {
				t.Fatal(err)
			}
			w.put(w.dir+"/other/b.txt", []byte("needle\n"))
			config := w.writeConfig(map[string]any{"projects": []map[string]any{
				{"id": "a", "dir": w.dir + "/ws", "rights": "rw"}, {"id": "b", "dir": w.dir + "/other", "rights": "ro"},
			}})
			p, err := w.begin(start{version: rawmcp.Legacy, argv: []string{"--confine=off", "--no-slow", "--tools=" + c.tools, "--config", config},
				env: []string{fsTimeout(5 * time.Second)}})
			if err != nil {
				t.Fatal(err)
			}
			if c.tools == "project" {
				p.project = "a"
			}
			search := func(root, path string) (*rawmcp.Result, error) {
				args := rawmcp.Args{"path": path, "pattern": "needle"}
				if root != "" {
					args["root"] = root
				}
				r, _, err := p.call(time.Minute, "search_content", args)
				return r, err
			}
			hits := func(root, path string, want int) {
				t.Helper()
				r, err := search(root, path)
				if err != nil {
					t.Fatal(err)
				}
				var list []json.RawMessage
				if r.Get("matches", &list); !r.OK() || len(list) != want {
					t.Errorf("%s %s: %d hits, want %d: %s", root, path, len(list), want, r.Short())
				}
			}
			hits("a", "d", 0) // and the server is warm
			_, before := descriptors(p.PID(), w.dir)

			type answer struct {
				r   *rawmcp.Result
				err error
			}
			got := make(chan answer, 1)
			go func() {
				r, err := search("a", ".")
				got <- answer{r, err}
			}()
			select {
			case <-f.Held:
			case a := <-got:
				t.Fatalf("the search did not wait: %v, %v", a.r, a.err)
			}
			hits("b", ".", 1)
			hits("a", "d", 0)
			if r, _, err := p.call(time.Minute, "read_text_file", rawmcp.Args{"path": "alive", "root": "a"}); err != nil || r.Text != "alive" {
				t.Errorf("a read beside it: %v, %v", r, err)
			}
			if r, _, err := p.call(time.Minute, "write_file", rawmcp.Args{"path": "new", "content": "x", "root": "a"}); err != nil || !r.OK() {
				t.Errorf("a write beside it: %v, %v", r, err)
			}
			a := <-got
			if a.err != nil {
				t.Fatal(a.err)
			}
			if a.r.OK() || a.r.Reason != "io_error" {
				t.Errorf("the search was not given up: %s", a.r.Short())
			}

			close(f.Freed)
			deadline := time.After(time.Minute)
			for {
				n, quiet := f.open()
				if n == 0 {
					break
				}
				select {
				case <-quiet:
				case <-deadline:
					t.Fatalf("%d files stay open", n)
				}
			}
			os.Remove(w.dir + "/ws/new")
			hits("a", ".", 3)
			hits("a", "m/stuck/deep.txt", 1)
			for range 1200 { // a minute
				if _, after := descriptors(p.PID(), w.dir); after <= before {
					return
				}
				wait(50 * time.Millisecond)
			}
			t.Errorf("descriptors stay open: %d before", before)
		})
	}
}
