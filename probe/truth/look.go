package truth

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// entry is what a look knows of one name.
type entry struct {
	kind     fs.FileMode // type bits
	mode     fs.FileMode // permission, set-id and sticky bits
	size     int64
	content  string // digest of a file's bytes, or a link's text
	identity string // device, inode, number of names, owner
	times    string // modification and change
	dir      bool
}

// Look is the tree at one moment, by path.
type Look map[string]entry

// hashed bounds what is read of one file; beyond it size and times speak.
const hashed = 1 << 20

// Look looks at everything but the server's own home and temporary files.
func (w *World) Look() Look {
	l := Look{}
	filepath.WalkDir(w.Dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone meanwhile, or unreadable: its absence is seen by the comparison
		}
		if p == w.Dir+"/home" || p == w.Dir+"/tmp" {
			return fs.SkipDir
		}
		if info, err := d.Info(); err == nil {
			l[p] = look(p, info)
		}
		return nil
	})
	return l
}

// Bytes is the sum of the sizes of the files.
func (l Look) Bytes() int64 {
	n := int64(0)
	for _, e := range l {
		n += e.size
	}
	return n
}

func look(p string, info fs.FileInfo) entry {
	e := entry{kind: info.Mode().Type(), mode: info.Mode() &^ fs.ModeType, dir: info.IsDir()}
	e.identity, e.times = identity(info)
	switch {
	case e.kind == fs.ModeSymlink:
		e.content, _ = os.Readlink(p)
	case e.kind == 0:
		e.size = info.Size()
		if e.size > 0 && e.size <= hashed {
			e.content = digest(p)
		}
	}
	return e
}

func digest(p string) string {
	f, err := os.Open(p)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	h := sha256.New()
	io.Copy(h, io.LimitReader(f, hashed))
	return string(h.Sum(nil))
}

// Changes tells what differs from one look to the next: everything outside the granted directories, and inside them what
// can be seen by name (identities and times may change there when a temporary file came and went). Paths are blanked.
func (w *World) Changes(before, after Look) (outside, inside []string) {
	names := map[string]bool{}
	for p := range before {
		names[p] = true
	}
	for p := range after {
		names[p] = true
	}
	for _, p := range slices.Sorted(maps.Keys(names)) {
		b, was := before[p]
		a, is := after[p]
		out := !w.Granted(p)
		exact := out && !slices.Contains(w.Shared, p)
		var what string
		switch {
		case !was:
			what = "was made"
		case !is:
			what = "is gone"
		default:
			what = changed(b, a, exact)
		}
		if what == "" {
			continue
		}
		line := fmt.Sprintf("%s %s", w.Blank(p), what)
		if out {
			outside = append(outside, line)
		} else {
			inside = append(inside, line)
		}
	}
	return outside, inside
}

func changed(b, a entry, exact bool) string {
	var what []string
	add := func(differs bool, name string) {
		if differs {
			what = append(what, name)
		}
	}
	add(b.kind != a.kind, "kind")
	add(b.size != a.size || b.content != a.content, "content")
	add(b.mode != a.mode, "mode")
	if exact {
		add(b.identity != a.identity, "identity")
		add(b.times != a.times && (!a.dir || len(what) == 0), "times")
	}
	if len(what) == 0 {
		return ""
	}
	return "changed: " + strings.Join(what, ", ")
}
