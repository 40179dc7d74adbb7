package mcpfs

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rootbound/rootbound"
)

// The text forms below are parsed by scripts: their shape is that of the classic server.

const (
	markDir  = "[DIR] "
	markFile = "[FILE] "
)

func mark(dir bool) string {
	if dir {
		return markDir
	}
	return markFile
}

// size shows bytes in units of 1024, two decimals from KB on.
func size(n int64) string {
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

// sizedLine is one line of list_directory_with_sizes. Widths count UTF-16 units, as the classic server's did.
func sizedLine(b *strings.Builder, name string, dir bool, bytes int64) {
	b.WriteString(mark(dir))
	b.WriteString(name)
	pad(b, 30-units(name))
	b.WriteByte(' ')
	if !dir {
		s := size(bytes)
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

// moment shows a time as the classic server did on a machine whose zone is UTC.
func moment(t time.Time) string {
	return t.UTC().Format("Mon Jan 02 2006 15:04:05") + " GMT+0000 (Coordinated Universal Time)"
}

// join puts a path found below one the caller sent behind it, in the caller's spelling.
func join(sent, rel string) string {
	sent, rel = rootbound.Listed(sent), listedPath(rel)
	switch {
	case rel == "":
		return sent
	case sent == "", strings.HasSuffix(sent, "/"):
		return sent + rel
	}
	return sent + "/" + rel
}

// listedPath shows each name of a path as listings show it.
func listedPath(p string) string {
	if rootbound.Listed(p) == p {
		return p
	}
	names := strings.Split(p, "/")
	for i, n := range names {
		names[i] = rootbound.Listed(n)
	}
	return strings.Join(names, "/")
}

// appendJSON appends s as a JSON string with no more escapes than JSON asks for. s is valid UTF-8.
func appendJSON(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			if c < utf8.RuneSelf {
				i++
				continue
			}
			if r, n := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
			b = append(append(b, s[start:i]...), "\ufffd"...)
			i++
			start = i
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}
