package truth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// places are the names a deed makes, changes or takes away, and whether it reaches through a link of the last name.
func (d Deed) places() (at []string, through bool) {
	for _, p := range []string{d.Dir, d.File, d.Sparse, d.Many, d.Chain, d.Chmod} {
		if p != "" {
			return []string{p}, true
		}
	}
	for _, p := range []string{d.Link, d.Fifo, d.Zero, d.Remove} {
		if p != "" {
			return []string{p}, false
		}
	}
	for _, p := range []string{d.Hardlink, d.Rename, d.Exchange} {
		if p != "" {
			return []string{p, d.To}, false
		}
	}
	return nil, false
}

// own refuses deeds beyond the world: cases may be somebody else's, and a slip in one must not reach real files.
func (w *World) own(d Deed) error {
	at, through := d.places()
	for _, p := range at {
		path := filepath.Clean(w.Fill(p))
		if !strings.HasPrefix(path, w.Dir+"/") || through && path == w.Dir {
			return fmt.Errorf("%s is not in the tree of the case", p)
		}
		if !through {
			path = filepath.Dir(path)
		}
		if err := w.reached(path); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

var errBeyond = errors.New("a link leads out of the tree of the case")

// reached follows links, as far as there is something.
func (w *World) reached(path string) error {
	for !slices.Contains([]string{w.Dir, w.Dir + "/ws", w.Dir + "/ws/app", w.Dir + "/out"}, path) { // where storms are: nothing of them leads out
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			if real != w.Dir && !strings.HasPrefix(real, w.Dir+"/") {
				return errBeyond
			}
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return errBeyond // nobody knows what it would make
		}
		path = filepath.Dir(path)
	}
	return nil
}
