package authority

import (
	"context"
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
// what contains one. They are compared by object, and by path where a home does not open (an automounter that sleeps).
// Home directories are only ever looked at to refuse them, once, with the first root that has to be judged. Safe for
// concurrent use.
type wide struct {
	homes []string // nil: those of this machine

	once  sync.Once
	paths []string
	ids   []beneath.ObjectID
}

func (w *wide) has(root *beneath.Root, open *opening) bool {
	w.once.Do(func() { w.learn(open) })
	if up := filepath.Dir(root.Path()); w.homes == nil && (up == "/home" || up == "/Users") {
		return true // users of a directory service stand in no file
	}
	return slices.ContainsFunc(w.paths, func(p string) bool { return within(root.Path(), p) }) ||
		slices.ContainsFunc(w.ids, root.ID().Same)
}

// learn opens the homes and everything above them, then what is above the places where links led.
func (w *wide) learn(open *opening) {
	homes := w.homes
	if homes == nil {
		homes = machineHomes()
	}
	var more []string
	for _, h := range append(slices.Clone(homes), string(filepath.Separator)) {
		if filepath.IsAbs(h) {
			more = append(more, filepath.Clean(h))
		}
	}
	for len(more) > 0 {
		var next []string
		for _, p := range more {
			for ; !slices.Contains(w.paths, p); p = filepath.Dir(p) {
				w.paths, next = append(w.paths, p), append(next, p)
			}
		}
		more = nil
		for _, got := range open.all(context.Background(), next) {
			if got.root != nil { // what cannot be opened cannot be a root either
				w.ids, more = append(w.ids, got.root.ID()), append(more, got.root.Path())
				got.root.Release()
			}
		}
	}
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
