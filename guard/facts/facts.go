// Package facts puts what a request reached and what came of it into the words of a record (contract §7). It asks nothing of
// the file system and writes nothing.
package facts

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
)

func canonical(linked bool) string {
	if linked {
		return "links"
	}
	return "exact"
}

func object(i beneath.Info, crossed bool, fsName string) decision.Object {
	return decision.Object{Dev: i.ID.Dev, Ino: i.ID.Ino, Mount: i.ID.Mount, Type: typeName(i.Mode), FS: fsName, Links: i.Links, Crossed: crossed}
}

// parent is the directory of an entry.
func parent(e *beneath.Entry) decision.Object {
	k := e.Key()
	return decision.Object{Dev: k.Dir.Dev, Ino: k.Dir.Ino, Mount: k.Dir.Mount, Type: "directory", Crossed: e.Crossed()}
}

func typeName(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "symlink"
	}
	return "other"
}

// Errno is the system's own words for its error number: they hold no path, as the text around it may.
func Errno(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return ""
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	}
	return ""
}
