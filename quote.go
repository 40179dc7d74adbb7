package rootbound

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxEcho is the most bytes of a caller's text that a message repeats.
const MaxEcho = 256

// Quote is the one encoder for text sinks: s in double quotes, at most MaxEcho bytes of it, with quotes, backslashes,
// control and direction characters and invalid UTF-8 escaped. A cut is shown by "…" after the closing quote.
func Quote(s string) string {
	cut := len(s) > MaxEcho
	if cut {
		s = s[:MaxEcho]
		for i := 0; i < utf8.UTFMax && len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]); i++ {
			if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n != 1 {
				break
			}
			s = s[:len(s)-1]
		}
	}
	var b strings.Builder
	b.WriteByte('"')
	escape(&b, s, true)
	b.WriteByte('"')
	if cut {
		b.WriteString("…")
	}
	return b.String()
}

// Clean escapes like Quote but adds no quotes and does not cut. It is meant for text that is already bounded.
func Clean(s string) string {
	var b strings.Builder
	escape(&b, s, false)
	return b.String()
}

func escape(b *strings.Builder, s string, quoted bool) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(b, `\x%02x`, s[i])
		case quoted && (r == '"' || r == '\\'):
			b.WriteByte('\\')
			b.WriteRune(r)
		case Hidden(r):
			if r < 0x80 {
				fmt.Fprintf(b, `\x%02x`, r)
			} else {
				fmt.Fprintf(b, `\u{%x}`, r)
			}
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
}

// Hidden reports whether a rune must not reach a person's eyes unescaped: control characters, direction marks and
// overrides, other format characters, line and paragraph separators, and what is not assigned to be printed.
func Hidden(r rune) bool {
	if r < 0x20 || r == 0x7f {
		return true
	}
	if r < 0x80 {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
