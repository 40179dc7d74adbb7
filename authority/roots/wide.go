package roots

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

// Wide knows the directories that a client cannot be granted whole: the top of the file system, home directories, and
// what contains one. They are compared by object, and by path where a home does not open (an automounter that sleeps).
// Home directories are only ever looked at to refuse them, once, with the first root that has to be judged. Safe for
// concurrent use; the zero value is ready.
type Wide struct {
	Homes []string // nil: those of this machine. Set before the first use

	once  sync.Once
	paths []string
	ids   []beneath.ObjectID
}

// Has reports whether root is one of them (root_too_wide, contract §2).
func (w *Wide) Has(root *beneath.Root, open *Opener) bool {
	w.once.Do(func() { w.learn(open) })
	if up := filepath.Dir(root.Path()); w.Homes == nil && (up == "/home" || up == "/Users") {
		return true // users of a directory service stand in no file
	}
	return slices.ContainsFunc(w.paths, func(p string) bool { return Within(root.Path(), p) }) ||
		slices.ContainsFunc(w.ids, root.ID().Same)
}

// learn opens the homes and everything above them, then what is above the places where links led.
func (w *Wide) learn(open *Opener) {
	homes := w.Homes
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
		for _, got := range open.All(context.Background(), next) {
			if got.Root != nil { // what cannot be opened cannot be a root either
				w.ids, more = append(w.ids, got.Root.ID()), append(more, got.Root.Path())
				got.Root.Release()
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

// Within reports whether abs is dir or below it, by components and without a look at the disk.
func Within(dir, abs string) bool {
	rel, err := filepath.Rel(dir, abs)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Nested reports whether one of two canonical paths is the other or lies below it. By text, since it is asked often.
func Nested(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	sep := string(filepath.Separator)
	return strings.HasPrefix(b, a) && (len(a) == len(b) || strings.HasSuffix(a, sep) || b[len(a)] == filepath.Separator)
}
