package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold is the form in which rules compare names: what any file system that folds case or normalization could take for
// the same name must fold alike, so it may fold more than needed (that only denies more) and never less. ASCII lower-case
// names come back unchanged and unallocated.
//
// It drops default-ignorable code points and takes the smallest rune of each case orbit after compatibility
// decomposition (ext4 and f2fs casefold directories, APFS, HFS+), cuts trailing dots and blanks (vfat, NTFS) and reads
// the 8.3 form of ".git".
func fold(name string) string {
	clean := true
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= 0x80 || c >= 'A' && c <= 'Z' || c == '~' {
			clean = false
			break
		}
	}
	if clean && name != "" && name[len(name)-1] != '.' && name[len(name)-1] != ' ' {
		return name
	}
	ascii := true
	for i := 0; i < len(name); i++ {
		if name[i] >= 0x80 {
			ascii = false
			break
		}
	}
	if ascii {
		name = strings.ToLower(name)
	} else {
		var b strings.Builder
		if !utf8.ValidString(name) {
			name = string([]rune(name)) // what stands right behind a byte that is no text is left alone by norm
		}
		for _, r := range norm.NFKD.String(name) {
			if ignorable(r) {
				continue
			}
			switch r {
			case 'ß', 'ẞ':
				b.WriteString("ss")
				continue
			}
			b.WriteRune(orbit(r))
		}
		name = norm.NFC.String(b.String())
	}
	if trimmed := strings.TrimRight(name, ". "); trimmed != "" {
		name = trimmed
	}
	if strings.HasPrefix(name, "git~") && len(name) == 5 && name[4] >= '0' && name[4] <= '9' {
		return ".git"
	}
	return name
}

// orbit is the lower-case ASCII letter of r's case orbit, else its smallest rune.
func orbit(r rune) rune {
	least := r
	for n := unicode.SimpleFold(r); n != r; n = unicode.SimpleFold(n) {
		least = min(least, n)
	}
	return unicode.ToLower(least)
}

// ignorable are the code points that folding file systems drop (Unicode Default_Ignorable_Code_Point).
func ignorable(r rune) bool {
	switch {
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x3164, r == 0xffa0, r == 0xfeff,
		r >= 0x115f && r <= 0x1160, r >= 0x17b4 && r <= 0x17b5, r >= 0x180b && r <= 0x180f,
		r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f,
		r >= 0xfe00 && r <= 0xfe0f, r >= 0xfff0 && r <= 0xfff8, r >= 0x1bca0 && r <= 0x1bca3,
		r >= 0x1d173 && r <= 0x1d17a, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

// Fold folds each component of a relative path and drops empty and "." components.
func Fold(path string) string {
	if path == "" {
		return ""
	}
	same := true
	for rest := path; ; {
		c, r, more := strings.Cut(rest, "/")
		if c == "" || c == "." || fold(c) != c {
			same = false
			break
		}
		if !more {
			break
		}
		rest = r
	}
	if same {
		return path
	}
	var b strings.Builder
	for c := range strings.SplitSeq(path, "/") {
		if c == "" || c == "." {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('/')
		}
		b.WriteString(fold(c))
	}
	return b.String()
}
