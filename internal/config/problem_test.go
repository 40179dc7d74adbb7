package config

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// TestProblems holds the text of every mistake against testdata/problems.golden, read as a set.
func TestProblems(t *testing.T) {
	files, err := filepath.Glob("testdata/problems/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	dir := t.TempDir()
	for _, d := range []string{"dir-a", "dir-b"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink("dir-a", filepath.Join(dir, "link-to-a"))
	os.WriteFile(filepath.Join(dir, "file.txt"), nil, 0o600)
	var got bytes.Buffer
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Base(f))
		if err := os.WriteFile(path, source, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err = Load(Input{File: path, Getenv: env(), Cwd: dir})
		if err == nil {
			t.Errorf("%s: accepted", f)
			continue
		}
		got.WriteString("== " + filepath.Base(f) + "\n" + strings.ReplaceAll(err.Error(), dir, "DIR") + "\n\n")
	}
	golden := "testdata/problems.golden"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("texts changed (-want +got); if that is meant, go test -update:\n%s", d)
	}
}

// env is an environment of the given pairs.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}
