package rootbound

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseRights(t *testing.T) {
	for in, want := range map[string]Rights{
		"ro": ReadOnly, "rw": ReadWrite, "full": Full, "propose": ProposeOnly,
		"list, read": List | Read, "read propose": Read | Propose,
	} {
		got, err := ParseRights(in)
		if err != nil || got != want {
			t.Errorf("ParseRights(%q) = %v, %v; want %v", in, got, err, want)
		}
		if back, err := ParseRights(strings.Join(strings.Fields(got.String()), ",")); err != nil || back != got {
			t.Errorf("%v does not come back from its text: %v, %v", got, back, err)
		}
	}
	for _, in := range []string{"", "rx", "ro rw", "read,,nothing"} {
		if r, err := ParseRights(in); err == nil {
			t.Errorf("ParseRights(%q) = %v, want an error", in, r)
		}
	}
}

func TestEveryReasonSaysWhatToDo(t *testing.T) {
	seen := map[Reason]bool{}
	for _, r := range Reasons() {
		if seen[r] {
			t.Errorf("%s stands twice", r)
		}
		seen[r] = true
		if r.Meaning() == "" || strings.HasSuffix(r.Meaning(), ".") {
			t.Errorf("%s: meaning %q", r, r.Meaning())
		}
		if n := r.Next(); n == "" || !strings.HasSuffix(n, ".") {
			t.Errorf("%s: next %q is no sentence", r, n)
		}
	}
}

func TestErrorIsTheStandardLibrarysToo(t *testing.T) {
	for _, r := range Reasons() {
		err := error(&Error{Reason: r, Op: OpRead, Path: "x", Err: errors.New("/host/path")})
		if strings.Contains(err.Error(), "/host") {
			t.Errorf("%s shows its cause", r)
		}
		n := 0
		for _, s := range []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission} {
			if errors.Is(err, s) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s is %d of the standard errors", r, n)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		`a"b\c`:         `"a\"b\\c"`,
		"a\nb\x1b":      `"a\x0ab\x1b"`,
		"inv\u202eexe":  `"inv\u{202e}exe"`,
		"bad\xff":       `"bad\xff"`,
		"é\u200b":       `"é\u{200b}"`,
		"\u0085\u2028x": `"\u{85}\u{2028}x"`,
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
	if got := Quote(strings.Repeat("é", 200)); !strings.HasSuffix(got, "…") || strings.Contains(got, `\x`) {
		t.Errorf("a cut splits a rune: %s", got)
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("a\x00\u202e\xff\"\\")
	f.Add(strings.Repeat("\xf0\x9f\x98\x80", 90))
	f.Fuzz(func(t *testing.T, s string) {
		for _, out := range []string{Quote(s), Clean(s), Listed(s)} {
			if !utf8.ValidString(out) {
				t.Fatalf("%q is not UTF-8", out)
			}
			for _, r := range out {
				if Hidden(r) {
					t.Fatalf("%q lets %U through", out, r)
				}
			}
		}
		if len(Quote(s)) > 2+len("…")+MaxEcho*8 {
			t.Fatal("not bounded")
		}
	})
}
