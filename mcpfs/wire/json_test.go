package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

func FuzzAppendJSON(f *testing.F) {
	f.Add("a\"\\\n\u2028é\x00\xff<>&")
	f.Fuzz(func(t *testing.T, s string) {
		b := AppendJSON(nil, s)
		var got string
		if err := json.Unmarshal(b, &got); err != nil || got != strings.ToValidUTF8(s, "\ufffd") && got != fix(s) {
			t.Fatalf("%q -> %s -> %q (%v)", s, b, got, err)
		}
	})
}

// fix replaces each invalid byte, as encoding/json does.
func fix(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}
