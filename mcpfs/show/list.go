package show

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/mcpfs/wire"
)

// Entries adds what both lists say besides their entries. next makes the cursor of the next page, rest that of a list by name.
func Entries(b *strings.Builder, l fileop.Listing, next, rest func(place string) string) *wire.Reply {
	out := &wire.Reply{}
	var links []map[string]string
	for _, it := range l.Items {
		if it.Type&fs.ModeSymlink != 0 {
			leads := "file or nothing inside"
			if it.Dir {
				leads = "directory"
			}
			links = append(links, map[string]string{"name": rootbound.Listed(it.Name), "leads_to": leads})
		}
	}
	if links != nil {
		out.More = map[string]any{"links": links}
	}
	if l.Truncated {
		cursor := next(l.Next)
		fmt.Fprintf(b, "\n[cut after %s; go on with cursor: %s]", Counted(len(l.Items), "entry", "entries"), cursor)
		out.Cut, out.Next = true, map[string]any{"cursor": cursor}
	}
	if l.LeftOut {
		cursor := rest(l.Rest)
		fmt.Fprintf(b, "\n[cut: only the first %d entries by name are sorted by size; the others are the list with sortBy: name and cursor: %s]", fileop.MaxSorted, cursor)
		out.Cut = true
		if out.Next == nil {
			out.Next = map[string]any{"sortBy": "name", "cursor": cursor}
		}
	}
	out.Text = b.String()
	return out
}
