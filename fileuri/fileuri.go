// Package fileuri turns file URIs into path bytes and back. It does no I/O and asks nothing of the operating system.
//
// A client names its roots by URI, and a URI read in two ways is a hole: what one parser cuts off, decodes twice or
// normalises is another directory. So this parser works on bytes, decodes exactly once and repairs nothing; wherever the
// WHATWG URL rules (which most clients follow) would give another path, it refuses (contract §3). It may be stricter than
// they are, it never yields another path. net/url is not used: it decodes %2F into a separator, fails on foreign schemes
// and reads C:\x as scheme "c".
//
// What is accepted: file:///path, file:/path and file://localhost/path in any case of scheme and host. Doubled slashes
// inside the path collapse, "." segments and a trailing slash fall away, since they name the same directory. Everything
// else that would need a decision is refused with one of these words in Error.Detail:
//
//	reason            detail
//	root_not_file     no_scheme, scheme
//	root_remote       authority
//	root_uri_invalid  query, fragment, encoded_separator, nul, dot_segment, bad_percent, empty_segment, drive_letter,
//	                  relative (no absolute path), backslash (written raw: clients read it as a slash),
//	                  control (raw control character, or a blank at the end), name (no name on Windows)
package fileuri

import (
	"runtime"
	"strings"

	"github.com/rootbound/rootbound"
)

// Unencoded is the warning for a URI with bytes that should have been percent-encoded, taken as they are.
const Unencoded = "unencoded"

// Style is the kind of system whose paths are meant.
type Style uint8

// The styles.
const (
	Posix   Style = iota // a name is bytes without slash and NUL
	Windows              // drive letter, backslashes, reserved names refused
)

// Native is the style of the running system.
func Native() Style {
	if runtime.GOOS == "windows" {
		return Windows
	}
	return Posix
}

// Parse reads a URI in the native style; see [Style.Parse].
func Parse(uri string) (path, warn string, err error) { return Native().Parse(uri) }

// Format writes a path in the native style; see [Style.Format].
func Format(path string) string { return Native().Format(path) }

