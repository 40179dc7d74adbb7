package rootbound

import (
	"strings"
	"unicode/utf8"
)

// Listed is the form in which listings show a name (contract §5, escaped names): the name itself unless it holds bytes a
// reader must not meet raw; then each such byte is \xHH and each backslash is doubled. One name is always one line.
// A read whose exact name is missing may give the listed form back.
func Listed(name string) string {
	if plain(name) {
		return name
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	b.Grow(len(name) + 8)
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == utf8.RuneError && n == 1, Hidden(r):
			for _, c := range []byte(name[i : i+n]) {
				b.WriteString(`\x`)
				b.WriteByte(hex[c>>4])
				b.WriteByte(hex[c&15])
			}
		default:
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	return b.String()
}

func plain(name string) bool {
	ascii := true
	for i := range len(name) {
		if c := name[i]; c < 0x20 || c == 0x7f {
			return false
		} else if c >= 0x80 {
			ascii = false
		}
	}
	if ascii {
		return true
	}
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		if r == utf8.RuneError && n == 1 || Hidden(r) {
			return false
		}
		i += n
	}
	return true
}
