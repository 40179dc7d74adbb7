// Package text tells text from other bytes, edits it and shows what changed. It is pure: bytes in, bytes out, no I/O.
//
// Nothing here decodes: what is not touched keeps its bytes, line endings, byte-order mark and foreign encodings too.
package text

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/rootbound/rootbound"
)

var utf8BOM = []byte{0xEF, 0xBB, 0xBF}

// marked names the encoding that a byte-order mark at the start of a file declares, "" for none and for UTF-8.
func marked(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE, 0, 0}):
		return "UTF-32 little endian"
	case bytes.HasPrefix(head, []byte{0, 0, 0xFE, 0xFF}):
		return "UTF-32 big endian"
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}):
		return "UTF-16 little endian"
	case bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		return "UTF-16 big endian"
	}
	return ""
}

// CheckMark refuses a file whose first bytes are a byte-order mark of another encoding than UTF-8: not_text, with the
// encoding in Detail. head is the start of the file, 4 bytes or more where it has them.
func CheckMark(head []byte) error {
	if e := marked(head); e != "" {
		return notText(e)
	}
	return nil
}

// notText says what was found instead of text.
func notText(found string) error {
	return &rootbound.Error{Reason: rootbound.NotText, Detail: "detected " + found}
}

// CheckBinary refuses data that holds NUL bytes: not_text. offset is where data starts in the file.
func CheckBinary(data []byte, offset int64) error {
	i := bytes.IndexByte(data, 0)
	if i < 0 {
		return nil
	}
	if e := unmarkedUTF16(data); e != "" && offset == 0 {
		return notText(e + " without a byte-order mark")
	}
	return notText(fmt.Sprintf("binary data, a NUL at byte %d", offset+int64(i)))
}

// unmarkedUTF16 guesses by where the NUL bytes of mostly Latin text lie.
func unmarkedUTF16(data []byte) string {
	data = data[:min(len(data), 512)&^1]
	var at [2]int
	for i, b := range data {
		if b == 0 {
			at[i&1]++
		}
	}
	half := len(data) / 2
	switch {
	case half >= 2 && at[0] == 0 && at[1] > half*3/4:
		return "UTF-16 little endian"
	case half >= 2 && at[1] == 0 && at[0] > half*3/4:
		return "UTF-16 big endian"
	}
	return ""
}

// Check is CheckMark and CheckBinary and refuses what cannot be sent as text without changing it. offset is where data starts in the file.
func Check(data []byte, offset int64) error {
	if offset == 0 {
		if err := CheckMark(data); err != nil {
			return err
		}
	}
	if err := CheckBinary(data, offset); err != nil {
		return err
	}
	if utf8.Valid(data) {
		return nil
	}
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return notText(fmt.Sprintf("an encoding that is not UTF-8, at byte %d", offset+int64(i)))
		}
		i += n
	}
	return nil
}

// WholeRunes is the length of data without a character that a cut left incomplete at its end.
func WholeRunes(data []byte) int {
	for i := 1; i <= utf8.UTFMax-1 && i <= len(data); i++ {
		b := data[len(data)-i]
		if b < utf8.RuneSelf {
			break
		}
		if utf8.RuneStart(b) {
			if !utf8.FullRune(data[len(data)-i:]) {
				return len(data) - i
			}
			break
		}
	}
	return len(data)
}
