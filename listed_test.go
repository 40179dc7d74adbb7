package rootbound

import "testing"

func TestListed(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a.txt", "a.txt"},
		{`a\b`, `a\b`},
		{"naïve é", "naïve é"},
		{"a\nb", `a\x0ab`},
		{"a\\b\n", `a\\b\x0a`},
		{"\xff", `\xff`},
		{"x\u202egnp.exe", `x\xe2\x80\xaegnp.exe`},
		{"\x7f", `\x7f`},
		{"\ufffd", "\ufffd"}, // the real character, not an invalid byte
		{"", ""},
	} {
		if got := Listed(c.in); got != c.want {
			t.Errorf("Listed(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