// Parse gives the absolute path a file URI names: cleaned of doubled slashes, "." and a trailing slash, and for the rest
// byte by byte what the URI says. The path may hold any byte but NUL, and on Posix it need not be UTF-8. warn is Unencoded
// or empty. An error is always a *rootbound.Error, with a detail of the package comment.
func (s Style) Parse(uri string) (path, warn string, err error) {
	rest, err := afterScheme(uri)
	if err != nil {
		return "", "", err
	}
	if d := unwritable(rest); d != "" {
		return "", "", invalid(d)
	}
	rest, err = afterAuthority(rest)
	if err != nil {
		return "", "", err
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 { // cutting here would name another directory
		if rest[i] == '?' {
			return "", "", invalid("query")
		}
		return "", "", invalid("fragment")
	}
	if !strings.HasPrefix(rest, "/") {
		if drive(rest, true) {
			return "", "", invalid("drive_letter")
		}
		return "", "", invalid("relative")
	}
	names, warn, err := s.segments(rest[1:])
	if err != nil {
		return "", "", err
	}
	if s == Windows {
		path, err = windowsPath(names)
		return path, warn, err
	}
	if len(names) > 0 && drive(names[0], false) {
		return "", "", invalid("drive_letter")
	}
	return "/" + strings.Join(names, "/"), warn, nil
}

// afterScheme splits off "file:" in any case.
func afterScheme(uri string) (string, error) {
	i := strings.IndexByte(uri, ':')
	if i < 2 || !scheme(uri[:i]) { // one letter is a drive, not a scheme
		return "", &rootbound.Error{Reason: rootbound.RootNotFile, Detail: "no_scheme"}
	}
	if !strings.EqualFold(uri[:i], "file") {
		return "", &rootbound.Error{Reason: rootbound.RootNotFile, Detail: "scheme"}
	}
	return uri[i+1:], nil
}

// scheme is RFC 3986 §3.1.
func scheme(s string) bool {
	for i := range len(s) {
		if c := s[i]; !letter(c) && (i == 0 || !digit(c) && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != ""
}

// unwritable finds what URL parsers drop or rewrite before they look at the parts: tabs and line ends anywhere, blanks at
// the end, backslashes.
func unwritable(rest string) string {
	for i := range len(rest) {
		switch c := rest[i]; {
		case c == 0:
			return "nul"
		case c < 0x20 || c == 0x7f:
			return "control"
		case c == '\\':
			return "backslash"
		}
	}
	if strings.HasSuffix(rest, " ") {
		return "control"
	}
	return ""
}

// afterAuthority splits off an authority: none, an empty one or localhost.
func afterAuthority(rest string) (string, error) {
	if !strings.HasPrefix(rest, "//") {
		return rest, nil
	}
	rest = rest[2:]
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if host := rest[:end]; host != "" && !strings.EqualFold(host, "localhost") {
		return "", &rootbound.Error{Reason: rootbound.RootRemote, Detail: "authority"}
	}
	return rest[end:], nil
}

// segments decodes a path without its leading slash, once, and keeps the segments that are names.
func (s Style) segments(path string) (names []string, warn string, err error) {
	for seg, last := "", false; !last; {
		seg, path, last = cut(path)
		name, raw, err := s.decode(seg)
		switch {
		case err != nil:
			return nil, "", err
		case name == "..":
			return nil, "", invalid("dot_segment")
		case name == "" && !last && len(names) == 0:
			return nil, "", invalid("empty_segment") // UNC written with four slashes
		}
		if raw {
			warn = Unencoded
		}
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names, warn, nil
}

func cut(path string) (seg, rest string, last bool) {
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:], false
	}
	return path, "", true
}

// decode undoes percent-encoding once. raw: it held a byte that a URI should not hold as such.
func (s Style) decode(seg string) (name string, raw bool, err error) {
	b := make([]byte, 0, len(seg))
	for i := 0; i < len(seg); i++ {
		c := seg[i]
		if c != '%' {
			raw = raw || !plain(c)
			b = append(b, c)
			continue
		}
		if i+2 >= len(seg) || !hexDigit(seg[i+1]) || !hexDigit(seg[i+2]) {
			return "", false, invalid("bad_percent")
		}
		c = unhex(seg[i+1])<<4 | unhex(seg[i+2])
		i += 2
		switch {
		case c == 0:
			return "", false, invalid("nul")
		case c == '/' || s == Windows && c == '\\':
			return "", false, invalid("encoded_separator")
		}
		b = append(b, c)
	}
	return string(b), raw, nil
}

// Format writes an absolute path as file URI. Parse gives the path back, cleaned, with two exceptions that have no URI:
// a path with a ".." segment, and on Posix one whose first name looks like a drive ("/c:/x").
func (s Style) Format(path string) string {
	var b strings.Builder
	b.WriteString("file://")
	if s == Windows {
		path = strings.ReplaceAll(path, `\`, "/")
		if !strings.HasPrefix(path, "/") {
			b.WriteByte('/')
		}
	}
	for i := range len(path) {
		if c := path[i]; plain(c) || c == '/' {
			b.WriteByte(c)
		} else {
			const digits = "0123456789ABCDEF"
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

func invalid(detail string) *rootbound.Error {
	e := &rootbound.Error{Reason: rootbound.RootURIInvalid, Detail: detail}
	if detail == "drive_letter" {
		e.Next = "Run the server where the files are: this is a path of another system."
	}
	return e
}

// plain is pchar of RFC 3986 §3.3 without the percent sign.
func plain(c byte) bool {
	return letter(c) || digit(c) || strings.IndexByte("-._~!$&'()*+,;=:@", c) >= 0
}

func letter(c byte) bool   { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool    { return '0' <= c && c <= '9' }
func hexDigit(c byte) bool { return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if digit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
