package fileuri

import (
	"net/url"
	"strings"
	"testing"
)

// whatwg is the path of a file URL by the URL Standard's basic parser (no base URL), written as the states stand there
// and with no line in common with the parser under test: input clean-up, scheme, file, file slash, file host, path,
// then percent-decoding of the serialized path. ok is false for a failure, for another scheme, and for a URL with query
// or fragment.
func whatwg(in string) (host, path string, ok bool) {
	in = strings.TrimFunc(in, func(r rune) bool { return r <= ' ' })
	for _, drop := range []string{"\t", "\n", "\r"} {
		in = strings.ReplaceAll(in, drop, "")
	}
	if len(in) < 5 || !strings.EqualFold(in[:5], "file:") {
		return "", "", false
	}
	p, slash := 5, func(i int) bool { return i < len(in) && (in[i] == '/' || in[i] == '\\') }
	ends := func(i int) bool { return i >= len(in) || strings.ContainsRune("/\\?#", rune(in[i])) }
	if slash(p) { // file state, then file slash state
		p++
		if slash(p) { // file host state
			p++
			q := p
			for !ends(q) {
				q++
			}
			if buf := in[p:q]; !driveLetter(buf) { // a drive is left for the path state
				host, p = strings.ToLower(buf), q
				if d, err := url.PathUnescape(host); err == nil {
					host = d
				}
				if host == "localhost" {
					host = ""
				}
			}
			if slash(p) { // path start state
				p++
			}
		}
	}
	var segs []string
	for { // path state
		q := p
		for !ends(q) {
			q++
		}
		seg, last := in[p:q], !slash(q)
		lower := strings.ReplaceAll(strings.ToLower(seg), "%2e", ".")
		switch {
		case lower == "..":
			if len(segs) > 0 && !(len(segs) == 1 && driveLetter(segs[0]) && segs[0][1] == ':') {
				segs = segs[:len(segs)-1]
			}
			if last {
				segs = append(segs, "")
			}
		case lower == ".":
			if last {
				segs = append(segs, "")
			}
		default:
			if len(segs) == 0 && driveLetter(seg) {
				seg = seg[:1] + ":"
			}
			segs = append(segs, seg)
		}
		if last {
			p = q
			break
		}
		p = q + 1
	}
	if p < len(in) { // query or fragment
		return "", "", false
	}
	var b strings.Builder
	for _, s := range segs {
		b.WriteByte('/')
		for i := 0; i < len(s); i++ {
			if v, err := url.PathUnescape(s[i:min(i+3, len(s))]); s[i] == '%' && err == nil && len(v) == 1 {
				b.WriteString(v)
				i += 2
			} else {
				b.WriteByte(s[i])
			}
		}
	}
	return host, b.String(), true
}

func driveLetter(s string) bool {
	return len(s) == 2 && strings.ContainsAny(s[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") && strings.ContainsAny(s[1:], ":|")
}

// same drops what makes no difference to a POSIX system: doubled slashes, "." and a slash at the end.
func same(path string) string {
	var out []string
	for n := range strings.SplitSeq(path, "/") {
		if n != "" && n != "." {
			out = append(out, n)
		}
	}
	return "/" + strings.Join(out, "/")
}

// The oracle itself, on results the URL Standard and its test suite (WPT url/resources/urltestdata.json) state.
func TestOracle(t *testing.T) {
	for in, want := range map[string]string{
		"file:///foo/bar.txt": "/foo/bar.txt", "file:/foo": "/foo", "file:foo": "/foo", "file:": "/", "file:///C|/m/": "/C:/m/",
		"file:c:/p": "/c:/p", "file:///a/../b": "/b", "file:///a/%2e%2E/b": "/b", "file://localhost//a//../..//foo": "///foo", "file:\\\\x\\y": "/y",
		"file:///C:/a/../..": "/C:/", "  file:///a\tb\n": "/ab", "file://C:/x": "/C:/x", "file:///a%2Fb": "/a/b", "file:////foo": "//foo",
		"file:///one/two": "/one/two", "file:.//p": "//p", "file:/.//p": "//p",
	} {
		if _, got, ok := whatwg(in); !ok || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, ok, want)
		}
	}
}

// differential is what every accepted URI must satisfy: the WHATWG rules and, where it parses, net/url give no other path.
func differential(t *testing.T, uri string) {
	path, _, err := Posix.Parse(uri)
	if err != nil {
		if path != "" {
			t.Errorf("%q: refused with a path", uri)
		}
		return
	}
	if path[0] != '/' || strings.Contains(path, "//") || strings.ContainsRune(path, 0) || strings.Contains(path+"/", "/../") {
		t.Errorf("%q: %q is not a clean absolute path", uri, path)
	}
	if host, p, ok := whatwg(uri); !ok || host != "" || same(p) != path {
		t.Errorf("%q: we say %q, the URL Standard says %q on host %q, %v", uri, path, same(p), host, ok)
	}
	if u, err := url.Parse(uri); err == nil {
		if u.Scheme != "file" || u.Host != "" && !strings.EqualFold(u.Host, "localhost") || u.RawQuery != "" || u.Fragment != "" || same(u.Path) != path {
			t.Errorf("%q: we say %q, net/url says %#v", uri, path, u)
		}
	}
	if again, warn, err := Posix.Parse(Posix.Format(path)); err != nil || again != path || warn != "" {
		t.Errorf("%q: %q came back as %q, %q, %v", uri, path, again, warn, err)
	}
	if w, _, err := Windows.Parse(uri); err == nil && (len(w) < 3 || w[1:3] != `:\` || strings.ContainsAny(w[3:], `:/`)) {
		t.Errorf("%q: %q is no plain Windows path", uri, w)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range cases(f) {
		if c.URI != nil {
			f.Add(*c.URI)
		}
	}
	for _, s := range []string{
		"file:///.//c|/x", "file:///a%2e%2e", "file://localhost/%2e/%2E./", "file:///a//b/./c/", "file:/c%3a", "file:///a\\b", "file:///a\tb", "file:///a ",
		"FiLe://LOCALHOST/x%25", "file:///%ff%C3%A9é", "file:///[x]|^`{}<>\"", "file:////x", "file:///./", "file://localhost", "file:x", "file:///a;b=c,d",
	} {
		f.Add(s)
	}
	f.Fuzz(differential)
}

// Two decodings never happen: whatever a name is, its URI leads to it and to nothing else.
func FuzzFormat(f *testing.F) {
	f.Add("home/u/100%25")
	f.Add("a\\b/\xff")
	f.Fuzz(func(t *testing.T, names string) {
		path := same(names)
		got, warn, err := Posix.Parse(Posix.Format(path))
		if strings.ContainsRune(path, 0) || strings.Contains(path+"/", "/../") || len(path) > 2 && drive(strings.SplitN(path, "/", 3)[1], false) {
			if err == nil {
				t.Errorf("%q: accepted as %q", path, got)
			}
			return
		}
		if err != nil || got != path || warn != "" {
			t.Errorf("%q: came back as %q, %q, %v", path, got, warn, err)
		}
	})
}
