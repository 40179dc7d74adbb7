package truth

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A canary is head and sixteen hex digits; the texts of files inside begin with Mark and another letter. No call and no
// answer of the probe holds one, so whoever writes one has read it.
const (
	head   = Mark + "x"
	enough = 8 // digits that are no coincidence: an answer may be cut
)

var canaries = regexp.MustCompile(head + `[0-9a-f]{8,16}`)

// Leaked reports whether bytes hold a canary, or its first twelve characters: plainly, with escapes of JSON, in percent
// encoding, in UTF-16, in base64 at any position, in hex, both also in groups and lines, or with gzip in base64.
func Leaked(b []byte) bool {
	if coded(b) {
		return true
	}
	text := b
	if bytes.IndexByte(b, '\\') >= 0 {
		if text = Unescaped(b); coded(text) {
			return true
		}
	}
	if bytes.IndexByte(text, '%') >= 0 && coded(percent(text)) {
		return true
	}
	return coded(squeezed(text)) || zipped(text)
}

func coded(b []byte) bool { return plain(b) || inHex(b) || inBase64(b) }

func plain(b []byte) bool {
	return after(b, head, func(rest []byte) bool { return digits(rest) >= enough })
}

// after reports whether some place behind a text is as wanted.
func after(b []byte, text string, wanted func(rest []byte) bool) bool {
	for {
		_, rest, ok := bytes.Cut(b, []byte(text))
		if !ok {
			return false
		}
		if wanted(rest) {
			return true
		}
		b = rest
	}
}

// digits counts the hex digits at the start.
func digits(b []byte) int {
	for i, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return i
		}
	}
	return len(b)
}

func inHex(b []byte) bool {
	return after(b, hex.EncodeToString([]byte(head)), func(rest []byte) bool {
		var out [enough]byte
		n, _ := hex.Decode(out[:], rest[:min(len(rest), 2*enough)])
		return n == enough && digits(out[:]) == enough
	})
}

// inBase64 looks at each of the three places a text can have in a group. The alphabets for URLs differ in signs that a
// canary does not need.
func inBase64(b []byte) bool {
	for shift := range 3 {
		code := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), head...))
		first := (shift*8 + 5) / 6           // characters that depend on what stands before
		whole := (shift + len(head)) * 8 / 6 // and the end of those that do not depend on what follows
		want := (shift + len(head) + enough + 2) / 3 * 4
		found := after(b, code[first:whole], func(rest []byte) bool {
			rest = rest[:min(len(rest), want-whole)]
			if end := bytes.IndexFunc(rest, notBase64); end >= 0 {
				rest = rest[:end]
			}
			group := append([]byte("AAA"[:first]+code[first:whole]), rest...)
			if len(group)%4 == 1 {
				group = group[:len(group)-1]
			}
			out := make([]byte, base64.RawStdEncoding.DecodedLen(len(group)))
			n, err := base64.RawStdEncoding.Decode(out, group)
			return err == nil && n >= shift+len(head)+enough && digits(out[shift+len(head):n]) >= enough
		})
		if found {
			return true
		}
	}
	return false
}

func notBase64(r rune) bool {
	return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '+' && r != '/'
}

// squeezed drops what stands between groups and lines, and the zeros of UTF-16.
func squeezed(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for _, c := range b {
		switch c {
		case 0, ' ', '\t', '\r', '\n', ':', '-', ',':
		default:
			out = append(out, c)
		}
	}
	return out
}

func percent(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '%' && i+2 < len(b) {
			if n, err := strconv.ParseUint(string(b[i+1:i+3]), 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, b[i])
	}
	return out
}

// zipped looks into what begins like gzip in base64, as far as is worth it.
func zipped(b []byte) bool {
	const tries, most = 8, 16 << 20
	n := 0
	return after(b, "H4sI", func(rest []byte) bool {
		if n++; n > tries {
			return false
		}
		end := bytes.IndexFunc(rest, notBase64)
		if end < 0 {
			end = len(rest)
		}
		z, err := gzip.NewReader(base64.NewDecoder(base64.RawStdEncoding, bytes.NewReader(append([]byte("H4sI"), rest[:end]...))))
		if err != nil {
			return false
		}
		text, _ := io.ReadAll(io.LimitReader(z, most))
		return coded(text)
	})
}

// Unescaped is a message of JSON with its escapes replaced by what they stand for, also across its strings.
func Unescaped(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			out = append(out, b[i])
			continue
		}
		i++
		switch c := b[i]; c {
		case 'n', 'r', 't', 'b', 'f':
			out = append(out, "\n\r\t\b\f"[strings.IndexByte("nrtbf", c)])
		case 'u':
			n, err := strconv.ParseUint(string(b[i+1:min(i+5, len(b))]), 16, 16)
			if err == nil {
				out = utf8.AppendRune(out, rune(n))
				i += 4
			}
		default:
			out = append(out, c)
		}
	}
	return out
}
