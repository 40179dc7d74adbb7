package patch_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/patch"
)

// house is one project in a directory, and the door to it.
type house struct {
	dir string
	g   *guard.Guard
	ctx context.Context
}

func build(t testing.TB, dir string, o guard.Options) *house {
	t.Helper()
	c, err := authority.Open([]rootbound.Project{{ID: "p", Dir: dir, Rights: rootbound.Full}}, authority.CeilingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a := authority.New(c, authority.Options{})
	use, err := a.Acquire(context.Background(), true)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := authority.With(context.Background(), use)
	t.Cleanup(func() { end(); use.Release(); a.Close(); c.Close() })
	return &house{dir, guard.New(o), ctx}
}

func (h *house) apply(files ...patch.File) (patch.Applied, error) {
	return patch.Apply(h.ctx, h.g, "p", files, nil)
}

func put(t testing.TB, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// listing is every name below dir with its bits and its content.
func listing(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		i, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		b.WriteString(i.Mode().String() + " " + rel)
		if i.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.WriteString(" " + string(content))
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func three(t testing.TB, dir string) {
	put(t, dir+"/a", "old a\n", 0o640)
	put(t, dir+"/b", "old b\n", 0o644)
	put(t, dir+"/run", "#!/bin/sh\n", 0o644)
}

func TestApply(t *testing.T) {
	h := build(t, t.TempDir(), guard.Options{})
	three(t, h.dir)
	on := true
	done, err := h.apply(
		patch.File{Path: "a", After: []byte("new a\n")},
		patch.File{Path: "b", Delete: true},
		patch.File{Path: "c", Before: "absent", After: []byte("new c\n")},
		patch.File{Path: "run", After: []byte("#!/bin/sh\n"), Exec: &on},
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Files) != 4 || !done.Files[1].Deleted || !done.Files[2].Created || done.Files[0].Version == "" {
		t.Errorf("%+v", done)
	}
	want := "-rw-r----- a new a\n\n-rw-r--r-- c new c\n\n-rwxr-xr-x run #!/bin/sh\n\n"
	if got := listing(t, h.dir); !strings.HasSuffix(got, want) {
		t.Errorf("%s", got)
	}
}

func TestRefusedAsAWhole(t *testing.T) {
	h := build(t, t.TempDir(), guard.Options{})
	three(t, h.dir)
	before := listing(t, h.dir)
	good := patch.File{Path: "a", After: []byte("x")}
	for name, c := range map[string]struct {
		bad    patch.File
		reason rootbound.Reason
	}{
		"version":        {patch.File{Path: "b", Before: "AAAAAAAAAAAAAAAAAAAAAA", After: []byte("x")}, rootbound.VersionConflict},
		"absent":         {patch.File{Path: "b", Before: "absent", After: []byte("x")}, rootbound.Exists},
		"rule":           {patch.File{Path: ".git/hooks/pre-commit", After: []byte("x")}, rootbound.RuleDenied},
		"outside":        {patch.File{Path: "../b", After: []byte("x")}, rootbound.PathInvalid},
		"twice":          {patch.File{Path: "./a", Delete: true}, rootbound.ArgumentInvalid},
		"missing":        {patch.File{Path: "none", Delete: true}, rootbound.NotFound},
		"gone meanwhile": {patch.File{Path: "b", Before: "AAAAAAAAAAAAAAAAAAAAAA", Delete: true}, rootbound.VersionConflict},
	} {
		_, err := h.apply(good, c.bad)
		e, _ := err.(*rootbound.Error)
		if rootbound.ReasonOf(err) != c.reason || e.Path != c.bad.Path {
			t.Errorf("%s: %v of %q", name, err, e.Path)
		}
		if got := listing(t, h.dir); got != before {
			t.Errorf("%s: something changed:\n%s", name, got)
		}
	}
}
