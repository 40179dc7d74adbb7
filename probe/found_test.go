package probe

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRelativePathsOfACommand(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("dist", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"server.py", "dist/index.js", "plain"} {
		if err := os.WriteFile(f, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in := func(p string) string { return filepath.Join(here, p) }
	for _, c := range []struct{ command, want []string }{
		{[]string{"./my-server", "{app}"}, []string{in("my-server"), "{app}"}}, // missing: the error then names where it was looked for
		{[]string{"node", "dist/index.js", "{app}"}, []string{"node", in("dist/index.js"), "{app}"}},
		{[]string{"python3", "server.py", "--root={app}"}, []string{"python3", in("server.py"), "--root={app}"}},
		{[]string{"plain", "plain", "dist", "none.py", "."}, []string{"plain", "plain", "dist", "none.py", "."}},
		{[]string{"/bin/server", "{w}/dist/index.js"}, []string{"/bin/server", "{w}/dist/index.js"}},
		{[]string{"{w}/server"}, []string{"{w}/server"}},
		{nil, nil},
	} {
		if got := found(c.command); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.command, got, c.want)
		}
	}
}
