package source

import (
	"fmt"
	"strings"

	"github.com/rootbound/rootbound"
)

// PlainList is a list of quoted words.
func PlainList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// Plain quotes a value unless it is made of characters that mean nothing in YAML.
func Plain(s string) string {
	for i, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '/', r == '_':
		case i > 0 && (r == '-' || r == '.' || r == ' ' && i < len(s)-1):
		default:
			return Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

// Quote writes a double-quoted scalar.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case rootbound.Hidden(r) && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		case rootbound.Hidden(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
