// Package state owns what rootbound keeps outside the projects: one private directory of the user with entry locks, the
// journal of temporary files, keys, and what a person decided.
//
//	DIR/locks            one file; byte ranges of it are the entry locks of all this user's processes
//	DIR/journal/RANDOM   one file for each process, locked while it lives: names of its temporary files
//	DIR/keys/NAME        32 random bytes each
//	DIR/active/HASH      which of its projects use chose
//	DIR/plans/ID         patches that wait for a person, sealed by a key
//	DIR/spent/HASH       one file for each used nonce of a token, until it expires
//	DIR/accepted/DIGEST  the scope that was accepted of one configuration file, with a MAC
//
// The directory is found so that two processes of one user agree on it even if their hosts hand them different parts of
// the environment: XDG_RUNTIME_DIR is therefore not used.
package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// Dir is the open state directory. Safe for concurrent use.
type Dir struct{ path string }

// Open finds or makes the state directory (0700): ROOTBOUND_STATE_DIR if set; else XDG_STATE_HOME/rootbound, else
// .local/state/rootbound in HOME or in the home directory of the user database, else rootbound-UID in the system's
// directory for temporary files, whichever can be made first. A directory that belongs to somebody else, or that others
// may write, is refused and never passed over. getenv is os.Getenv.
func Open(getenv func(string) string) (*Dir, error) {
	var failed error
	for _, path := range places(getenv) {
		err := os.MkdirAll(path, 0o700)
		if err == nil {
			if err := private(path); err != nil {
				return nil, fmt.Errorf("state directory %s: %w; set ROOTBOUND_STATE_DIR to a directory of your own", path, err)
			}
			if path, err = filepath.EvalSymlinks(path); err == nil {
				return &Dir{path}, nil
			}
		}
		failed = errors.Join(failed, err)
	}
	return nil, fmt.Errorf("no state directory can be made; set ROOTBOUND_STATE_DIR to a directory of your own: %w", failed)
}

func places(getenv func(string) string) []string {
	if p := getenv("ROOTBOUND_STATE_DIR"); p != "" {
		if abs, err := filepath.Abs(p); err == nil {
			p = abs
		}
		return []string{p}
	}
	var out []string
	if p := getenv("XDG_STATE_HOME"); filepath.IsAbs(p) {
		out = append(out, filepath.Join(p, "rootbound"))
	}
	if p := getenv("HOME"); filepath.IsAbs(p) {
		out = append(out, filepath.Join(p, ".local", "state", "rootbound"))
	}
	uid := os.Getuid()
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil && filepath.IsAbs(u.HomeDir) && getenv("HOME") == "" {
		out = append(out, filepath.Join(u.HomeDir, ".local", "state", "rootbound"))
	}
	return append(out, filepath.Join(os.TempDir(), "rootbound-"+strconv.Itoa(uid)))
}

// Path is the directory, absolute and without links.
func (d *Dir) Path() string { return d.path }

// sub makes a directory inside the state directory.
func (d *Dir) sub(name string) (string, error) {
	path := filepath.Join(d.path, name)
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return path, private(path)
}

// private checks that path is a directory of this user that nobody else may write.
func private(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return errors.New("not a directory")
	}
	if owner, ok := ownerOf(st); ok && owner != os.Geteuid() {
		return fmt.Errorf("belongs to user %d, not to user %d", owner, os.Geteuid())
	}
	if checksModes && st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others may write it (mode %04o)", st.Mode().Perm())
	}
	return nil
}
