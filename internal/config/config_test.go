package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config/source"
)

// tree makes directories and returns the one that holds them.
func tree(t testing.TB, dirs ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var ignoreOrigins = cmpopts.IgnoreUnexported(Config{})

func TestFull(t *testing.T) {
	dir := tree(t, "dir-a", "dir b")
	source, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, filepath.Join(dir, "full.yaml"), string(source))
	got, warnings, err := Load(Input{File: file, Getenv: env("HOME", dir), Cwd: "/elsewhere"})
	if err != nil || len(warnings) != 0 {
		t.Fatal(warnings, err)
	}
	want := &Config{
		File:     file,
		Tools:    "project",
		Relative: "explicit",
		Roots:    Roots{"require", 1500 * time.Millisecond, "ceiling", "never", true},
		Audit:    Audit{filepath.Join(dir, "log/audit.jsonl"), "always", "hash", 10 << 20, 3},
		Limits:   Limits{65536, 2 << 20, 100, 20, 10, 1 << 20, 7, 12, 1 << 20, 30, 3 * time.Second},
		Undo:     Undo{MaxSize: 1 << 30, Keep: 24 * time.Hour, Entries: 50},
		Confine:  "require", FSTimeout: 2 * time.Second, NoSlow: true, StrictStart: true,
		Client: rootbound.Project{Rights: rootbound.ReadWrite},
		Projects: []rootbound.Project{
			{
				ID: "app", Dir: filepath.Join(dir, "dir-a"), Rights: rootbound.Full,
				Deny: []string{"**/secret/**", "*.pem"}, AllowExtensions: []string{".go", ".md"},
				MaxRead: 10 << 20, MaxWrite: 1000, LiftCredentials: true, LiftExecution: true,
				DenyMounts: true, DenyHardlinks: true, MovesAcross: true, CopyAcross: true,
			},
			{
				ID: "dir-b", Dir: filepath.Join(dir, "dir b"), Rights: rootbound.Read | rootbound.List | rootbound.Propose,
				Deny: []string{"**/secret/**", "*.pem"}, LiftCredentials: true,
			},
		},
	}
	if d := cmp.Diff(want, got, ignoreOrigins); d != "" {
		t.Fatal(d)
	}

	// What Show writes loads as the same configuration, with and without origins.
	for _, origins := range []bool{false, true} {
		shown := write(t, filepath.Join(dir, "shown.yaml"), string(got.Show(origins)))
		again, _, err := Load(Input{File: shown, Getenv: env("HOME", dir)})
		if err != nil {
			t.Fatalf("%v\n%s", err, got.Show(origins))
		}
		want.File = shown
		if d := cmp.Diff(want, again, ignoreOrigins); d != "" {
			t.Error(d)
		}
	}
}

func TestDefaults(t *testing.T) {
	got, warnings, err := Load(Input{Getenv: env(), Cwd: "/"})
	if err != nil || len(warnings) != 0 {
		t.Fatal(warnings, err)
	}
	want := &Config{
		Tools:    "classic",
		Relative: "unique",
		Roots:    Roots{Mode: "client", Timeout: 5 * time.Second, OnEmpty: "deny", AskModern: "auto"},
		Audit:    Audit{Fsync: "mutations", Paths: "plain", MaxSize: 64 << 20, Keep: 10},
		Limits:   Limits{1 << 20, 4 << 20, 50_000, 1000, 100, 16 << 20, 50_000, 1000, 4 << 30, 1_000_000, 20 * time.Second},
		Undo:     Undo{MaxSize: 256 << 20, Keep: 7 * 24 * time.Hour, Entries: 1000},
		Confine:  "auto", FSTimeout: 5 * time.Second,
		Client: rootbound.Project{Rights: rootbound.ReadWrite},
	}
	if d := cmp.Diff(want, got, ignoreOrigins); d != "" {
		t.Error(d)
	}
	dir := tree(t, "p")
	if got, _, err = Load(Input{Getenv: env(), Dirs: []string{dir + "/p"}}); err != nil || got.Roots.Mode != "narrow" {
		t.Errorf("with a project: %v, %v", got, err)
	}
	file := write(t, filepath.Join(dir, "c.yaml"), "projects: [{dir: p, rights: rw}]\n")
	for want, in := range map[string]Input{
		"project": {Getenv: env(), File: file},
		"classic": {Getenv: env(), File: file, Dirs: []string{dir + "/p"}},
	} {
		if got, _, err = Load(in); err != nil || got.Tools != want {
			t.Errorf("tools with %+v: %v, %v", in, got, err)
		}
		in.Flags = map[string]string{"tools": "classic"}
		if got, _, err = Load(in); err != nil || got.Tools != "classic" {
			t.Errorf("--tools=classic with %+v: %v, %v", in, got, err)
		}
	}
	if got, _, err = Load(Input{Getenv: env("ROOTBOUND_ALLOWED_DIRS", dir+"/p"), File: file}); err != nil || got.Tools != "classic" {
		t.Errorf("tools with directories of the environment: %v, %v", got, err)
	}
	for _, s := range Settings() {
		if s.Help == "" || s.Key == "" || s.Env == "" || !strings.HasPrefix(s.Env, "ROOTBOUND_") {
			t.Errorf("setting %+v lacks a name or help", s)
		}
	}
}

