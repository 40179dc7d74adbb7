package state

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rootbound/rootbound"
)

// Plans keeps patches that wait for a person in DIR/plans, one file each (0600), for all processes of this user. The first
// line of a file has the time it is good until and the MAC of its name, that time and its body under the key "plans", so
// that what another program writes there is told from what a server laid out. Safe for concurrent use, by several
// processes too: each file is made under a temporary name and linked.
type Plans struct {
	dir   string
	key   []byte
	now   func() time.Time
	most  int   // files
	bytes int64 // of all files together
}

const (
	planMagic = "rootbound-plan 1 "
	maxPlans  = 64
	planBytes = 128 << 20
)

// Waiting is a plan that waits.
type Waiting struct {
	ID    string
	Until time.Time
	Body  []byte
}

// Plans opens the store of waiting plans.
func (d *Dir) Plans() (*Plans, error) {
	dir, err := d.sub("plans")
	if err != nil {
		return nil, err
	}
	key, err := d.Key("plans")
	if err != nil {
		return nil, err
	}
	return &Plans{dir: dir, key: key, now: time.Now, most: maxPlans, bytes: planBytes}, nil
}

// Put keeps body until then. limit_reached if as many wait as there is room for: nothing that waits is dropped for it.
func (p *Plans) Put(id string, until time.Time, body []byte) error {
	path, err := p.path(id)
	if err != nil {
		return err
	}
	if err := p.room(int64(len(body))); err != nil {
		return err
	}
	ms := strconv.FormatInt(until.UnixMilli(), 10)
	tmp, err := stage(p.dir, false, []byte(planMagic+ms+" "+p.mac(id, ms, body)+"\n"), body)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	return os.Link(tmp, path) // never replaces; a plan that a crash of the machine loses is proposed again
}

// path is where a plan lies; ids are words of ours.
func (p *Plans) path(id string) (string, error) {
	if id == "" || len(id) > 32 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return "", errors.New("not the id of a plan")
	}
	return filepath.Join(p.dir, id), nil
}

func (p *Plans) mac(id, until string, body []byte) string {
	m := hmac.New(sha256.New, p.key)
	fmt.Fprintf(m, "%s\n%s\n", id, until)
	m.Write(body)
	return hex.EncodeToString(m.Sum(nil))
}

// room removes what has expired and refuses what does not fit.
func (p *Plans) room(more int64) error {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return err
	}
	n, size := 0, more
	for _, e := range entries {
		at := filepath.Join(p.dir, e.Name())
		st, err := e.Info()
		if err != nil {
			continue // removed meanwhile
		}
		if p.over(at, e.Name(), st) && os.Remove(at) == nil {
			continue
		}
		n, size = n+1, size+st.Size()
	}
	if n >= p.most || size > p.bytes {
		return &rootbound.Error{Reason: rootbound.LimitReached, Detail: fmt.Sprintf("%d plans wait for a person already", n), Retryable: true,
			Next: "Ask the person to apply or reject some of them with rootbound patch, or wait until they expire."}
	}
	return nil
}

// over reports a plan that has expired, and leftovers that are a day old.
func (p *Plans) over(at, name string, st fs.FileInfo) bool {
	until, ok := expiry(at)
	if strings.HasPrefix(name, tempPrefix) || !ok {
		return p.now().Sub(st.ModTime()) > 24*time.Hour
	}
	return !p.now().Before(until)
}

// expiry reads the first line of a file, whoever wrote it.
func expiry(at string) (time.Time, bool) {
	f, err := os.Open(at)
	if err != nil {
		return time.Time{}, false
	}
	defer f.Close()
	head := make([]byte, len(planMagic)+20)
	n, _ := f.Read(head)
	rest, ok := bytes.CutPrefix(head[:n], []byte(planMagic))
	ms, _, _ := bytes.Cut(rest, []byte(" "))
	t, err := strconv.ParseInt(string(ms), 10, 64)
	return time.UnixMilli(t), ok && err == nil
}

// Get finds a plan that waits. fs.ErrNotExist if there is none or it has expired; any other error means that it is not
// what a server laid out.
func (p *Plans) Get(id string) (Waiting, error) {
	path, err := p.path(id)
	if err != nil {
		return Waiting{}, fs.ErrNotExist
	}
	st, err := os.Lstat(path)
	if err != nil {
		return Waiting{}, err
	}
	if !st.Mode().IsRegular() || st.Size() > p.bytes {
		return Waiting{}, errors.New("it is not what a server laid out")
	}
	all, err := os.ReadFile(path)
	if err != nil {
		return Waiting{}, err
	}
	head, body, _ := bytes.Cut(all, []byte("\n"))
	rest, ok := bytes.CutPrefix(head, []byte(planMagic))
	ms, sum, two := bytes.Cut(rest, []byte(" "))
	if !ok || !two || !hmac.Equal(sum, []byte(p.mac(id, string(ms), body))) {
		return Waiting{}, errors.New("it is not what a server laid out")
	}
	t, err := strconv.ParseInt(string(ms), 10, 64)
	if err != nil {
		return Waiting{}, err
	}
	w := Waiting{ID: id, Until: time.UnixMilli(t), Body: body}
	if !p.now().Before(w.Until) {
		return Waiting{}, fs.ErrNotExist
	}
	return w, nil
}

// Has reports whether a plan waits.
func (p *Plans) Has(id string) bool {
	_, err := p.Get(id)
	return err == nil
}

// List finds all plans that wait, those that expire first first. strange counts files that no server laid out.
func (p *Plans) List() (all []Waiting, strange int, err error) {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		switch w, err := p.Get(e.Name()); {
		case err == nil:
			all = append(all, w)
		case !errors.Is(err, fs.ErrNotExist):
			strange++
		}
	}
	slices.SortFunc(all, func(a, b Waiting) int { return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.ID, b.ID)) })
	return all, strange, nil
}

// Drop forgets a plan.
func (p *Plans) Drop(id string) error {
	path, err := p.path(id)
	if err != nil {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
