package show

import (
	"strings"
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 9: "9 B", 1023: "1023 B", 1024: "1.00 KB", 4096: "4.00 KB", 1536: "1.50 KB", 1 << 20: "1.00 MB",
		3 << 30: "3.00 GB", 1 << 40: "1.00 TB", 1 << 52: "4096.00 TB"} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestSizedLines(t *testing.T) {
	line := func(name string, dir bool, n int64) string {
		var b strings.Builder
		SizedLine(&b, name, dir, n)
		return b.String()
	}
	for _, c := range []struct{ got, want string }{
		{line("a.txt", false, 9), "[FILE] a.txt                                 9 B"},
		{line("d", true, 0), "[DIR] d                              "},
		{line("😀", false, 4096), "[FILE] 😀" + strings.Repeat(" ", 32) + "4.00 KB"},
	} {
		if c.got != c.want {
			t.Errorf("\n%q\n%q", c.got, c.want)
		}
	}
}

func TestMoment(t *testing.T) {
	at := time.Date(2026, 11, 29, 22, 18, 42, 0, time.FixedZone("x", 3600))
	if got := Moment(at); got != "Sun Nov 29 2026 21:18:42 GMT+0000 (Coordinated Universal Time)" {
		t.Error(got)
	}
}

func TestJoinKeepsTheCallersSpelling(t *testing.T) {
	for _, c := range [][3]string{{"/a", "b", "/a/b"}, {"/a/", "b", "/a/b"}, {"/", "b", "/b"}, {"", "b", "b"}, {".", "b", "./b"}, {"sub", "x/\n", `sub/x/\x0a`}, {"a", "", "a"},
		{`/w\x`, "b", `/w\x/b`}} {
		if got := Join(c[0], c[1]); got != c[2] {
			t.Errorf("Join(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// TestBytes: a bound is told in the words that set it.
func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 bytes", 1000: "1000 bytes", 1024: "1 KiB", 1536: "1536 bytes", 512 << 10: "512 KiB", 1 << 20: "1 MiB",
		3 << 30: "3 GiB", 1 << 40: "1 TiB", 1 << 52: "4096 TiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}
