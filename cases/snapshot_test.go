//go:build linux

package cases

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// picture is a tree as it stood: one line for each object, by its path below $W.
type picture map[string]string

// take describes everything below dir but what is in skip (absolute paths, whole subtrees). Contents over 8 MiB count by
// their size. noTime names directories whose own time may change.
func take(dir string, skip, noTime []string) picture {
	p := picture{}
	var walk func(path, rel string)
	walk = func(path, rel string) {
		if slices.Contains(skip, path) {
			return
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			p[rel] = err.Error()
			return
		}
		line := fmt.Sprintf("mode=%o uid=%d gid=%d", st.Mode, st.Uid, st.Gid)
		if !slices.Contains(noTime, path) {
			line += fmt.Sprintf(" time=%d.%d", st.Mtim.Sec, st.Mtim.Nsec)
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			line += fmt.Sprintf(" size=%d %s", st.Size, digest(path, st.Size))
		case unix.S_IFLNK:
			to, _ := os.Readlink(path)
			line += " -> " + to
		case unix.S_IFDIR:
			var fs unix.Statfs_t
			if unix.Statfs(path, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC {
				break // has no quiet moment
			}
			entries, _ := os.ReadDir(path)
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), ".lt") {
					continue
				}
				walk(path+"/"+e.Name(), rel+"/"+e.Name())
			}
		}
		p[rel] = line
	}
	walk(dir, "")
	return p
}

func digest(path string, size int64) string {
	if size > 8<<20 {
		return "large"
	}
	if size == 0 {
		return "empty"
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// diff lists what changed, for a failure message.
func (p picture) diff(q picture) []string {
	var out []string
	for k, v := range p {
		if w, ok := q[k]; !ok {
			out = append(out, "gone: "+k)
		} else if w != v {
			out = append(out, fmt.Sprintf("changed: %s: %s, now %s", k, v, w))
		}
	}
	for k, v := range q {
		if _, ok := p[k]; !ok {
			out = append(out, "new: "+k+" "+v)
		}
	}
	slices.Sort(out)
	return out
}

// touched are the directories in which a loop or a timed step moves names, whose times say nothing.
func (w *world) touched(all []step) []string {
	var out []string
	var add func(s step)
	add = func(s step) {
		for i := range s.args {
			if nested, ok := s.args[i].([]any); ok {
				add(asStep(nested))
				continue
			}
			if p := w.at(s.str(i)); strings.HasPrefix(p, w.dir) {
				out = append(out, filepath.Dir(p), p)
			}
		}
	}
	for _, s := range all {
		if strings.HasPrefix(s.name, "loop-") || s.name == "on-open" || s.name == "at-syscall" || s.name == "in-callback" {
			add(s)
		}
	}
	return out
}
