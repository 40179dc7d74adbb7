package search

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// TestLargeDirectory: a directory of a million entries (5,000 without RB_LONG) is searched in order by name and content,
// page by page, within 64 MiB of resident memory over idle (Linux), and a search in it ends when it is asked to.
func TestLargeDirectory(t *testing.T) {
	entries := 5_000
	if os.Getenv("RB_LONG") != "" {
		entries = 1_000_000
	}
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/d", 0o755); err != nil {
		t.Fatal(err)
	}
	var want []string
	for n := range entries {
		text := ""
		if n%(entries/100) == 7 {
			text = "a needle\n"
			want = append(want, fmt.Sprintf("d/entry-%07d", n*7919%entries))
		}
		write(t, fmt.Sprintf("%s/d/entry-%07d", dir, n*7919%entries), text)
	}
	slices.Sort(want)
	inMemory(t, dir, entries)

	var got []string
	o, m := open(t, dir, ""), needle(t, "needle")
	for cursor, more := "", true; more; {
		r, err := Content(context.Background(), o, m, ContentOptions{Limit: 40, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Files {
			got = append(got, f.Path)
		}
		cursor, more = r.Next, r.Truncated
	}
	if !slices.Equal(got, want) {
		t.Errorf("content: %d of %d files", len(got), len(want))
	}
	if r := find(t, o, "d/entry-*9", Options{Limit: entries, MaxText: 1 << 30}); len(r.Hits) != entries/10 || !slices.IsSortedFunc(r.Hits, func(a, b Hit) int { return order(a.Path, b.Path) }) {
		t.Errorf("names: %d of %d", len(r.Hits), entries/10)
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var asked time.Time
	n := 0
	_, err := Content(ctx, o, m, ContentOptions{Step: func() {
		if n++; n == entries/2 {
			asked = time.Now()
			cancel()
		}
	}})
	if rootbound.ReasonOf(err) != rootbound.Cancelled || n > entries/2+64 {
		t.Errorf("cancelled: %v after %d entries", err, n)
	}
	t.Logf("ended %s after it was asked to", time.Since(asked))

	// names that are being read and sorted when the search is asked to end
	ctx, cancel = context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	err = o.Sweep(ctx, beneath.Sweep{Course: beneath.Course{Visit: func(n *beneath.Node) (beneath.Step, error) {
		if n.Type().IsDir() {
			<-ctx.Done()
			asked = time.Now()
			return beneath.Into, nil
		}
		t.Error("an entry was visited")
		return beneath.Over, nil
	}}})
	if rootbound.ReasonOf(err) != rootbound.Cancelled {
		t.Errorf("while it is read: %v", err)
	}
}
