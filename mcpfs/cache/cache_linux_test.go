package cache_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/cache"
)

// house is a project with long files, and who may read them.
type house struct {
	t       *testing.T
	dir     string
	ceiling *authority.Ceiling
	door    *guard.Guard
}

func build(t *testing.T, files int) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir(), door: guard.New(guard.Options{})}
	for i := range files {
		h.file(fmt.Sprint(i), cache.Smallest)
	}
	var err error
	h.ceiling, err = authority.Open([]rootbound.Project{{ID: "p", Dir: h.dir, Rights: rootbound.ReadOnly}}, authority.CeilingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.ceiling.Close() })
	return h
}

func (h *house) file(name string, size int) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(strings.Repeat("0123456789abcde\n", size/16)), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) authority() *authority.Authority {
	a := authority.New(h.ceiling, authority.Options{})
	h.t.Cleanup(a.Close)
	return a
}

// read reads from a line on as the tools do, and tells what was known before.
func (h *house) read(a *authority.Authority, c *cache.Cache, name string, line int64, during func()) (known int) {
	h.t.Helper()
	u, err := a.Acquire(context.Background(), false)
	if err != nil {
		h.t.Fatal(err)
	}
	defer u.Release()
	ctx, done := authority.With(context.Background(), u)
	defer done()
	err = h.door.Do(ctx, guard.Request{Op: rootbound.OpRead, Root: "p", Path: name, Contained: true}, func(ctx context.Context, on *guard.Target) error {
		marks := c.Marks(on)
		known = len(marks)
		text, err := fileop.ReadTextFrom(ctx, on, on.Info(), fileop.Lines(line, 1), 0, marks)
		if err != nil {
			return err
		}
		if during != nil {
			during()
		}
		c.Keep(on, text.Marks)
		return nil
	})
	if err != nil && during == nil {
		h.t.Fatal(err)
	}
	return known
}

const far = cache.Smallest / 16 // a line at the end of a file of the smallest size

// later is a clock for which every file was changed long ago.
func later() time.Time { return time.Now().Add(time.Hour) }

func held(t *testing.T, c *cache.Cache, bytes bool, authorities int) {
	t.Helper()
	if b, a := c.Held(); (b > 0) != bytes || a != authorities {
		t.Errorf("%d bytes are held for %d authorities", b, a)
	}
}

// What one generation, one authority or one version of a file left in the cache answers for no other, whether or not
// anybody told the cache that it has ended.
func TestG42CachesNeverCrossGenerations(t *testing.T) {
	h := build(t, 1)
	c := cache.New(cache.Options{Now: later})
	a, b := h.authority(), h.authority()
	if n := h.read(a, c, "0", far, nil); n != 0 {
		t.Errorf("an empty cache knows %d places", n)
	}
	if n := h.read(a, c, "0", far, nil); n == 0 {
		t.Fatal("nothing is kept")
	}
	if n := h.read(b, c, "0", far, nil); n != 0 {
		t.Errorf("another authority is told %d places", n)
	}
	first := a.Generation()
	<-a.Invalidate(rootbound.GenerationStale)
	if n := h.read(a, c, "0", far, nil); n != 0 {
		t.Errorf("generation %d is told %d places of generation %d", a.Generation(), n, first)
	}
	if n := h.read(a, c, "0", far, nil); n == 0 || a.Generation() == first {
		t.Errorf("nothing is kept in generation %d", a.Generation())
	}
	h.file("0", cache.Smallest+16)
	if n := h.read(a, c, "0", far, nil); n != 0 {
		t.Errorf("another version is told %d places", n)
	}

	held(t, c, true, 2)
	c.Drop(a.ID(), first)
	if n := h.read(a, c, "0", far, nil); n == 0 {
		t.Error("the end of a generation took what the next one had")
	}
	c.Drop(a.ID(), a.Generation())
	held(t, c, true, 1)
	if n := h.read(a, c, "0", far, func() { <-a.Invalidate(rootbound.GenerationStale) }); n != 0 {
		t.Errorf("%d places after all was dropped", n)
	}
	held(t, c, true, 1) // what was under way when the generation ended left nothing
	c.Drop(b.ID(), b.Generation())
	held(t, c, false, 0)
}

// Nothing is kept of what may be another version that looks the same.
func TestOnlySettledFilesAreKept(t *testing.T) {
	h := build(t, 2)
	h.file("small", cache.Smallest-16)
	a := h.authority()

	i, err := os.Stat(filepath.Join(h.dir, "0"))
	if err != nil {
		t.Fatal(err)
	}
	at := i.ModTime().Add(cache.Age)
	young := cache.New(cache.Options{Now: func() time.Time { return at }})
	h.read(a, young, "0", far, nil)
	held(t, young, false, 0)
	at = at.Add(time.Minute)
	h.read(a, young, "0", far, nil)
	held(t, young, true, 1)

	c := cache.New(cache.Options{Now: later})
	h.read(a, c, "small", far-1, nil)
	held(t, c, false, 0)
	h.read(a, c, "0", far, func() {
		if err := os.Chtimes(filepath.Join(h.dir, "0"), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Error(err)
		}
	})
	held(t, c, false, 0)
	h.read(a, c, "1", far, nil)
	held(t, c, true, 1)

	var none *cache.Cache
	h.read(a, none, "1", far, nil)
	none.Drop(a.ID(), a.Generation())
}

// What is kept is bounded for each authority and for all together; what was not used for the longest time goes first.
func TestTheCacheIsBounded(t *testing.T) {
	h := build(t, 8)
	a, b := h.authority(), h.authority()
	c := cache.New(cache.Options{Now: later, Bytes: 2200, Total: 3400}) // a kept file counts about 550
	for i := range 8 {
		h.read(a, c, fmt.Sprint(i), far, nil)
	}
	if n, _ := c.Held(); n > 2200 || n < 1000 {
		t.Errorf("%d bytes for one authority", n)
	}
	if h.read(a, c, "0", 1, nil) != 0 || h.read(a, c, "7", 1, nil) == 0 {
		t.Error("the first is kept and the last is not")
	}
	for i := range 4 {
		h.read(b, c, fmt.Sprint(i), far, nil)
	}
	if n, _ := c.Held(); n > 3400 || n < 2300 {
		t.Errorf("%d bytes for all", n)
	}
	if h.read(a, c, "7", 1, nil) == 0 || h.read(a, c, "5", 1, nil) != 0 || h.read(b, c, "3", 1, nil) == 0 {
		t.Error("not the eldest was given up")
	}
	c.Drop(a.ID(), a.Generation())
	c.Drop(b.ID(), b.Generation())
	held(t, c, false, 0)
}
