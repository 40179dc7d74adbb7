package authority

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rootbound/rootbound/beneath"
)

// wide knows the directories that a client cannot be granted whole: the top of the file system, home directories, and
// what contains one. They are compared by object. Home directories are only ever looked at to refuse them. They are
// looked up once, with the first root that has to be judged. Safe for concurrent use.
type wide struct {
	homes []string // nil: those of this machine

	once sync.Once
	ids  []beneath.ObjectID
}

func (w *wide) has(root *beneath.Root) bool {
	w.once.Do(func() {
		homes := w.homes
		if homes == nil {
			homes = machineHomes()
		}
		for _, h := range slices.Concat(homes, []string{string(filepath.Separator)}) {
			w.add(h)
		}
	})
	if up := filepath.Dir(root.Path()); w.homes == nil && (up == "/home" || up == "/Users") {
		return true // users of a directory service stand in no file
	}
	for _, id := range w.ids {
		if id.Same(root.ID()) {
			return true
		}
	}
	return false
}

// add remembers a directory and everything above it. What cannot be opened cannot be a root either.
func (w *wide) add(dir string) {
	for _, d := range []string{dir, canonical(dir)} {
		for d != "" && filepath.IsAbs(d) {
			if r, err := beneath.OpenRoot(d); err == nil {
				w.ids = append(w.ids, r.ID())
				r.Release()
			}
			up := filepath.Dir(d)
			if up == d {
				break
			}
			d = up
		}
	}
}

func canonical(dir string) string {
	if c, err := filepath.EvalSymlinks(dir); err == nil {
		return c
	}
	return ""
}

// machineHomes are the homes of this process's user and of the accounts of people: system accounts live in directories
// like /bin or /var/www, which nobody would call a home.
func machineHomes() []string {
	var out []string
	if h, err := os.UserHomeDir(); err == nil {
		out = append(out, h)
	}
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		out = append(out, u.HomeDir)
	}
	b, err := os.ReadFile("/etc/passwd") // passwd(5); not there on Windows
	if err != nil {
		return out
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		f := strings.Split(line, ":")
		if len(f) < 6 || f[5] == "" {
			continue
		}
		if uid, err := strconv.Atoi(f[2]); err == nil && (uid == 0 || uid >= 500 && uid < 65534) {
			out = append(out, f[5])
		}
	}
	return out
}
