package storm

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// World is a directory with a root, an outside tree of the same shape, and something to take the root's name. Inside
// and Outside are random: what holds Outside came from outside.
type World struct {
	Dir             string
	Root            string // Dir/ws: what the victim is granted
	Inside, Outside string
	before          map[string]string
}

// Workers is the most workers a World has names for.
const Workers = 16

// NewWorld builds a world in dir, which must be empty and on one file system.
func NewWorld(dir string) (*World, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	w := &World{Dir: dir, Root: dir + "/ws", Inside: "in-" + rand.Text(), Outside: "OUT-" + rand.Text()}
	for tree, canary := range map[string]string{"ws": w.Inside, "out": w.Outside, "fake": w.Outside} {
		files := []string{"alive", "f", "x", "y", "d/f", "d/sub/inner", "sub/inner", "a/b/c/d/e/f", "m/f", "in/keep"}
		for i := range Workers {
			files = append(files, fmt.Sprintf("d/e%d", i), fmt.Sprintf("d/w%d", i), fmt.Sprintf("e%d", i), fmt.Sprintf("w%d", i), fmt.Sprintf("s%d", i),
				fmt.Sprintf("d/t%d/x", i), fmt.Sprintf("t%d/x", i), fmt.Sprintf("d/p%d", i), fmt.Sprintf("p%d", i))
		}
		if tree != "ws" {
			files = append(files, canary+"-name", "d/"+canary+"-name", "a/b/c/"+canary+"-name")
		}
		for _, f := range files {
			p := filepath.Join(dir, tree, f)
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				return nil, err
			}
			if err := os.WriteFile(p, []byte("tok "+canary+strings.Repeat(".", len(canary)%7)), 0o644); err != nil {
				return nil, err
			}
		}
	}
	for link, target := range map[string]string{
		"ws/evil": "../out", "ws/a/b/evil": "../../../out/a/b/c", "ws/xevil": "../out/f", "ws/yevil": "../out/f",
		"ws/l": "d", "ws/abs": w.Root + "/d", "ws/back": "../ws/d", "gone": "out",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(dir+"/park", 0o755); err != nil {
		return nil, err
	}
	w.before, err = w.outside()
	return w, err
}

// outside describes everything outside the root that must not change. park is left out: directories that were inside
// are moved there and back.
func (w *World) outside() (map[string]string, error) {
	seen := map[string]string{}
	for _, tree := range []string{"out", "fake"} {
		err := filepath.WalkDir(filepath.Join(w.Dir, tree), func(p string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			i, err := e.Info()
			if err != nil {
				return err
			}
			st := i.Sys().(*syscall.Stat_t)
			s := fmt.Sprint(i.Mode(), st.Ino, st.Nlink, st.Uid, st.Gid, st.Mtim)
			if p != filepath.Join(w.Dir, tree) { // an exchange of the root's name touches the times of what takes it
				s += fmt.Sprint(st.Ctim)
			}
			if i.Mode().IsRegular() {
				b, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				s += fmt.Sprintf(" %x", sha256.Sum256(b))
			}
			seen[p[len(w.Dir)+1:]] = s
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return seen, nil
}

// changed compares the outside with how it was made.
func (w *World) changed() ([]string, error) {
	now, err := w.outside()
	if err != nil {
		return nil, err
	}
	var diff []string
	for p, s := range now {
		if was, ok := w.before[p]; !ok {
			diff = append(diff, "appeared outside: "+p)
		} else if was != s {
			diff = append(diff, fmt.Sprintf("changed outside: %s: %s, was %s", p, s, was))
		}
	}
	for p := range w.before {
		if _, ok := now[p]; !ok {
			diff = append(diff, "gone from outside: "+p)
		}
	}
	return diff, nil
}