func TestPrecedence(t *testing.T) {
	dir := tree(t, "p")
	file := write(t, filepath.Join(dir, "c.yaml"), "roots: require\nconfine: off\nrelative: first\nprojects:\n  - dir: p\n")
	got, _, err := Load(Input{
		File:   file,
		Getenv: env("ROOTBOUND_ROOTS", "ignore", "ROOTBOUND_CONFINE", "require", "ROOTBOUND_AUDIT", "a.jsonl"),
		Flags:  map[string]string{"roots": "narrow"},
		Cwd:    dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]struct {
		value, origin string
	}{
		"roots.mode":    {"narrow", "flag --roots"},
		"confine":       {"require", "env ROOTBOUND_CONFINE"},
		"relative":      {"first", "file " + file + ":3:11"},
		"roots.timeout": {"5s", "default"},
		"audit.path":    {dir + "/a.jsonl", "env ROOTBOUND_AUDIT"},
	} {
		i := slices.IndexFunc(Settings(), func(s Setting) bool { return s.Key == key })
		if v := Settings()[i].get(got); v != want.value || got.Origin(key).String() != want.origin {
			t.Errorf("%s: %s from %s, want %s from %s", key, v, got.Origin(key), want.value, want.origin)
		}
	}
	if o := got.Origin("projects.p").String(); o != "file "+file+":5:5" {
		t.Errorf("project from %s", o)
	}
	if shown := got.Show(true); !bytes.Contains(shown, []byte("# flag --roots\n")) || !bytes.Contains(shown, []byte("# default\n")) {
		t.Errorf("origins are missing:\n%s", shown)
	}
}

func TestBadFlagsAndVariables(t *testing.T) {
	for _, c := range []struct {
		in   Input
		want string
	}{
		{Input{Getenv: env("ROOTBOUND_ROOTS", "wide")}, `ROOTBOUND_ROOTS: "wide" is not one of narrow, client, ignore, require`},
		{Input{Flags: map[string]string{"roots-timeout": "1h"}}, `--roots-timeout: "1h" must be between 10ms and 5m0s`},
		{Input{Flags: map[string]string{"rots": "1h"}}, `--rots: is not a setting`},
		{Input{ReadOnly: true, AllowDelete: true}, `--read-only: contradicts --allow-delete`},
		{Input{File: "/no/such/file.yaml"}, `/no/such/file.yaml: cannot be read: no such file or directory`},
		{Input{File: "/"}, `/: cannot be read: not a regular file`},
		{Input{Dirs: []string{""}, Cwd: "/"}, `argument: "" names no directory`},
		{Input{Dirs: []string{"/tmp", ""}, Cwd: "/"}, `argument: "" names no directory`},
		{Input{Dirs: []string{"/"}, Flags: map[string]string{"roots": "client"}}, `--roots: client means`},
	} {
		if c.in.Getenv == nil {
			c.in.Getenv = env()
		}
		if _, _, err := Load(c.in); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestDirectoryArguments(t *testing.T) {
	dir := tree(t, "one", "two/one", "home/src", "läb or", "-")
	write(t, dir+"/file", "")
	if err := os.Symlink("one", dir+"/alias"); err != nil {
		t.Fatal(err)
	}
	got, warnings, err := Load(Input{
		Dirs: []string{
			"one", dir + "/two/one/", "~/src", "./läb or", "-", "one/../one", "alias", // the last two are "one" again
			"missing", dir + "/file",
		},
		Getenv: env("HOME", dir+"/home"),
		Cwd:    dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []rootbound.Project{
		{ID: "one", Dir: dir + "/one"},
		{ID: "one-2", Dir: dir + "/two/one"},
		{ID: "src", Dir: dir + "/home/src"},
		{ID: "läb-or", Dir: dir + "/läb or"},
		{ID: "project", Dir: dir + "/-"},
		{ID: "missing", Dir: dir + "/missing"}, // served when it appears
	}
	for i := range want {
		want[i].Rights = rootbound.ReadWrite
	}
	if d := cmp.Diff(want, got.Projects); d != "" {
		t.Error(d)
	}
	lines := []string{
		"Warning: Cannot access directory " + dir + "/missing, skipping",
		"Warning: " + dir + "/file is not a directory, skipping",
	}
	if d := cmp.Diff(lines, warnings); d != "" {
		t.Error(d)
	}
}

func TestDirectoryRights(t *testing.T) {
	dir := tree(t, "one")
	for _, c := range []struct {
		in   Input
		want rootbound.Rights
	}{
		{Input{}, rootbound.ReadWrite},
		{Input{ReadOnly: true}, rootbound.ReadOnly},
		{Input{AllowDelete: true}, rootbound.Full},
	} {
		c.in.Dirs, c.in.Getenv = []string{dir + "/one"}, env()
		got, _, err := Load(c.in)
		if err != nil || got.Projects[0].Rights != c.want || got.Client.Rights != c.want {
			t.Errorf("%+v: %v", got, err)
		}
	}
	// --read-only narrows what the file grants, and nothing widens it.
	file := write(t, dir+"/c.yaml", "projects: [{dir: one, rights: full}]")
	got, _, err := Load(Input{File: file, ReadOnly: true, Getenv: env()})
	if err != nil || got.Projects[0].Rights != rootbound.ReadOnly {
		t.Errorf("%v, %v", got, err)
	}
	// The same directory with other rights is refused, with the same it is one project.
	_, _, err = Load(Input{File: file, Dirs: []string{dir + "/one"}, Getenv: env()})
	if err == nil || !strings.Contains(err.Error(), "granted twice with different rights: rw here, full as project \"one\" (file "+file+":1:") {
		t.Error(err)
	}
	got, _, err = Load(Input{File: file, Dirs: []string{dir + "/one"}, AllowDelete: true, Getenv: env()})
	if err != nil || len(got.Projects) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestOtherSpellingsOfArguments(t *testing.T) {
	dir := tree(t, "a", "b", "c", "d", "e")
	got, _, err := Load(Input{
		Dirs:        []string{dir + "/a"},
		AllowedDirs: dir + "/b:" + dir + "/c",
		Getenv:      env("ROOTBOUND_ALLOWED_DIRS", dir+"/d", "MCP_ALLOWED_ROOTS", ":"+dir+"/e:"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, p := range got.Projects {
		ids = append(ids, string(p.ID)+" "+got.Origin("projects."+string(p.ID)).String())
	}
	want := []string{"a argument", "b flag --allowed-dirs", "c flag --allowed-dirs", "d env ROOTBOUND_ALLOWED_DIRS", "e env MCP_ALLOWED_ROOTS"}
	if d := cmp.Diff(want, ids); d != "" {
		t.Error(d)
	}
}

func TestNoDirectoryUsable(t *testing.T) {
	dir := tree(t, "good")
	write(t, dir+"/file", "")
	in := Input{Dirs: []string{dir + "/missing", dir + "/file"}, Getenv: env()}
	_, warnings, err := Load(in)
	if !errors.Is(err, ErrNoDirectories) || err.Error() != "None of the specified directories are accessible" || len(warnings) != 2 {
		t.Errorf("%v, %v", warnings, err)
	}
	in.File = write(t, dir+"/c.yaml", "projects: [{dir: good}]")
	if _, _, err = Load(in); err != nil {
		t.Errorf("with a good project in the file: %v", err)
	}
}

func TestMissingProjectOfTheFile(t *testing.T) {
	dir := tree(t)
	file := write(t, dir+"/c.yaml", "projects: [{dir: later}]")
	got, warnings, err := Load(Input{File: file, Getenv: env()})
	if err != nil || len(got.Projects) != 1 {
		t.Fatal(got, err)
	}
	want := "Warning: directory " + dir + "/later does not exist (" + file + ":1:18); it is served when it appears"
	if len(warnings) != 1 || warnings[0] != want {
		t.Errorf("%q, want %q", warnings, want)
	}
}

func TestMistakesOfTheFirstFile(t *testing.T) {
	dir := tree(t)
	for text, want := range map[string]string{
		"projects:\n\t- dir: one\n":                  ":2:1: a tab where YAML wants blanks",
		"undo: {keep: 7d}\nprojects: [{dir: one}]\n": "use 500ms, 5s, 2m, 48h",
	} {
		if _, _, err := Load(Input{File: write(t, dir+"/c.yaml", text), Getenv: env()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	file := write(t, dir+"/c.yaml", "projects: [{dir: $HOME/app}]")
	if _, warnings, err := Load(Input{File: file, Getenv: env()}); err != nil || len(warnings) != 1 || !strings.HasSuffix(warnings[0], "Variables and patterns are not replaced, only ~/ at the beginning") {
		t.Errorf("%q, %v", warnings, err)
	}
}

func TestLimitsOfTheParser(t *testing.T) {
	dir := tree(t)
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [*" + p + strings.Repeat(", *"+p, 9) + "]\n"
	}
	for name, c := range map[string]struct{ source, want string }{
		"too large":  {strings.Repeat("# comment\n", 30_000), "larger than 262144 bytes"},
		"not UTF-8":  {"relative: \xff", "not UTF-8"},
		"alias bomb": {bomb, "too many or too deeply nested"},
		"deep":       {"projects: " + strings.Repeat("[", 2000) + strings.Repeat("]", 2000), "too many or too deeply nested"},
		"own alias":  {"projects: &p [*p]", "too many or too deeply nested"},
		"merge":      {"projects: [{dir: a, <<: {dir: b}}]", "a key must be a plain word"},
	} {
		file := write(t, dir+"/c.yaml", c.source)
		if _, _, err := Load(Input{File: file, Getenv: env()}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, source := range map[string]string{"empty": "", "comment": "# nothing\n", "empty sections": "audit:\nroots: {}\nprojects:\n", "start mark": "---\nrelative: first\n"} {
		file := write(t, dir+"/c.yaml", source)
		if _, _, err := Load(Input{File: file, Getenv: env()}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzParse: no configuration ends the program; a refused one names a place inside it; an accepted one survives being
// shown and read again.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/problems/*.yaml")
	for _, name := range append(files, "testdata/full.yaml") {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	load := func(text []byte) (*Config, *source.Problems) {
		c := &Config{origins: make(map[string]Origin)}
		for _, s := range Settings() {
			if s.Default != "" {
				if err := s.set(c, s.Default); err != nil {
					f.Fatal(err)
				}
			}
		}
		p := source.NewProblems("fuzz.yaml", text)
		d := decoder{Problems: p, loader: &loader{Config: c, in: Input{Getenv: env("HOME", "/home/u")}}, dir: "/nowhere/at/all"}
		if root := source.Parse(text, p); root != nil {
			d.document(root)
			d.environments(root)
		}
		return c, p
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, p := load(text)
		if err := p.Err(); err != nil {
			for _, e := range p.Found {
				if e.Line < 0 || e.Line > bytes.Count(text, []byte("\n"))+bytes.Count(text, []byte("\r"))+1 {
					t.Errorf("place outside the file: %v", e)
				}
				if strings.ContainsFunc(e.Error(), func(r rune) bool { return r != '\n' && rootbound.Hidden(r) }) {
					t.Errorf("control character in %q", e.Error())
				}
			}
			return
		}
		again, p := load(c.Show(true))
		if err := p.Err(); err != nil {
			t.Fatalf("%v\n%s", err, c.Show(true))
		}
		if d := cmp.Diff(c, again, ignoreOrigins); d != "" {
			t.Errorf("%s\n%s", d, c.Show(true))
		}
	})
}
