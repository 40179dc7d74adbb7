package fileuri

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
)

type verdict struct {
	Accept    *string   `json:"accept"`
	AcceptHex string    `json:"accept_hex"`
	Refuse    string    `json:"refuse"`
	Detail    string    `json:"detail"`
	Warn      string    `json:"warn"`
	Hint      string    `json:"hint"`
	Each      []verdict `json:"each"`
}

type uriCase struct {
	ID      string   `json:"id"`
	URI     *string  `json:"uri"`
	Posix   *verdict `json:"posix"`
	Windows *verdict `json:"windows"`
	Answer  struct {
		Roots []struct {
			URI string `json:"uri"`
		} `json:"roots"`
	} `json:"answer"`
}

func cases(t testing.TB) []uriCase {
	t.Helper()
	b, err := os.ReadFile("testdata/root-uris.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Cases []uriCase `json:"cases"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Cases) < 30 {
		t.Fatalf("only %d cases", len(f.Cases))
	}
	return f.Cases
}

func (v verdict) check(t *testing.T, s Style, uri string) {
	t.Helper()
	path, warn, err := s.Parse(uri)
	if v.Refuse != "" {
		refused(t, uri, path, err, rootbound.Reason(v.Refuse), v.Detail)
		if e := new(rootbound.Error); errors.As(err, &e) && v.Hint != "" && !strings.Contains(strings.ToLower(e.Next), v.Hint) {
			t.Errorf("%q: the way out is %q, want the hint %q", uri, e.Next, v.Hint)
		}
		return
	}
	want := ""
	if v.Accept != nil {
		want = *v.Accept
	}
	if v.AcceptHex != "" {
		b, herr := hex.DecodeString(v.AcceptHex)
		if herr != nil {
			t.Fatal(herr)
		}
		want = string(b)
	}
	if err != nil || path != want || warn != v.Warn {
		t.Errorf("%q: got %q, warning %q, %v; want %q, warning %q", uri, path, warn, err, want, v.Warn)
	}
}

func refused(t *testing.T, uri, path string, err error, reason rootbound.Reason, detail string) {
	t.Helper()
	var e *rootbound.Error
	if !errors.As(err, &e) || e.Reason != reason || e.Detail != detail || path != "" {
		t.Errorf("%q: got %q, %v; want %s [%s]", uri, path, err, reason, detail)
	}
}

// Each single URI of the cases, and each entry of the whole answers that are judged one by one.
func TestRootURIs(t *testing.T) {
	for _, c := range cases(t) {
		t.Run(c.ID, func(t *testing.T) {
			if c.URI != nil {
				c.Posix.check(t, Posix, *c.URI)
				if c.Windows != nil {
					c.Windows.check(t, Windows, *c.URI)
				}
			}
			for i, v := range c.Posix.Each {
				v.check(t, Posix, c.Answer.Roots[i].URI)
			}
		})
	}
}

func TestG27OnlyLocalFileURIsCount(t *testing.T) {
	for _, uri := range []string{
		"file://server/share", "file://127.0.0.1/x", "file://localhost:80/x", "file://u@localhost/x", "file://localhost./x",
		"file://localhost.evil/x", "file://%6cocalhost/x", "file://[::1]/x", "file://wsl.localhost/Ubuntu/x", "file://C:/x",
		"file://./x", "file://~/x", "FILE://Server/x", "file://server", "file://server?x", "file://server#/x", "file:// /x",
	} {
		path, _, err := Posix.Parse(uri)
		refused(t, uri, path, err, rootbound.RootRemote, "authority")
	}
	for _, uri := range []string{"http://localhost/x", "vscode-remote://wsl%2Bu/home", "memfs:/x", "files:///x", "untitled:x", "data:,x"} {
		path, _, err := Posix.Parse(uri)
		refused(t, uri, path, err, rootbound.RootNotFile, "scheme")
	}
	for _, uri := range []string{"", "/", "/x", "//server/x", ":", "~", "~/x", `C:\x`, "c:/x", "x", "file", "1ile:///x", " file:///x", "fi\tle:///x", "fi%6ce:///x"} {
		path, _, err := Posix.Parse(uri)
		refused(t, uri, path, err, rootbound.RootNotFile, "no_scheme")
	}
}

