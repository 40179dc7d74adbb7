package match

import (
	"regexp"
	"testing"
	"unicode"
)

// The engine asks the class, the search for literals the function.
func TestWordClassIsWordRune(t *testing.T) {
	re := regexp.MustCompile("^[" + wordClass + "0-9A-Za-z_]$")
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if 0xd800 <= r && r < 0xe000 {
			continue
		}
		if in := re.MatchString(string(r)); in != wordRune(r) {
			t.Errorf("%U: class %v, function %v", r, in, wordRune(r))
		}
	}
}
