package truth

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Deed is one thing done to the tree, as a case's data spells it: one key, NAME, and its fields.
type Deed struct {
	Dir      string `yaml:"dir"`      // a directory, with its parents
	File     string `yaml:"file"`     // a file: text, or bytes in hex, or a random text (a canary outside)
	Text     string `yaml:"text"`     // of file
	Hex      string `yaml:"hex"`      // of file
	Times    int    `yaml:"times"`    // text repeated
	Mode     string `yaml:"mode"`     // octal, of file, dir or chmod
	Link     string `yaml:"link"`     // a symbolic link
	Hardlink string `yaml:"hardlink"` // another name
	To       string `yaml:"to"`       // target of link, existing name of hardlink, destination of rename or exchange
	Fifo     string `yaml:"fifo"`
	Zero     string `yaml:"zero"`   // a character device like /dev/zero; needs root
	Sparse   string `yaml:"sparse"` // a file of Size without bytes
	Size     int64  `yaml:"size"`
	Many     string `yaml:"many"`     // a directory with Times empty files
	Chain    string `yaml:"chain"`    // Times directories d below each other
	Rename   string `yaml:"rename"`   // to To
	Exchange string `yaml:"exchange"` // with To, atomically
	Remove   string `yaml:"remove"`   // recursively
	Chmod    string `yaml:"chmod"`
}

// Bounds refuses amounts that no case needs.
func (d Deed) Bounds() error {
	switch {
	case d.Times < 0, d.Size < 0:
		return errors.New("times and size are not negative")
	case d.Many != "" && d.Times > 100_000, d.Chain != "" && d.Times > 1000:
		return errors.New("many goes up to 100000, chain to 1000")
	case int64(max(len(d.Text), len(d.Hex)/2, 32))*int64(d.Times) > 1<<30:
		return errors.New("a file goes up to 1 GiB; sparse costs nothing")
	}
	return nil
}

// Do does the deeds in order.
func (w *World) Do(deeds []Deed) error {
	for _, d := range deeds {
		if err := w.do(d); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) do(d Deed) error {
	if err := w.own(d); err != nil {
		return err
	}
	to := w.Fill(d.To)
	for _, p := range []string{d.File, d.Link, d.Hardlink, d.Fifo, d.Zero, d.Sparse, d.Rename} {
		if p == d.Rename && p != "" {
			p = d.To
		}
		if p != "" {
			if err := os.MkdirAll(filepath.Dir(w.Fill(p)), 0o755); err != nil {
				return err
			}
		}
	}
	switch {
	case d.Dir != "":
		if err := os.MkdirAll(w.Fill(d.Dir), 0o755); err != nil {
			return err
		}
		return w.chmod(d.Dir, d.Mode)
	case d.File != "":
		b, err := w.bytes(d)
		if err != nil {
			return err
		}
		if err := write(w.Fill(d.File), b, max(d.Times, 1)); err != nil {
			return err
		}
		return w.chmod(d.File, d.Mode)
	case d.Link != "":
		at := w.Fill(d.Link)
		os.Remove(at)
		return os.Symlink(to, at)
	case d.Hardlink != "":
		return os.Link(to, w.Fill(d.Hardlink))
	case d.Fifo != "":
		return mkfifo(w.Fill(d.Fifo))
	case d.Zero != "":
		return mkzero(w.Fill(d.Zero))
	case d.Sparse != "":
		at := w.Fill(d.Sparse)
		if err := os.WriteFile(at, nil, 0o644); err != nil {
			return err
		}
		return os.Truncate(at, d.Size)
	case d.Many != "":
		return many(w.Fill(d.Many), d.Times)
	case d.Chain != "":
		return os.MkdirAll(w.Fill(d.Chain)+strings.Repeat("/d", d.Times), 0o755)
	case d.Rename != "":
		return os.Rename(w.Fill(d.Rename), to)
	case d.Exchange != "":
		return Exchange(w.Fill(d.Exchange), to)
	case d.Remove != "":
		return os.RemoveAll(w.Fill(d.Remove))
	case d.Chmod != "":
		return w.chmod(d.Chmod, d.Mode)
	}
	return fmt.Errorf("nothing to do in %+v", d)
}

func (w *World) bytes(d Deed) (b []byte, err error) {
	switch {
	case d.Hex != "":
		b, err = hex.DecodeString(d.Hex)
	case d.Text != "":
		b = []byte(w.Fill(d.Text))
	case w.Granted(w.Fill(d.File)):
		b = []byte(w.Inside() + "\n")
	default:
		b = []byte(w.Canary() + "\n")
	}
	return b, err
}

// write writes the bytes that many times, in pieces: what is written may be larger than what should be held.
func write(path string, b []byte, times int) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	many := max(1, 1<<18/max(1, len(b)))
	piece := bytes.Repeat(b, min(many, times))
	for ; times > 0 && err == nil; times -= many {
		_, err = f.Write(piece[:min(many, times)*len(b)])
	}
	return err
}

func (w *World) chmod(path, mode string) error {
	if mode == "" {
		return nil
	}
	m, err := strconv.ParseUint(mode, 8, 32)
	if err != nil {
		return err
	}
	return os.Chmod(w.Fill(path), os.FileMode(m))
}

func many(dir string, n int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range n {
		if err := os.WriteFile(fmt.Sprintf("%s/f%d", dir, i), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}
