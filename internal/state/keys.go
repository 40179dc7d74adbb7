package state

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// KeySize is the length of every key in bytes.
const KeySize = 32

// Key returns the named secret, which is made of random bytes at its first use and then the same for all processes of
// this user. name is a word of ours ("token", "audit"). A key file that others can read or that has another size is an
// error, never replaced.
func (d *Dir) Key(name string) ([]byte, error) {
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") != "" {
		return nil, fmt.Errorf("key name %q: only the letters a-z and -", name)
	}
	dir, err := d.sub("keys")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name)
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := makeKey(dir, path); err != nil {
		return nil, fmt.Errorf("key %s: %w", name, err)
	}
	return readKey(path)
}

func readKey(path string) ([]byte, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if owner, ok := ownerOf(st); ok && owner != os.Geteuid() || checksModes && st.Mode() != 0o600 {
		return nil, fmt.Errorf("key file %s must be a file of this user with mode 0600", path)
	}
	key, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(key) != KeySize {
		return nil, fmt.Errorf("key file %s holds %d bytes, not %d", path, len(key), KeySize)
	}
	return key, nil
}

// makeKey lets the first of several processes win: a link never replaces.
func makeKey(dir, path string) error {
	var key [KeySize]byte
	rand.Read(key[:])
	tmp, err := stage(dir, true, key[:])
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	if err := os.Link(tmp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	_ = SyncDir(dir)
	return nil
}
