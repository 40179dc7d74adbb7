package storm

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Naive is the usual path-based guard: resolve the links, compare the prefix, open by the path. It is here to leak: a
// storm that it survives is none.
type Naive struct{ Root string }

func (n Naive) check(p string, exists bool) (string, error) {
	full := filepath.Join(n.Root, p)
	real, err := filepath.EvalSymlinks(full)
	if err != nil && !exists {
		if real, err = filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
			real = filepath.Join(real, filepath.Base(full))
		}
	}
	if err != nil {
		return "", err
	}
	if real != n.Root && !strings.HasPrefix(real, n.Root+"/") {
		return "", errors.New("outside")
	}
	runtime.Gosched() // others may run between the look and the use at any time; with one processor they hardly would in so short a storm
	return full, nil
}

// Do does as asked, by paths.
func (n Naive) Do(c Call) ([]byte, error) {
	p, err := n.check(c.Path, c.Op != Create && c.Op != Write && c.Op != Mkdir)
	if err != nil {
		return nil, err
	}
	switch c.Op {
	case Read:
		return os.ReadFile(p)
	case Stat:
		i, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		return []byte(i.Name()), nil
	case Write:
		return nil, os.WriteFile(p, []byte(c.Text), 0o644)
	case Create:
		f, err := os.OpenFile(p, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		_, err = f.WriteString(c.Text)
		return nil, err
	case Edit:
		b, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		if !strings.Contains(string(b), c.Old) {
			return nil, errors.New("no match")
		}
		return nil, os.WriteFile(p, []byte(strings.Replace(string(b), c.Old, c.New, 1)), 0o644)
	case Mkdir:
		return nil, os.Mkdir(p, 0o755)
	case Move:
		to, err := n.check(c.To, false)
		if err != nil {
			return nil, err
		}
		return nil, os.Rename(p, to)
	case Copy:
		to, err := n.check(c.To, false)
		if err != nil {
			return nil, err
		}
		if b, err := os.ReadFile(p); err == nil {
			return nil, os.WriteFile(to, b, 0o644)
		}
		return nil, os.CopyFS(to, os.DirFS(p))
	case Delete:
		return nil, os.RemoveAll(p)
	case Append:
		f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		_, err = f.WriteString(c.Text)
		return nil, err
	case List:
		list, err := os.ReadDir(p)
		var names []string
		for _, e := range list {
			names = append(names, e.Name())
		}
		return []byte(strings.Join(names, "\n")), err
	case Tree:
		var names []string
		err := filepath.WalkDir(p, func(p string, _ fs.DirEntry, err error) error {
			names = append(names, filepath.Base(p))
			return err
		})
		return []byte(strings.Join(names, "\n")), err
	}
	return nil, errors.ErrUnsupported
}
