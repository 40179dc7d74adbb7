package truth

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

func world(t *testing.T) *World {
	t.Helper()
	w, err := New(t.TempDir(), rand.New(rand.NewPCG(1, 2)).Uint64)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// codings are the forms docs/probe.md says are recognised.
var codings = map[string]func(string) string{
	"plain": func(s string) string { return s },
	"head":  func(s string) string { return s[:12] },
	"escapes": func(s string) string {
		var b strings.Builder
		for _, r := range s {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		return b.String()
	},
	"base64":           func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 behind 1":  func(s string) string { return base64.StdEncoding.EncodeToString([]byte("\xff" + s + "\n")) },
	"base64 behind 2":  func(s string) string { return base64.StdEncoding.EncodeToString([]byte("\xff\xfe" + s + "\n")) },
	"base64 for URLs":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("\xfb\xff\xfe?" + s)) },
	"base64 of a head": func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte("a" + s[:12])) },
	"base64 in lines": func(s string) string {
		c := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 50) + s))
		return c[:76] + `\r\n` + c[76:]
	},
	"hex":           func(s string) string { return hex.EncodeToString([]byte(s)) },
	"HEX":           func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"hex in groups": func(s string) string { return strings.TrimSpace(fmt.Sprintf("% x", s)) },
	"xxd": func(s string) string {
		h := hex.EncodeToString([]byte(s))
		return "00000000: " + h[:4] + " " + h[4:8] + " " + h[8:12] + " " + h[12:16] + " " + h[16:20] + " " + h[20:24] + " " + h[24:28] + " " + h[28:32]
	},
	"percent": func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
		return b.String()
	},
	"UTF-16": func(s string) string {
		var b strings.Builder
		for _, u := range utf16.Encode([]rune(s)) {
			b.Write([]byte{byte(u), byte(u >> 8)})
		}
		return b.String()
	},
	"UTF-16 in JSON": func(s string) string { return strings.Join(strings.Split(s, ""), `\u0000`) },
	"gzip": func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(s))
		z.Close()
		return base64.StdEncoding.EncodeToString(b.Bytes())
	},
}

func TestLeaksAreKnownInTheirForms(t *testing.T) {
	w := world(t)
	for range 200 { // whatever the digits are
		c, in := w.Canary(), w.Inside()
		for name, code := range codings {
			if b := []byte(`{"text":"a ` + code(c) + ` b"}`); !Leaked(b) {
				t.Fatalf("%s: %s is not known: %q", name, c, b)
			}
			if b := []byte(`{"text":"a ` + code(in) + ` b"}`); Leaked(b) {
				t.Fatalf("%s: what is inside is taken for a canary: %q", name, b)
			}
		}
		if w.Blank(c+" "+c[:13]) != "CANARY CANARY" {
			t.Error(w.Blank(c))
		}
	}
}

// TestNoiseIsNoLeak: random bytes in the same forms, ends that are cut and what looks like a form and is none.
func TestNoiseIsNoLeak(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 2000 {
		b := make([]byte, n%300)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		for _, form := range [][]byte{b, []byte(base64.StdEncoding.EncodeToString(b)), []byte(hex.EncodeToString(b)), append([]byte("H4sI"), b...),
			append(b, head...), append(b, `\u00`...), append(b, "%7"...), append([]byte(base64.StdEncoding.EncodeToString(b)), base64.StdEncoding.EncodeToString([]byte(head))...)} {
			if Leaked(form) {
				t.Fatalf("%q", form)
			}
		}
	}
}

func FuzzUnescaped(f *testing.F) {
	f.Add("a\n\"b\\\x00\u20ac")
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		b, err := json.Marshal(s)
		if err != nil {
			t.Skip()
		}
		for _, r := range s {
			if r > 0xffff {
				return // two escapes, which canaries do not need
			}
		}
		if got := string(Unescaped(b[1 : len(b)-1])); got != s {
			t.Errorf("%q became %q", s, got)
		}
		Unescaped([]byte(s))
		Leaked([]byte(s))
	})
}

// TestDeedsStayInTheTree: cases may be somebody else's, or have a slip.
func TestDeedsStayInTheTree(t *testing.T) {
	w := world(t)
	real := t.TempDir()
	if err := os.WriteFile(real+"/mine", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"away": real, "mine": real + "/mine", "none": real + "/none"} {
		if err := os.Symlink(to, w.Dir+"/ws/app/"+link); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(t.TempDir())
	for _, d := range []Deed{
		{File: real + "/new"}, {File: "new"}, {File: "{ap}/new"}, {File: "{app}/../../../new"}, {File: "{w}"}, {Remove: "{w}"}, {Remove: real}, {Remove: "{w}/.."},
		{Remove: "{app}/away/mine"}, {File: "{app}/away/new"}, {File: "{app}/mine"}, {File: "{app}/none"}, {Chmod: "{app}/mine", Mode: "777"},
		{Many: "{app}/away", Times: 1}, {Chain: "{app}/away", Times: 1}, {Dir: "{app}/away/dir"}, {Sparse: "{app}/mine", Size: 1},
		{Hardlink: "{app}/hard", To: real + "/mine"}, {Rename: "{app}/src", To: real + "/src"}, {Rename: real + "/mine", To: "{app}/got"},
		{Exchange: "{app}/src", To: real}, {Link: "{app}/away/link", To: "x"}, {Fifo: "{app}/away/fifo"}, {Zero: real + "/zero"},
	} {
		if err := w.Do([]Deed{d}); err == nil {
			t.Errorf("%+v was done", d)
		}
	}
	left, _ := os.ReadDir(real)
	if b, err := os.ReadFile(real + "/mine"); err != nil || string(b) != "mine" || len(left) != 1 {
		t.Errorf("%v %q %v", left, b, err)
	}
	if here, _ := os.ReadDir("."); len(here) > 0 {
		t.Errorf("made in the working directory: %v", here)
	}
	for _, d := range []Deed{{File: "{app}/outlink/new"}, {File: "{app}/a/b/c"}, {Remove: "{app}/away"}, {Link: "{app}/again", To: real}, {Exchange: "{app}/again", To: "{app}/src"}} {
		if err := w.Do([]Deed{d}); err != nil {
			t.Errorf("%+v: %v", d, err)
		}
	}
	if _, err := os.Stat(filepath.Join(w.Dir, "out", "new")); err != nil {
		t.Error(err)
	}
	for _, d := range []Deed{{File: "{app}/x", Times: -1}, {Many: "{app}/x", Times: 1 << 30}, {Chain: "{app}/x", Times: 1 << 20}, {Sparse: "{app}/x", Size: -1}, {File: "{app}/x", Text: strings.Repeat("x", 1000), Times: 2 << 20}} {
		if d.Bounds() == nil {
			t.Errorf("%+v is within bounds", d)
		}
	}
	if n := len(w.Fill("{times:-5:x}{times:99999999999:ab}")); n > repeated {
		t.Errorf("a repetition of %d bytes", n)
	}
}
