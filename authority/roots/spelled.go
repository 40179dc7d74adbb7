package roots

import (
	"os"
	"path/filepath"
	"slices"
)

// Width says in words what makes a directory that an operator grants uncommonly wide; empty: nothing does. It is for a
// warning: unlike [Wide.Has] it compares canonical paths only, so that no home directory but this user's is looked at, and
// none that an automounter serves is mounted for it.
func Width(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	dir = filepath.Clean(dir)
	if filepath.Dir(dir) == dir {
		return "the whole file system"
	}
	homes := machineHomes()
	if own, err := os.UserHomeDir(); err == nil {
		if real, err := filepath.EvalSymlinks(own); err == nil {
			homes = append(homes, real)
		}
	}
	homes = slices.DeleteFunc(homes, func(h string) bool { return !filepath.IsAbs(h) || filepath.Dir(filepath.Clean(h)) == filepath.Clean(h) }) // "/" is no home
	up := filepath.Dir(dir)
	if up == "/home" || up == "/Users" || slices.ContainsFunc(homes, func(h string) bool { return filepath.Clean(h) == dir }) {
		return "a home directory"
	}
	if dir == "/home" || dir == "/Users" || slices.ContainsFunc(homes, func(h string) bool { return Within(dir, h) }) {
		return "a directory that holds home directories"
	}
	return ""
}