func TestRefused(t *testing.T) {
	for uri, detail := range map[string]string{
		"file:": "relative", "file://": "relative", "file://localhost": "relative", "file:x/y": "relative",
		"file:c:/x": "drive_letter", "file:c|/x": "drive_letter", "file:///c|/x": "drive_letter", "file:///C:": "drive_letter",
		"file:///c%7C/x": "drive_letter", "file:///./c:/x": "drive_letter", "file:/c:/x": "drive_letter",
		"file:////": "empty_segment", "file:///.//x": "empty_segment", "file:////c:/x": "empty_segment", "file://localhost//x": "empty_segment",
		"file:///..": "dot_segment", "file:///a/%2E%2e": "dot_segment", "file:///a/.%2e/b": "dot_segment", "file:///a/..": "dot_segment",
		"file:///%": "bad_percent", "file:///%2": "bad_percent", "file:///%zz": "bad_percent", "file:///a%/b": "bad_percent", "file:///%%41": "bad_percent",
		"file:///a%2f..%2fb": "encoded_separator", "file:///a\x00": "nul", "file:///%00": "nul",
		"file:///a\tb": "control", "file:///a\nb": "control", "file:///a\r": "control", "file:///a\x7f": "control", "file:///a ": "control",
		`file:///a\b`: "backslash", `file:\\\a`: "backslash", `file://\\server\x`: "backslash", `file:///a\..\b`: "backslash",
		"file:///a?": "query", "file:///a#": "fragment", "file:///a#b?c": "fragment", "file:///a?b#c": "query", "file://?/x": "query", "file:#/x": "fragment",
	} {
		path, _, err := Posix.Parse(uri)
		refused(t, uri, path, err, rootbound.RootURIInvalid, detail)
	}
}

func TestAccepted(t *testing.T) {
	for _, c := range []struct{ uri, path, warn string }{
		{"file:///", "/", ""}, {"file:/", "/", ""}, {"file:///.", "/", ""}, {"file:///./", "/", ""},
		{"FILE://LOCALHOST/a", "/a", ""}, {"fIlE:/a", "/a", ""}, {"file:///a/./b//c///", "/a/b/c", ""}, {"file:///a/%2e/b", "/a/b", ""},
		{"file:///c:x/y", "/c:x/y", ""}, {"file:///a/c:/y", "/a/c:/y", ""}, {"file:///...", "/...", ""}, {"file:///..a/.b", "/..a/.b", ""},
		{"file:///a%20b%0A%09", "/a b\n\t", ""}, {"file:///a%3Fb%23c", "/a?b#c", ""}, {"file:///%252e%252e", "/%2e%2e", ""},
		{"file:///a%20", "/a ", ""}, {"file:///[x]", "/[x]", Unencoded}, {"file:///a\xff", "/a\xff", Unencoded}, {"file:///~u/$x", "/~u/$x", ""},
	} {
		path, warn, err := Posix.Parse(c.uri)
		if err != nil || path != c.path || warn != c.warn {
			t.Errorf("%q: got %q, %q, %v; want %q, %q", c.uri, path, warn, err, c.path, c.warn)
		}
	}
}

func TestWindows(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///C:/Users/x": `C:\Users\x`, "file:///d%3a/": `D:\`, "file:///C:": `C:\`, "file:/c:/a%20b//c/": `C:\a b\c`,
		"file://localhost/c:/x": `C:\x`, "file:///c:/COMA/console": `C:\COMA\console`,
	} {
		if path, _, err := Windows.Parse(uri); err != nil || path != want {
			t.Errorf("%q: got %q, %v; want %q", uri, path, err, want)
		}
	}
	for uri, detail := range map[string]string{
		"file:///": "relative", "file:///home/u": "drive_letter", "file:///c|/x": "drive_letter", "file:///c:x/y": "drive_letter",
		"file:///c:/a%5Cb": "encoded_separator", "file:///c:/a:s": "name", "file:///c:/a.": "name", "file:///c:/a%20/x": "name",
		"file:///c:/NUL": "name", "file:///c:/nul.txt": "name", "file:///c:/com1": "name", "file:///c:/LPT9.x.y": "name",
		"file:///c:/COM%C2%B9": "name", "file:///c:/%ff": "name", "file:///c:/a%2A": "name", "file:///c:/%01": "name", "file:///c:/con%20.txt": "name",
		"file:///c:/../x": "dot_segment", "file:////server/share": "empty_segment", "file:c:/x": "drive_letter",
	} {
		path, _, err := Windows.Parse(uri)
		refused(t, uri, path, err, rootbound.RootURIInvalid, detail)
	}
}

func TestFormat(t *testing.T) {
	for path, want := range map[string]string{
		"/": "file:///", "/home/u/my proj é#1%20[x]": "file:///home/u/my%20proj%20%C3%A9%231%2520%5Bx%5D", "/a\\b": "file:///a%5Cb",
		"/a+b&c=d;e@f:g(h)!": "file:///a+b&c=d;e@f:g(h)!", "/\xff\n?": "file:///%FF%0A%3F",
	} {
		if got := Posix.Format(path); got != want {
			t.Errorf("Format(%q) = %q, want %q", path, got, want)
		}
	}
	if got := Windows.Format(`C:\a b`); got != "file:///C:/a%20b" {
		t.Error(got)
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Posix.Parse("file:///home/u/ws/my%20proj%20%C3%A9%231%2520%5Bx%5D"); err != nil {
			b.Fatal(err)
		}
	}
}
