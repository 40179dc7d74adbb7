package beneath

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/storm"
)

// victim does the tools' work on a Set, as the rooms above do, and nothing more.
type victim struct{ s *Set }

func (v victim) Do(c storm.Call) ([]byte, error) {
	at := Ref{0, c.Path}
	switch c.Op {
	case storm.Read:
		o, err := v.s.Open(at, File)
		if err != nil {
			return nil, err
		}
		defer o.Close()
		return io.ReadAll(io.NewSectionReader(o, 0, 1<<20))
	case storm.Stat:
		o, err := v.s.Open(at, Handle)
		if err != nil {
			return nil, err
		}
		defer o.Close()
		i, err := o.Stat()
		return fmt.Append(nil, i), err
	case storm.List, storm.Tree:
		o, err := v.s.Open(at, Dir)
		if err != nil {
			return nil, err
		}
		defer o.Close()
		var b bytes.Buffer
		visit := func(n *Node) (Step, error) {
			if _, err := n.Info(); err != nil && rootbound.ReasonOf(err) == "" {
				return Stop, err
			}
			fmt.Fprintln(&b, n.Name())
			if f, err := n.Open(); err == nil {
				_, _ = io.Copy(&b, io.NewSectionReader(f, 0, 1<<10))
				f.Close()
			}
			return Into, nil
		}
		if c.Op == storm.List {
			err = o.List(ctx(), "", visit)
		} else {
			err = o.Walk(ctx(), visit, nil)
		}
		return b.Bytes(), err
	case storm.Write:
		return nil, write(v.s, c.Path, c.Text)
	case storm.Create:
		e, err := v.s.Entry(at, false)
		if err != nil {
			return nil, err
		}
		defer e.Close()
		st, err := e.Stage(nil, nil)
		if err != nil {
			return nil, err
		}
		defer st.Close()
		if _, err := st.Write([]byte(c.Text)); err != nil {
			return nil, err
		}
		_, err = st.Publish(nil)
		return nil, err
	case storm.Edit:
		return nil, v.edit(at, c.Old, c.New)
	case storm.Mkdir:
		o, _, err := v.s.MkdirAll(at, allow, direct)
		if err == nil {
			o.Close()
		}
		return nil, err
	case storm.Move:
		from, err := v.s.Entry(at, false)
		if err != nil {
			return nil, err
		}
		defer from.Close()
		to, err := v.s.Entry(Ref{0, c.To}, false)
		if err != nil {
			return nil, err
		}
		defer to.Close()
		return nil, from.Rename(to, ObjectID{}, false)
	}
	return nil, errors.ErrUnsupported
}

func (v victim) edit(at Ref, old, text string) error {
	e, err := v.s.Entry(at, true)
	if err != nil {
		return err
	}
	defer e.Close()
	o, err := e.Open(File)
	if err != nil {
		return err
	}
	defer o.Close()
	was := o.Info()
	b, err := io.ReadAll(io.NewSectionReader(o, 0, 1<<20))
	if err != nil {
		return err
	}
	if bytes.Count(b, []byte(old)) != 1 {
		return refuse(rootbound.EditNoMatch, "", nil)
	}
	st, err := e.Stage(o, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	if _, err := st.Write(bytes.Replace(b, []byte(old), []byte(text), 1)); err != nil {
		return err
	}
	if err := st.settle(); err != nil {
		return err
	}
	_, err = st.Publish(&was)
	return err
}

// stormTime is how long each storm blows: RB_STORM_SECONDS, a minute with RB_LONG, else a little.
func stormTime(t *testing.T) time.Duration {
	if s := os.Getenv("RB_STORM_SECONDS"); s != "" {
		n, err := strconv.Atoi(s)
		must(t, err)
		return time.Duration(n) * time.Second
	}
	if os.Getenv("RB_LONG") != "" {
		return time.Minute
	}
	return 1500 * time.Millisecond
}

// served are the operations that this room has; copies, deletions of trees and appending are built on them elsewhere, and a
// call that the victim does not know counts for nothing.
var served = []storm.Op{storm.Read, storm.Read, storm.Read, storm.Read, storm.Write, storm.Create, storm.Edit, storm.Mkdir, storm.Move, storm.List, storm.Stat, storm.Tree}

// TestStorm is G01 and G02 for this room alone: nothing outside is read or written, on either resolver, with the root's
// own name exchanged too. That the same storm makes a path-based guard leak is shown in internal/storm.
func TestStorm(t *testing.T) {
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w, err := storm.NewWorld(t.TempDir())
		must(t, err)
		r, err := OpenRoot(w.Root)
		must(t, err)
		defer r.Release()
		s := NewSet([]Member{{Root: r}}, nil)
		s.walkOnly = walkOnly
		before := openFDs(t)
		long := storm.Storm{World: w, Victim: victim{s}, For: stormTime(t), SwapRoot: true, Hides: true, Only: served}
		if os.Getenv("RB_LONG") != "" { // a million calls, half of them on each resolver
			long.For, long.Calls = 20*time.Minute, 500_000
		}
		var report *storm.Report
		for range 4 { // the attackers of a busy machine may have a bad round
			report, err = long.Run(context.Background())
			must(t, err)
			t.Log(report)
			if report.Clean() != nil || report.Fair() == nil {
				break
			}
		}
		if err := report.Check(); err != nil {
			t.Error(err)
		}
		if report.Calls() < long.Calls*99/100 { // each worker takes a whole share
			t.Errorf("%d calls, want %d", report.Calls(), long.Calls)
		}
		if after := openFDs(t); after != before {
			t.Errorf("%d descriptors, %d before", after, before)
		}
		left := []string{}
		must(t, fs.WalkDir(os.DirFS(w.Dir), ".", func(p string, _ fs.DirEntry, err error) error {
			if strings.Contains(p, TempPrefix) {
				left = append(left, p)
			}
			return err
		}))
		if len(left) > 0 {
			t.Error("left over:", left)
		}
	})
}
