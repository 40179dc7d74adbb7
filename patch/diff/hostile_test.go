package diff

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
)

// hostile reads testdata/hostile.txt.
func hostile(t testing.TB) (cases []hostileCase) {
	t.Helper()
	b, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(b), "\n=== ")
	for _, p := range parts[1:] {
		head, body, _ := strings.Cut(p+"\n", "\n")
		f := strings.SplitN(head, ":", 3)
		if len(f) != 3 {
			t.Fatalf("%q", head)
		}
		c := hostileCase{name: f[0], reason: strings.TrimSpace(f[1]), detail: strings.TrimSpace(f[2]), diff: plainText(body)}
		if c.diff == "\n" {
			c.diff = ""
		}
		cases = append(cases, c)
	}
	return cases
}

func plainText(s string) string { return strings.NewReplacer("␍", "\r", "␀", "\x00").Replace(s) }

type hostileCase struct{ name, reason, detail, diff string }

func hostileFiles() map[string][]byte {
	return map[string][]byte{"x": []byte("one\ntwo\nthree\n"), "dir/y": []byte("one\r\ntwo\r\n"), "bare": []byte("one"), "empty": nil, "twice": []byte("a\nb\na\nb\n")}
}

// Every odd diff has one named verdict.
func TestHostileDiffs(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range hostile(t) {
		if seen[c.name] {
			t.Errorf("%s stands twice", c.name)
		}
		seen[c.name] = true
		check(t, c)
	}
	if len(seen) < 80 {
		t.Errorf("only %d cases", len(seen))
	}
	const head = "--- a/x\n+++ b/x\n"
	var many strings.Builder
	for i := range MaxFiles + 1 {
		fmt.Fprintf(&many, "--- /dev/null\n+++ b/f%d\n@@ -0,0 +1 @@\n+a\n", i)
	}
	check(t, hostileCase{"many files", "limit_reached", "more than 500 files", many.String()})
	check(t, hostileCase{"many hunks", "limit_reached", "more than 20000 hunks", head + strings.Repeat("@@ -1 +1 @@\n-a\n+b\n", MaxHunks+1)})
	check(t, hostileCase{"a line of 10 MB", "too_large", "10485", head + "@@ -1,3 +1,4 @@\n one\n two\n three\n+" + strings.Repeat("a", 10<<20) + "\n"})
	check(t, hostileCase{"a line of 7 MB", "fits", "", head + "@@ -1,3 +1,4 @@\n one\n two\n three\n+" + strings.Repeat("a", 7<<20) + "\n"})
	check(t, hostileCase{"cut in the last line", "argument_invalid", "no line end", head + "@@ -1,3 +1,3 @@\n one\n-two\n+2\n thr"})
	check(t, hostileCase{"a long name", "path_invalid", "4096", "--- /dev/null\n+++ b/" + strings.Repeat("d/", 2048) + "x\n@@ -0,0 +1 @@\n+a\n"})
}

func check(t *testing.T, c hostileCase) {
	t.Helper()
	_, err := inMemory(sample{files: hostileFiles(), diff: c.diff})
	if c.reason == "fits" {
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		return
	}
	var e *rootbound.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: %v, want %s", c.name, err, c.reason)
		return
	}
	if string(e.Reason) != c.reason || !strings.Contains(e.Detail, c.detail) {
		t.Errorf("%s: %s [%s], want %s [%s] (%v)", c.name, e.Reason, e.Detail, c.reason, c.detail, e.Err)
	}
	if len(e.Detail) > 200 {
		t.Errorf("%s: a detail of %d bytes", c.name, len(e.Detail))
	}
}

// What looking for a place costs is bounded, whatever the file.
func TestSearchIsBounded(t *testing.T) {
	file := []byte(strings.Repeat("a\n", 400_000))
	d := "--- a/x\n+++ b/x\n@@ -5,60001 +5,60002 @@\n" + strings.Repeat(" a\n", 60_000) + "-b\n+a\n+c\n" + " a\n"
	d = strings.Replace(d, "-5,60001 +5,60002", "-5,60002 +5,60003", 1)
	c, err := Parse(d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c[0].Apply(file, 0); rootbound.ReasonOf(err) != rootbound.LimitReached {
		t.Errorf("%v", err)
	}
}

// Hunks in their order cost what they hold and what lies between them, not the whole file each.
func TestManyHunksInAFileOfManyLines(t *testing.T) {
	const lines, hunks = 200_000, 2000
	var d strings.Builder
	d.WriteString("--- a/x\n+++ b/x\n")
	for i := range hunks {
		fmt.Fprintf(&d, "@@ -%d,3 +%d,3 @@\n a\n-a\n+b\n a\n", 10+i*90, 10+i*90)
	}
	c, err := Parse(d.String())
	if err != nil {
		t.Fatal(err)
	}
	file := []byte(strings.Repeat("a\n", lines))
	c[0].most = 50_000
	after, err := c[0].Apply(file, 0)
	if err != nil || strings.Count(string(after), "b\n") != hunks || len(after) != len(file) {
		t.Errorf("%d bytes, %v", len(after), err)
	}
	c[0].hunks[1], c[0].hunks[hunks-1] = c[0].hunks[hunks-1], c[0].hunks[1] // back and forth costs what is moved
	if _, err := c[0].Apply(file, 0); rootbound.ReasonOf(err) != rootbound.LimitReached {
		t.Errorf("%v", err)
	}
}

func TestApplyIsBounded(t *testing.T) {
	c, err := Parse("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+twenty\n three\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c[0].Apply(hostileFiles()["x"], 16); rootbound.ReasonOf(err) != rootbound.TooLarge {
		t.Errorf("%v", err)
	}
	if b, err := c[0].Apply(hostileFiles()["x"], 17); err != nil || string(b) != "one\ntwenty\nthree\n" {
		t.Errorf("%q %v", b, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range hostile(f) {
		f.Add(c.diff)
	}
	files := hostileFiles()
	f.Fuzz(func(t *testing.T, d string) {
		changes, err := Parse(d)
		if err != nil {
			var e *rootbound.Error
			if !errors.As(err, &e) || e.Reason == "" {
				t.Fatalf("%v is no refusal", err)
			}
			return
		}
		for i := range changes {
			c := &changes[i]
			for _, name := range []string{c.Old, c.New} {
				if name != "" && (name[0] == '/' || climbs(name) || strings.IndexByte(name, 0) >= 0) {
					t.Fatalf("%q came through", name)
				}
			}
			if c.Old == "" && c.New == "" {
				t.Fatal("a change of nothing")
			}
			after, err := c.Apply(files[c.Old], 1<<20)
			if err == nil && c.New == "" && len(after) > 0 {
				t.Fatal("deleted with bytes left")
			}
		}
	})
}
