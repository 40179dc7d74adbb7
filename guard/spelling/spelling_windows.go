package spelling

import (
	"strings"

	"github.com/rootbound/rootbound"
)

// IsAbs reports whether a path argument starts at the root of the file system.
func IsAbs(p string) bool {
	return len(p) >= 3 && p[1] == ':' && (p[2] == '\\' || p[2] == '/')
}

func isSeparator(c byte) bool { return c == '/' || c == '\\' }

// checkOS refuses the spellings by which Windows reaches something else than what is written: device and verbatim
// prefixes, UNC, drive-relative and rooted paths, streams, reserved names, trailing dots and blanks. Not run on Windows so
// far: built and vetted only.
func checkOS(p string) *rootbound.Error {
	bad := func(why string) *rootbound.Error { return refuse(rootbound.PathInvalid, why) }
	if p == "" {
		return nil
	}
	if p[0] == '\\' || p[0] == '/' {
		return bad("a UNC, device or rooted path")
	}
	rest := p
	if len(p) >= 2 && p[1] == ':' {
		if !IsAbs(p) {
			return bad("relative to a drive")
		}
		rest = p[3:]
	}
	depth := 0
	for _, c := range strings.FieldsFunc(rest, func(r rune) bool { return r == '\\' || r == '/' }) {
		switch {
		case c == ".":
			continue
		case c == "..":
			if depth--; depth < 0 {
				return refuse(rootbound.OutsideRoot, "")
			}
			continue
		case strings.ContainsAny(c, `:?*"<>|`):
			return bad("a name with a reserved character")
		case strings.HasSuffix(c, ".") || strings.HasSuffix(c, " "):
			return bad("a name with a trailing dot or blank")
		case reserved(c):
			return bad("a reserved device name")
		}
		depth++
	}
	return nil
}

func reserved(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	for _, pre := range []string{"COM", "LPT"} {
		if d, ok := strings.CutPrefix(base, pre); ok {
			switch d {
			case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³":
				return true
			}
		}
	}
	return false
}
