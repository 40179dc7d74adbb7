package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

var (
	errOutside = errors.New("outside")
	errKind    = errors.New("no regular file")
	errExists  = errors.New("it exists")
)

// place is where a path leads: below a root, without links on the way.
type place struct {
	d    *dir
	rel  string // in the root
	path string // absolute, for the modes that use paths
}

func (p place) top() bool { return p.rel == "." }

// find resolves a path. final says whether a link as the last name is followed.
func (s *server) find(scope []*dir, path string, final bool) (place, error) {
	if is("decodes") && strings.Contains(path, "%") { // judged as it was sent, opened as it reads
		d, _ := url.PathUnescape(path)
		return place{scope[0], path, d}, nil
	}
	if strings.Contains(path, "\x00") || path == "" {
		return place{}, errOutside
	}
	if !filepath.IsAbs(path) {
		if is("working-directory") {
			abs, _ := filepath.Abs(path)
			if _, err := os.Stat(abs); err == nil {
				return place{scope[0], path, abs}, nil
			}
		}
		path = scope[0].spelled + "/" + path
	}
	if is("prefix-check", "lexical-check", "realpath-then-open", "follows-dangling") {
		return byPath(scope, path)
	}
	d, rest := match(scope, path)
	if d == nil || !d.same() {
		return place{}, errOutside
	}
	rel, err := d.walk(rest, final)
	if is("follows-from-a-handle") && final && rel != "." {
		return place{d, rel, path}, err
	}
	return place{d, rel, filepath.Join(d.real, rel)}, err
}

// byPath is how servers that judge strings do it.
func byPath(scope []*dir, path string) (place, error) {
	clean := filepath.Clean(path)
	if is("realpath-then-open", "follows-dangling") {
		real, err := filepath.EvalSymlinks(clean)
		if err != nil {
			parent, perr := filepath.EvalSymlinks(filepath.Dir(clean))
			if perr != nil {
				return place{}, perr
			}
			if _, lerr := os.Lstat(clean); lerr == nil && !is("follows-dangling") {
				return place{}, errOutside
			}
			real = filepath.Join(parent, filepath.Base(clean))
		}
		clean = real
	}
	for _, d := range scope {
		for _, top := range []string{d.spelled, d.real} {
			if within(top, clean) || is("prefix-check") && strings.HasPrefix(clean, top) {
				return place{d, strings.TrimPrefix(strings.TrimPrefix(clean, top), "/"), path}, nil
			}
		}
	}
	return place{}, errOutside
}

func match(scope []*dir, path string) (*dir, string) {
	for _, d := range scope {
		for _, top := range []string{d.spelled, d.real} {
			if within(top, path) {
				return d, path[len(top):]
			}
		}
	}
	return nil, ""
}

