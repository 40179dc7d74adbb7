package state

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// Leftover is a temporary file that a process which is no longer there did not remove.
type Leftover struct {
	Root string // absolute path of the root it is in
	Dir  string // its directory below the root, "" for the root itself
	Name string
	ID   beneath.ObjectID // Mount is 0
	Old  Displaced        // the file it was to replace, if there was one
	Boot bool             // made since the machine was started: device numbers still mean the same
}

// Displaced is the version of a file on the device of the temporary one. Ino 0: none.
type Displaced struct {
	Ino         uint64
	Size, MTime int64 // bytes; nanoseconds since 1970
}

// Recover calls remove for each leftover of dead processes and forgets those for which it returns nil or fs.ErrNotExist;
// the others stay for the next time. RemoveLeftover is the remove to use. It counts what remove removed. Meant to be
// called once at start, before the process confines itself. The error joins what went wrong; none of it keeps a server
// from starting.
func (d *Dir) Recover(ctx context.Context, remove func(context.Context, Leftover) error) (removed int, err error) {
	dir, err := d.sub("journal")
	if err != nil {
		return 0, err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return removed, errors.Join(append(errs, err)...)
		}
		n, err := recoverFile(ctx, filepath.Join(dir, f.Name()), remove)
		removed += n
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

func recoverFile(ctx context.Context, path string, remove func(context.Context, Leftover) error) (removed int, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		return 0, err
	}
	defer f.Close()
	if err := tryWhole(f); err != nil {
		if errors.Is(err, errBusy) {
			return 0, nil // its process lives, or somebody else recovers it
		}
		return 0, err
	}
	if !isAt(f, path) {
		return 0, nil
	}
	var errs []error
	for _, l := range leftovers(f) {
		switch err := remove(ctx, l); {
		case err == nil:
			removed++
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fmt.Errorf("leftover %s in %s: %w", l.Name, filepath.Join(l.Root, l.Dir), err))
		}
	}
	if len(errs) > 0 {
		return removed, errors.Join(errs...)
	}
	return removed, os.Remove(path)
}

// leftovers reads the entries that were not done. A line that cannot be read is passed over: the journal is ours, and
// only the last line can have been cut.
func leftovers(f *os.File) []Leftover {
	in := bufio.NewScanner(f)
	in.Buffer(nil, 256<<10)
	if !in.Scan() {
		return nil
	}
	boot, ok := strings.CutPrefix(in.Text(), journalMagic+" ")
	if !ok {
		return nil
	}
	same := boot != "-" && boot == bootID()
	live := make(map[string]Leftover)
	var order []string
	for in.Scan() {
		kind, rest, _ := strings.Cut(in.Text(), " ")
		n, rest, _ := strings.Cut(rest, " ")
		switch kind {
		case "+":
			if l, ok := parseEntry(rest); ok {
				l.Boot = same
				live[n] = l
				order = append(order, n)
			}
		case "-":
			delete(live, n)
		}
	}
	var out []Leftover
	for _, n := range order {
		if l, ok := live[n]; ok {
			out = append(out, l)
			delete(live, n)
		}
	}
	return out
}

func parseEntry(s string) (l Leftover, ok bool) {
	number := func() (text string) { text, s, _ = strings.Cut(s, " "); return text }
	var errs [5]error
	l.ID.Dev, errs[0] = strconv.ParseUint(number(), 10, 64)
	l.ID.Ino, errs[1] = strconv.ParseUint(number(), 10, 64)
	l.Old.Ino, errs[2] = strconv.ParseUint(number(), 10, 64)
	l.Old.Size, errs[3] = strconv.ParseInt(number(), 10, 64)
	l.Old.MTime, errs[4] = strconv.ParseInt(number(), 10, 64)
	if errors.Join(errs[:]...) != nil {
		return l, false
	}
	for _, p := range []*string{&l.Root, &l.Dir, &l.Name} {
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return l, false
		}
		if *p, err = strconv.Unquote(quoted); err != nil {
			return l, false
		}
		s = strings.TrimPrefix(s[len(quoted):], " ")
	}
	return l, s == ""
}

// RemoveLeftover removes the file, or the unfinished tree, if the entry below its root still holds the very file that was staged, or the very
// version of the old file that was exchanged with it: the same inode on the same device, or, after the machine was started
// anew, the same inode under the same random name. An old file that somebody changed meanwhile stays. It follows no link
// below the root. fs.ErrNotExist: nothing is there any more, or something else.
func RemoveLeftover(_ context.Context, l Leftover) error {
	if l.Name == "" || l.Name != filepath.Base(l.Name) {
		return fs.ErrNotExist
	}
	root, err := beneath.OpenRoot(l.Root)
	if err != nil {
		return fmt.Errorf("its root cannot be opened now: %w", hide(err)) // not mounted perhaps: try again next time
	}
	defer root.Release()
	at := beneath.Ref{Path: l.Name}
	if l.Dir != "" {
		at.Path = l.Dir + "/" + l.Name
	}
	entry, err := beneath.NewSet([]beneath.Member{{Root: root}}, nil).Entry(at, false)
	if err != nil {
		return gone(err)
	}
	defer entry.Close()
	info, err := entry.Lstat()
	if err != nil {
		return gone(err)
	}
	if info.Mode.IsDir() && info.ID.Ino == l.ID.Ino && (!l.Boot || info.ID.Dev == l.ID.Dev) {
		return gone(entry.RemoveTemporary(info.ID)) // a tree that was never published
	}
	if !info.Mode.IsRegular() || l.Boot && info.ID.Dev != l.ID.Dev || info.ID.Ino != l.ID.Ino && !l.Old.is(info) {
		return fs.ErrNotExist
	}
	return gone(entry.Remove(info.ID))
}

func (d Displaced) is(i beneath.Info) bool {
	return d.Ino != 0 && i.ID.Ino == d.Ino && i.Size == d.Size && i.MTime.UnixNano() == d.MTime
}

// gone takes a directory that vanished or leads elsewhere, and an entry that changed in between, as "not there".
func gone(err error) error {
	var e *rootbound.Error
	if errors.As(err, &e) && e.Reason != rootbound.IOError {
		return fs.ErrNotExist
	}
	return err
}

// hide keeps a missing root from being taken for a missing file.
func hide(err error) error { return errors.New(err.Error()) }
