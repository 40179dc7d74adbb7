package fileuri

import (
	"strings"
	"unicode/utf8"
)

// drive reports whether a name is a drive as URL parsers see one: a letter and ":" or "|". With more, what follows does
// not matter.
func drive(name string, more bool) bool {
	return (len(name) == 2 || more && len(name) > 2) && letter(name[0]) && (name[1] == ':' || name[1] == '|')
}

// windowsPath joins decoded names. The first must be a drive; the others must be names that Windows takes as they are.
func windowsPath(names []string) (string, error) {
	if len(names) == 0 {
		return "", invalid("relative")
	}
	if !drive(names[0], false) || names[0][1] != ':' {
		return "", invalid("drive_letter")
	}
	for _, n := range names[1:] {
		if !windowsName(n) {
			return "", invalid("name")
		}
	}
	return strings.ToUpper(names[0][:1]) + `:\` + strings.Join(names[1:], `\`), nil
}

// windowsName refuses what the system would read as something else: streams and wildcards, names it trims, devices
// (learn.microsoft.com/windows/win32/fileio/naming-a-file).
func windowsName(n string) bool {
	if !utf8.ValidString(n) || strings.ContainsAny(n, `<>:"|?*\`) || strings.HasSuffix(n, ".") || strings.HasSuffix(n, " ") {
		return false
	}
	for i := range len(n) {
		if n[i] < 0x20 {
			return false
		}
	}
	base, _, _ := strings.Cut(n, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return false
	}
	for _, dev := range []string{"COM", "LPT"} {
		if d, ok := strings.CutPrefix(base, dev); ok && (len(d) == 1 && digit(d[0]) || d == "¹" || d == "²" || d == "³") {
			return false
		}
	}
	return true
}
