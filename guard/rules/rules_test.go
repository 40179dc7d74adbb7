package rules

import (
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
)

func compiled(t *testing.T, p rootbound.Project) *Policy {
	t.Helper()
	pol, err := New(&p)
	if err != nil {
		t.Fatal(err)
	}
	return pol
}

func TestPresetsJudgeNames(t *testing.T) {
	pol := compiled(t, rootbound.Project{})
	for path, want := range map[string]string{ // "" open, "read" nothing may touch it, "write" no mutation
		".env": "read", "a/.env.local": "read", ".env.example": "", "a/.ENV": "read", ".environment": "read",
		"x/id_rsa": "read", "id_rsa.pub": "", "k/server.PEM": "read", "a/.ssh": "read", "a/.ssh/config": "read",
		".aws/credentials": "read", ".docker/config.json": "read", ".docker/other": "",
		".git/config": "write", "sub/.git/hooks/pre-commit": "write", ".git/hooks": "write", ".git/HEAD": "",
		".git/modules/a/b/hooks/x": "write", ".git/modules/a/config": "write", ".GIT/config": "write", "git~1/hooks/x": "write",
		".g\u200cit/config": "write", ".git./config": "write", ".gıt/config": "",
		".envrc":             "read", // .env* hides it before the preset execution can
		".vscode/tasks.json": "write", ".vscode/extensions.json": "", ".VSCode/Tasks.JSON": "write",
		".claude/settings.json": "write", ".claude": "write", ".mcp.json": "write",
		"src/main.go": "", "git/config": "", "hooks/x": "", ".ｅｎｖ": "read",
	} {
		at := Fold(path)
		got := ""
		if pol.Read(at, false) != nil {
			got = "read"
		} else if pol.Mutate(at, false) != nil {
			got = "write"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

func TestGitFileIsNoDirectory(t *testing.T) {
	pol := compiled(t, rootbound.Project{})
	if pol.Mutate("a/.git", false) == nil {
		t.Error("a .git file can be made")
	}
	if r := pol.Mutate("a/.git", true); r != nil {
		t.Errorf("a .git directory cannot be made: %s", r.ID)
	}
}

func TestPrefixDirectoriesDoNotMove(t *testing.T) {
	pol := compiled(t, rootbound.Project{})
	for _, p := range []string{".git", "a/.git", ".vscode", "x/.aws", ".GIT", ".config", "a/.claude"} {
		if pol.Move(Fold(p)) == nil {
			t.Errorf("%q can be moved", p)
		}
	}
	for _, p := range []string{"git", "a/b", "src"} {
		if r := pol.Move(Fold(p)); r != nil {
			t.Errorf("%q cannot be moved: %s", p, r.ID)
		}
	}
}

func TestDenyGlobs(t *testing.T) {
	pol := compiled(t, rootbound.Project{Deny: []string{"**/bin/**", "secret/", "*.log", "docs/**/*.key", "**/b?d", "**/{x,Y}z"}, LiftCredentials: true})
	for path, want := range map[string]bool{
		"p/bin": true, "p/bin/a.dll": true, "bin": true, "robin/x": false,
		"secret": true, "secret/a/b": true, "a/secret": false,
		"a.log": true, "A.LOG": true, "sub/a.log": false,
		"docs/k.key": true, "docs/a/b/k.key": true, "k.key": false,
		"x/bad/y": true, "bid": true, "bd": false, "a/xz": true, "a/yZ": true, ".env": false,
	} {
		if got := pol.Read(Fold(path), false) != nil; got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
	for _, p := range []string{"./x/**", "a//b", "a/../b", ""} {
		if _, err := New(&rootbound.Project{Deny: []string{p}}); err == nil {
			t.Errorf("%q can match nothing and passes", p)
		}
	}
	if _, err := New(&rootbound.Project{Deny: []string{"a[b"}}); err == nil || !strings.Contains(err.Error(), "a[b") {
		t.Errorf("a bad pattern passes: %v", err)
	}
}

func TestLiftedPresetsSayNothing(t *testing.T) {
	pol := compiled(t, rootbound.Project{LiftCredentials: true, LiftExecution: true})
	for _, p := range []string{".env", ".git/config", ".ssh/id_rsa", ".git"} {
		if r := pol.Mutate(p, false); r != nil {
			t.Errorf("%s: %s", p, r.ID)
		}
	}
}

func TestAllowExtensions(t *testing.T) {
	pol := compiled(t, rootbound.Project{AllowExtensions: []string{".go", "md"}})
	for path, want := range map[string]bool{"a.go": false, "x/README.MD": false, "a.txt": true, "Makefile": true} {
		if got := pol.Read(Fold(path), false) != nil; got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
	if pol.Read("dir.x", true) != nil {
		t.Error("a directory is judged by its extension")
	}
}

// A walk judges entry by entry; both ways must agree on every path.
func TestWalkAndPathAgree(t *testing.T) {
	pol := compiled(t, rootbound.Project{Deny: []string{"**/bin/**", "a/*.txt", "**/q*z"}})
	for _, path := range []string{"a/.env", "a/b.txt", "x/bin/y", "bin", "c/q1z", ".ssh/x", "plain/file.go", "a/.AWS/z", "a/.env.example"} {
		hidden := false
		for i, parts := 0, strings.Split(path, "/"); i < len(parts) && !hidden; i++ {
			at := strings.Join(parts[:i+1], "/")
			hidden = pol.Node(parts[i], i < len(parts)-1, func() string { return at }) != nil
		}
		if want := pol.Read(Fold(path), false) != nil; hidden != want {
			t.Errorf("%q: a walk hides %v, the path %v", path, hidden, want)
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{".GIT", "İ", "ſ", "K", "ẞ", ".g\u200cit", "a. .", "\xff", "e\u0301", "\xf1ǲ", "\xe2ｅnv"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(s, "/") {
			return
		}
		once := fold(s)
		if again := fold(once); again != once {
			t.Fatalf("fold(%q) = %q, folded again %q", s, once, again)
		}
		if up := fold(strings.ToUpper(s)); isASCII(s) && up != once {
			t.Fatalf("%q and its upper case fold apart: %q, %q", s, once, up)
		}
	})
}

func isASCII(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0 }

func BenchmarkNode(b *testing.B) {
	pol, _ := New(&rootbound.Project{})
	p := func() string { return "src/some/dir/file_name_1.go" }
	b.ReportAllocs()
	for b.Loop() {
		if pol.Node("file_name_1.go", false, p) != nil {
			b.Fatal("hidden")
		}
	}
}
