package fileop

import (
	"context"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/effect"
)

// DefaultPage is how many entries one page of a list holds (contract §6).
const DefaultPage = 1000

// MaxSorted is how many entries of one directory, by name, are sorted by size; the rest is left out and said to be.
const MaxSorted = 50_000

// Lister gives the entries of one directory in byte order of their names: *guard.Target and *beneath.Object.
type Lister interface {
	List(ctx context.Context, after string, visit func(*beneath.Node) (beneath.Step, error)) error
}

// Item is one entry of a directory.
type Item struct {
	Name string      // bytes as on disk; showing them needs escaping
	Type fs.FileMode // type bits of the entry itself: a link is a link
	Dir  bool        // a directory, or a link that reaches one inside the granted directories

	// Set with Details. Size is of the file, of what a link reaches inside, else of the link itself.
	Size int64
	Info beneath.Info // of the entry itself; zero if it could not be read
}

// ListOptions of a page.
type ListOptions struct {
	Limit   int    // entries of a page; 0: DefaultPage
	Cursor  string // Next of the page before; empty: the first
	Details bool   // read sizes and times
	BySize  bool   // descending size, then name; implies Details

	sorted int // in place of MaxSorted
}

// Listing is one page.
type Listing struct {
	Items     []Item
	Truncated bool
	Next      string // cursor of the next page, empty for the last
	LeftOut   bool   // BySize: the directory holds more than MaxSorted entries, and the rest was not sorted in
	Rest      string // LeftOut: cursor by which a list by name gives that rest
}

// List reads one page of a directory, sorted by the bytes of the names, or by size. An entry that vanishes while it is
// looked at is left out. Errors: argument_invalid (cursor), cancelled, and those of l.
func List(ctx context.Context, l Lister, o ListOptions) (Listing, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultPage
	}
	if o.BySize {
		return listBySize(ctx, l, o)
	}
	var out Listing
	err := l.List(ctx, o.Cursor, func(n *beneath.Node) (beneath.Step, error) {
		if len(out.Items) == o.Limit {
			out.Truncated = true
			out.Next = out.Items[o.Limit-1].Name
			return beneath.Stop, nil
		}
		if it, ok := item(n, o.Details); ok {
			out.Items = append(out.Items, it)
		}
		return beneath.Over, nil
	})
	if err != nil {
		return Listing{}, effect.Failed(err)
	}
	return out, nil
}

func item(n *beneath.Node, details bool) (Item, bool) {
	it := Item{Name: n.Name(), Type: n.Type()}
	it.Dir = it.Type.IsDir()
	if details {
		info, err := n.Info()
		if err != nil && rootbound.ReasonOf(err) != rootbound.RuleDenied { // it vanished
			return it, false
		}
		it.Info, it.Size = info, info.Size
	}
	if it.Type&fs.ModeSymlink != 0 {
		if target, ok := n.Target(); ok {
			it.Dir = target.Mode.IsDir()
			if details {
				it.Size = target.Size
			}
		}
	}
	return it, true
}

func listBySize(ctx context.Context, l Lister, o ListOptions) (Listing, error) {
	after, err := parseSizeCursor(o.Cursor)
	if err != nil {
		return Listing{}, err
	}
	if o.sorted == 0 {
		o.sorted = MaxSorted
	}
	var out Listing
	var all []Item
	last := ""
	err = l.List(ctx, "", func(n *beneath.Node) (beneath.Step, error) {
		if len(all) == o.sorted {
			out.LeftOut, out.Rest = true, last
			return beneath.Stop, nil
		}
		last = n.Name()
		if it, ok := item(n, true); ok {
			all = append(all, it)
		}
		return beneath.Over, nil
	})
	if err != nil {
		return Listing{}, effect.Failed(err)
	}
	slices.SortFunc(all, bySize)
	if o.Cursor != "" {
		i, found := slices.BinarySearchFunc(all, after, bySize)
		if found {
			i++
		}
		all = all[i:]
	}
	out.Items = all[:min(len(all), o.Limit)]
	if len(all) > o.Limit {
		last := out.Items[o.Limit-1]
		out.Truncated = true
		out.Next = strconv.FormatInt(last.Size, 10) + ":" + last.Name
	}
	return out, nil
}

func bySize(a, b Item) int {
	switch {
	case a.Size > b.Size:
		return -1
	case a.Size < b.Size:
		return 1
	}
	return strings.Compare(a.Name, b.Name)
}

func parseSizeCursor(s string) (Item, error) {
	if s == "" {
		return Item{}, nil
	}
	size, name, ok := strings.Cut(s, ":")
	n, err := strconv.ParseInt(size, 10, 64)
	if !ok || err != nil {
		return Item{}, &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: rootbound.NoCursor}
	}
	return Item{Name: name, Size: n}, nil
}
