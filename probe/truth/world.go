// Package truth is what a judge knows of the disk: a throw-away tree with canaries, and exact looks at it.
//
// A World is made below one new directory and removed with it. What lies outside the granted directories holds random
// canaries, in texts and in names, that nobody sends; when one comes back, something leaked, whatever the server says. A
// Look holds content, names, kinds, identities, modes and times, so that what was done to the tree is seen as well.
package truth

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// World is one throw-away tree:
//
//	ws/app  ws/docs      the directories that may be granted
//	ws/app-secrets       a sibling whose name begins like a granted one
//	out                  beside them, never granted
//	home  cwd  tmp       the server's home, working directory and temporary files
type World struct {
	Dir    string
	Shared []string // files outside with another name inside: Changes compares only their bytes and mode
	mu     sync.Mutex
	seed   func() uint64
}

// Mark is the part that all canaries and inside texts have in common; a search for it finds every file.
const Mark = "rbp"

// New makes a world below parent ("" is the system's temporary directory) with texts from seed.
func New(parent string, seed func() uint64) (*World, error) {
	dir, err := os.MkdirTemp(parent, "rootbound-probe-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	w := &World{Dir: dir, seed: seed}
	for _, d := range []string{"ws/app/src", "ws/docs", "ws/app-secrets", "out/sub", "home", "cwd", "tmp"} {
		if err := os.MkdirAll(dir+"/"+d, 0o755); err != nil {
			return nil, err
		}
	}
	for _, f := range []string{"ws/app/src/main.txt", "ws/docs/guide.txt"} {
		if err := os.WriteFile(dir+"/"+f, []byte(w.Inside()+"\n"), 0o644); err != nil {
			return nil, err
		}
	}
	for _, f := range []string{"out/secret.txt", "out/sub/inner.txt", "ws/app-secrets/s.txt", "home/secret.txt", "cwd/cwd-only.txt", "out/" + w.Canary() + ".txt"} {
		if err := os.WriteFile(dir+"/"+f, []byte(w.Canary()+"\n"), 0o644); err != nil {
			return nil, err
		}
	}
	for link, to := range map[string]string{"inlink": "src", "outlink": "../../out"} {
		if err := os.Symlink(to, dir+"/ws/app/"+link); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Remove takes the world away, also where modes forbid it.
func (w *World) Remove() error {
	if err := os.RemoveAll(w.Dir); err == nil {
		return nil
	}
	filepath.WalkDir(w.Dir, func(p string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(w.Dir)
}

// inURI is a directory in a file URI, with what stands before it.
var inURI = regexp.MustCompile(`file:[^{}"\s]*\{(app|docs|ws|out|home|cwd|w)\}`)

const repeated = 4 << 20 // bytes that a repetition in a case goes up to

// Fill replaces names in braces by the world's directories, encoded in a file URI, {hex:DIGITS} by bytes and {times:N:TEXT}
// by repetition.
func (w *World) Fill(s string) string {
	s = inURI.ReplaceAllStringFunc(s, func(m string) string { return dirs((&url.URL{Path: w.Dir}).EscapedPath()).Replace(m) })
	s = dirs(w.Dir).Replace(s)
	s = replace(s, "{hex:", func(digits string) string {
		b, _ := hex.DecodeString(digits)
		return string(b)
	})
	return replace(s, "{times:", func(arg string) string {
		count, text, _ := strings.Cut(arg, ":")
		n, _ := strconv.Atoi(count)
		return strings.Repeat(text, min(max(n, 0), repeated/max(len(text), 1)))
	})
}

func dirs(top string) *strings.Replacer {
	return strings.NewReplacer("{app}", top+"/ws/app", "{docs}", top+"/ws/docs", "{ws}", top+"/ws", "{out}", top+"/out",
		"{home}", top+"/home", "{cwd}", top+"/cwd", "{w}", top)
}

func replace(s, open string, by func(string) string) string {
	for {
		head, rest, ok := strings.Cut(s, open)
		arg, tail, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			return s
		}
		s = head + by(arg) + tail
	}
}

// Blank replaces the world's directory and its canaries by names, so that two runs read alike.
func (w *World) Blank(s string) string {
	return canaries.ReplaceAllString(strings.ReplaceAll(s, w.Dir, "{w}"), "CANARY")
}

// Canary is a new text that must never come back.
func (w *World) Canary() string { return w.text(head) }

// Inside is a new text for a file that may be read.
func (w *World) Inside() string { return w.text(Mark + "i") }

// text is a new one; deeds are also done beside answers, and storms beside both.
func (w *World) text(begin string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%s%016x", begin, w.seed())
}

// Granted reports whether a path lies in a directory that may be granted.
func (w *World) Granted(path string) bool {
	for _, d := range []string{"/ws/app", "/ws/docs"} {
		if path == w.Dir+d || strings.HasPrefix(path, w.Dir+d+"/") {
			return true
		}
	}
	return false
}