// walk goes component by component beneath the root and follows links that stay inside.
func (d *dir) walk(rest string, final bool) (string, error) {
	var done []string
	todo := strings.Split(rest, "/")
	for links := 0; len(todo) > 0; {
		c := todo[0]
		todo = todo[1:]
		switch c {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", errOutside
			}
			done = done[:len(done)-1]
			continue
		}
		at := strings.Join(append(done, c), "/")
		info, err := d.root.Lstat(at)
		last := len(todo) == 0
		switch {
		case errors.Is(err, os.ErrNotExist) && (last || is("makes-parents")):
			at = strings.Join(append(strings.Split(at, "/"), todo...), "/")
			return at, nil
		case err != nil && strings.Contains(err.Error(), "escapes"):
			return "", errOutside
		case err != nil:
			return "", err
		case !last && info.Mode().IsRegular():
			return "", os.ErrNotExist
		}
		if info.Mode()&fs.ModeSymlink == 0 || last && !final {
			done = append(done, c)
			continue
		}
		if links++; links > 40 {
			return "", errOutside
		}
		to, err := d.root.Readlink(at)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(to) {
			if !within(d.real, to) {
				return "", errOutside
			}
			done, to = nil, to[len(d.real):]
		} else if _, err := d.root.Stat(at); err != nil && last {
			return "", errOutside // dangling, or out by a climb
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return strings.Join(done, "/"), nil
}

func (p place) byPath() bool {
	return is("prefix-check", "lexical-check", "realpath-then-open", "follows-dangling") || is("decodes") && strings.Contains(p.rel, "%") ||
		is("working-directory") && filepath.IsAbs(p.path) && !within(p.d.real, p.path)
}

func (p place) open() (*os.File, error) {
	flags := os.O_RDONLY | syscall.O_NONBLOCK
	if is("opens-fifos") {
		flags = os.O_RDONLY
	}
	if p.byPath() {
		return os.OpenFile(p.path, flags, 0)
	}
	if is("follows-from-a-handle") && !p.top() {
		return p.fromParent(flags)
	}
	return p.d.root.OpenFile(p.rel, flags, 0)
}

// fromParent judges a handle of the directory, and lets the kernel follow a link from wherever it lies by then.
func (p place) fromParent(flags int) (*os.File, error) {
	parent, err := os.Open(filepath.Dir(p.path))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	at := fmt.Sprintf("/proc/self/fd/%d", parent.Fd())
	if real, err := os.Readlink(at); err != nil || !within(p.d.real, real) {
		return nil, errOutside
	}
	return os.OpenFile(at+"/"+filepath.Base(p.path), flags, 0)
}

const most = 1 << 20

func (p place) read() ([]byte, error) {
	f, err := p.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !is("opens-fifos") {
		return nil, errKind
	}
	if is("reads-everything") {
		return io.ReadAll(f)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// write replaces the whole file: a new one is renamed over the name.
func (p place) write(b []byte, made bool) error {
	if p.top() {
		return errKind
	}
	if p.byPath() {
		if err := os.WriteFile(p.path, b, 0o644); err != nil {
			return err
		}
		return nil
	}
	mode := fs.FileMode(0o644)
	if info, err := p.d.root.Lstat(p.rel); err == nil {
		if !info.Mode().IsRegular() {
			return errKind
		}
		mode = info.Mode().Perm()
	}
	if is("makes-parents") {
		p.d.root.MkdirAll(filepath.Dir(p.rel), 0o755)
	}
	if is("writes-in-place") {
		return p.d.root.WriteFile(p.rel, b, mode)
	}
	temp := filepath.Dir(p.rel) + fmt.Sprintf("/.new-%d", time.Now().UnixNano())
	f, err := p.d.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	f.Chmod(mode)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = p.d.root.Rename(temp, p.rel)
	}
	if err != nil {
		p.d.root.Remove(temp)
	}
	return err
}

func (s *server) do(tool string, in input) (string, error) {
	scope, epoch, err := s.scopeNow()
	if err != nil {
		return "", err
	}
	if tool == "move_file" {
		in.Path = in.Source
	}
	p, err := s.find(scope, in.Path, tool != "move_file" && tool != "delete_file")
	if err != nil {
		return "", err
	}
	switch tool {
	case "read_file":
		b, err := p.read()
		if err != nil {
			return "", err
		}
		if bytes.IndexByte(b, 0) >= 0 {
			return "", errKind
		}
		return string(b), nil
	case "list_directory", "directory_tree", "search_files":
		if tool == "search_files" && is("finds-nothing", "searches-contents") {
			return p.search(in.Regex)
		}
		var b strings.Builder
		left := 50000
		err := p.list(&b, tool != "list_directory", "", &left)
		return b.String(), err
	case "get_file_info":
		var info fs.FileInfo
		if p.byPath() {
			info, err = os.Stat(p.path)
		} else {
			info, err = p.d.root.Lstat(p.rel)
		}
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("size: %d\nisDirectory: %v", info.Size(), info.IsDir()), nil
	}
	if !is("loses-updates") {
		s.effect.Lock()
		defer s.effect.Unlock()
	}
	s.mu.Lock()
	stale := s.declared && s.epoch != epoch && !is("serves-meanwhile", "takes-late", "keeps-old")
	s.mu.Unlock()
	if stale {
		return "", errScope
	}
	return "done", s.change(scope, p, tool, in)
}

func (s *server) change(scope []*dir, p place, tool string, in input) error {
	switch tool {
	case "write_file":
		return p.write([]byte(in.Content), true)
	case "edit_file":
		return p.edit(in)
	case "create_directory":
		if p.byPath() {
			return os.MkdirAll(p.path, 0o755)
		}
		return p.d.root.MkdirAll(p.rel, 0o755)
	case "delete_file":
		if p.top() {
			return errKind
		}
		return p.d.root.Remove(p.rel)
	}
	to, err := s.find(scope, in.Destination, false)
	switch {
	case err != nil:
		return err
	case p.byPath():
		if _, err := os.Lstat(to.path); err == nil {
			return errExists
		}
		return os.Rename(p.path, to.path)
	case p.top() || to.top() || p.d != to.d:
		return errKind
	}
	if _, err := to.d.root.Lstat(to.rel); err == nil && !is("moves-over") {
		return errExists
	}
	return p.d.root.Rename(p.rel, to.rel)
}

func (p place) edit(in input) error {
	b, err := p.read()
	if err != nil || len(in.Edits) != 1 {
		return errors.Join(err, errKind)
	}
	old, with := []byte(in.Edits[0].OldText), []byte(in.Edits[0].NewText)
	if is("rewrites-text") {
		b = bytes.ReplaceAll([]byte(strings.ToValidUTF8(string(b), "\ufffd")), []byte("\r\n"), []byte("\n"))
	}
	n := bytes.Count(b, old)
	if n == 0 || n > 1 && !is("edits-the-first") {
		return errKind
	}
	if is("loses-updates") {
		time.Sleep(50 * time.Millisecond)
	}
	return p.write(bytes.Replace(b, old, with, 1), false)
}

// list writes the names below a place, one a line, odd bytes escaped.
func (p place) list(b *strings.Builder, deep bool, indent string, left *int) error {
	f, err := p.open()
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if *left--; *left < 0 || len(indent) > 200 {
			return nil
		}
		name := e.Name()
		fmt.Fprintf(b, "%s%s\n", indent, shown(name))
		sub := place{p.d, strings.TrimPrefix(p.rel+"/"+name, "./"), p.path + "/" + name}
		down := e.IsDir()
		if is("walks-through-links") && e.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(sub.path)
			down = err == nil && info.IsDir() && len(indent) < 20
			if down && deep {
				list, _ := os.ReadDir(sub.path)
				for _, x := range list {
					fmt.Fprintf(b, "%s  %s\n", indent, shown(x.Name()))
				}
			}
			continue
		}
		if deep && down {
			sub.list(b, deep, indent+" ", left)
		}
	}
	return nil
}

func shown(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return name
	}
	return fmt.Sprintf("%q", name)
}
