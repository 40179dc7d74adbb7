package show

import (
	"strconv"
	"strings"
	"time"

	"github.com/rootbound/rootbound"
)

// The text forms below are parsed by scripts: their shape is that of the classic server.

const (
	markDir  = "[DIR] "
	markFile = "[FILE] "
)

// Mark is what stands before a name in a list.
func Mark(dir bool) string {
	if dir {
		return markDir
	}
	return markFile
}

// Size shows bytes as the classic server's list does: units of 1024 that it calls KB, two decimals from there on.
func Size(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, unit := float64(n), 0
	for v >= 1024 && unit < 4 {
		v /= 1024
		unit++
	}
	return strconv.FormatFloat(v, 'f', 2, 64) + " " + [...]string{"B", "KB", "MB", "GB", "TB"}[unit]
}

// Bytes shows a bound as a configuration writes it: in the largest unit that it is a whole number of.
func Bytes(n int64) string {
	unit := " bytes"
	for _, u := range []string{" KiB", " MiB", " GiB", " TiB"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	return strconv.FormatInt(n, 10) + unit
}

// SizedLine is one line of list_directory_with_sizes. Widths count UTF-16 units, as the classic server's did.
func SizedLine(b *strings.Builder, name string, dir bool, bytes int64) {
	b.WriteString(Mark(dir))
	b.WriteString(name)
	pad(b, 30-units(name))
	b.WriteByte(' ')
	if !dir {
		s := Size(bytes)
		pad(b, 10-len(s))
		b.WriteString(s)
	}
}

func pad(b *strings.Builder, n int) {
	for ; n > 0; n-- {
		b.WriteByte(' ')
	}
}

func units(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

// Moment shows a time as the classic server did on a machine whose zone is UTC.
func Moment(t time.Time) string {
	return t.UTC().Format("Mon Jan 02 2006 15:04:05") + " GMT+0000 (Coordinated Universal Time)"
}

// Join puts a path found below one the caller sent behind it, in the caller's spelling.
func Join(sent, rel string) string {
	sent, rel = rootbound.Listed(sent), Path(rel)
	switch {
	case rel == "":
		return sent
	case sent == "", strings.HasSuffix(sent, "/"):
		return sent + rel
	}
	return sent + "/" + rel
}

// Path shows each name of a path as listings show it.
func Path(p string) string {
	if rootbound.Listed(p) == p {
		return p
	}
	names := strings.Split(p, "/")
	for i, n := range names {
		names[i] = rootbound.Listed(n)
	}
	return strings.Join(names, "/")
}
