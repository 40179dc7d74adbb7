//go:build linux

package cases

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const (
	inText     = "inside-canary"
	secretText = "OUTSIDE-CANARY-91c7"
)

// world is the fresh directory of one case and what has been done to it.
type world struct {
	t     *testing.T
	dir   string // $W
	state string // beside it: home and state directory of the server, upper layers
	n     int    // $N
	undo  []func()
	procs []*os.Process
	freed bool
}

func newWorld(t *testing.T, where, name string) *world {
	t.Helper()
	w := &world{t: t, dir: filepath.Join(where, "w", name), state: filepath.Join(where, "s", name)}
	for _, d := range []string{w.dir, w.state + "/home"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(w.close)
	for name, text := range map[string]string{
		"ws/alive": "alive", "ws/d/f": inText, "out/secret": secretText, "out/f": secretText, "out/sub/inner": secretText,
	} {
		w.put(filepath.Join(w.dir, name), []byte(text))
	}
	return w
}

// close undoes mounts and flags in reverse order and removes the world.
func (w *world) close() {
	if w.freed {
		return
	}
	w.freed = true
	for i := len(w.undo) - 1; i >= 0; i-- {
		w.undo[i]()
	}
	for _, p := range w.procs {
		p.Kill()
		p.Wait()
	}
	if os.Getenv("RB_CASES_KEEP") == "" {
		os.RemoveAll(w.dir)
		os.RemoveAll(w.state)
	}
}

func (w *world) after(f func()) { w.undo = append(w.undo, f) }

func (w *world) put(path string, data []byte) {
	w.t.Helper()
	w.parent(path)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) parent(path string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// at maps a setup path: relative ones are below $W. Bytes stay as they are.
func (w *world) at(p string) string {
	p = w.expand(p)
	if strings.HasPrefix(p, "/") {
		return p
	}
	if p == "." {
		return w.dir
	}
	return w.dir + "/" + p
}

// expand replaces the placeholders; any other $ is literal.
func (w *world) expand(s string) string {
	for {
		i := strings.LastIndex(s, "$x{")
		if j := strings.LastIndex(s, "$rep{"); j > i {
			i = j
		}
		if i < 0 {
			break
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			w.t.Fatalf("unclosed placeholder in %.80q", s)
		}
		open := strings.IndexByte(s[i:], '{')
		body := s[i+open+1 : i+end]
		var text string
		if s[i+1] == 'x' {
			raw, err := hex.DecodeString(body)
			if err != nil {
				w.t.Fatal(err)
			}
			text = string(raw)
		} else {
			count, what, _ := strings.Cut(body, ",")
			n, err := strconv.Atoi(count)
			if err != nil {
				w.t.Fatal(err)
			}
			text = strings.Repeat(what, n)
		}
		s = s[:i] + text + s[i+end+1:]
	}
	return strings.NewReplacer(
		"$ROOT", w.dir+"/ws", "$OUT", w.dir+"/out", "$SECRET", secretText, "$IN", inText,
		"$W", w.dir, "$N", strconv.Itoa(w.n),
	).Replace(s)
}

// step is one line of a setup: its name and its arguments.
type step struct {
	name string
	args []any
}

func steps(raw [][]any) []step {
	out := make([]step, len(raw))
	for i, r := range raw {
		out[i] = asStep(r)
	}
	return out
}

func asStep(r []any) step { return step{name: r[0].(string), args: r[1:]} }

// str is argument i as text, placeholders not yet replaced.
func (s step) str(i int) string {
	if i >= len(s.args) {
		return ""
	}
	return fmt.Sprint(s.args[i])
}

func (s step) num(t *testing.T, i int) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s.str(i), 10, 64)
	if err != nil {
		t.Fatalf("step %s: %v", s.name, err)
	}
	return n
}

// perCall reports whether the step belongs to each single call.
func (s step) perCall() bool {
	for i := range s.args {
		if strings.Contains(s.str(i), "$N") {
			return true
		}
	}
	return false
}

// live reports whether the step needs the running product.
func (s step) live() bool {
	switch s.name {
	case "call", "hold", "background", "roots", "refresh", "on-open", "at-syscall", "in-callback", "deny-syscall-now", "feed":
		return true
	}
	return strings.HasPrefix(s.name, "loop-")
}
