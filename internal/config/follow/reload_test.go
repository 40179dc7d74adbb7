package follow

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config"
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

// TestReloaderSays: what waits, what counts later and what went wrong is told, and none of it twice in a row.
func TestReloaderSays(t *testing.T) {
	dir := tree(t, "p", "q")
	file := write(t, dir+"/c.yaml", "projects: [{dir: p}]\n")
	in := config.Input{File: file, Getenv: env(), Cwd: dir}
	c, _, err := config.Load(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReloader(in, c, false)
	if err != nil {
		t.Fatal(err)
	}
	next := func(source string, want ...string) {
		t.Helper()
		write(t, file, source)
		c, lines, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, r.Took(c)...)
		if len(lines) != len(want) {
			t.Errorf("%q", lines)
			return
		}
		for i := range want {
			if !strings.HasPrefix(lines[i], want[i]) {
				t.Errorf("%q, want %q", lines[i], want[i])
			}
		}
	}
	next("projects: [{dir: p}]\n")
	wider := "relative: first\nprojects: [{dir: p, rights: rw}, {dir: q}]\n"
	next(wider, "Notice: the configuration widened project p: rights rw, were ro — waits for: rootbound config apply",
		"Notice: the configuration added project q:", "Notice: the configuration was read again: relative is first, was unique")
	next(wider)
	next("relative: first\nprojects: [{dir: p, deny: x}]\n", "Notice: the configuration was read again: narrowed project p: denies \"x\"")
	next("relative: first\nprojects: [{dir: p}]\n", "Notice: the configuration widened project p: no longer denies \"x\" — waits for: rootbound config apply")
	if c, _, _ := r.Next(); len(c.Projects[0].Deny) != 1 {
		t.Error("what was narrowed came back by itself")
	}

	// Settings: what narrows counts at once, what would let more be touched waits, and what only a start can take says so.
	p := "relative: first\nprojects: [{dir: p, deny: x}]\n"
	next(p+"limits: {text: 1 KiB}\ntools: classic\naudit: {path: log}\n", "Notice: the configuration changed audit.path: log, was not set — waits for: rootbound config apply",
		"Notice: the configuration sets tools to classic — counts from the next start", "Notice: the configuration was read again: limits.text is 1 KiB, was 1 MiB")
	if got, want := r.Waits(), []string{"1 change of the configuration, until the operator runs rootbound config apply", "the settings tools, until the server is started anew"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	next(p+"limits: {text: 2 KiB}\naudit: {fsync: always}\n", "Notice: the configuration widened limits.text: 2 KiB, was 1 KiB — waits for: rootbound config apply",
		"Notice: the configuration was read again: audit.fsync is always, was mutations")
	c, _, err = r.Next()
	if err != nil || c.Limits.Text != 1<<10 || c.Tools != "project" || c.Audit.Path != "" || c.Audit.Fsync != "always" {
		t.Errorf("%+v %v", c, err)
	}
}

// TestAcceptedWhileStarting: what a person accepts between the reading of a start and the first look is taken too.
func TestAcceptedWhileStarting(t *testing.T) {
	dir := tree(t, "p")
	file := write(t, dir+"/c.yaml", "projects: [{dir: p}]\n")
	in := config.Input{File: file, Getenv: env(), Cwd: dir}
	accept := func() (record []byte) {
		c, _, err := config.Load(in)
		if err == nil {
			record, err = c.Accept(time.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
		return record
	}
	record := accept()
	in.Accepted = func(string) ([]byte, error) { return record, nil }
	write(t, file, "projects: [{dir: p, rights: rw}]\n")
	started, _, err := config.Load(in)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := NewReloader(in, started, false); err != nil || r.Behind() {
		t.Errorf("behind what was read: %v", err)
	}
	record = accept()
	r, err := NewReloader(in, started, false)
	if err != nil || !r.Behind() {
		t.Fatalf("what was accepted meanwhile is missed: %v", err)
	}
	c, _, err := r.Next()
	if err != nil || !c.Projects[0].Rights.Has(rootbound.Write) {
		t.Errorf("what was accepted while the server started is not in force: %v", err)
	}
}

// TestEverySettingIsTakenOrNamed: whatever changes while a server runs is in force afterwards, or has the value of the start and
// a line that names it.
func TestEverySettingIsTakenOrNamed(t *testing.T) {
	other := map[string]string{"tools": "classic", "relative": "first", "roots.mode": "require", "roots.on_empty": "ceiling", "roots.ask_modern": "never",
		"audit.path": "log", "audit.fsync": "always", "audit.paths": "hash", "confine": "require"}
	for _, s := range config.Settings() {
		t.Run(s.Key, func(t *testing.T) {
			dir := tree(t, "p")
			const projects = "projects: [{dir: p}]\n"
			file := write(t, dir+"/c.yaml", projects)
			in := config.Input{File: file, Getenv: env(), Cwd: dir}
			started, _, err := config.Load(in)
			if err != nil {
				t.Fatal(err)
			}
			value := other[s.Key]
			switch s.Shape().Kind {
			case config.ShapeSwitch:
				value = "true"
			case config.ShapeCount:
				value = "7"
			case config.ShapeSize:
				value = "7 KiB"
			case config.ShapeSpan:
				value = "1m7s"
			}
			top, key, nested := strings.Cut(s.Key, ".")
			line := fmt.Sprintf("%s: %s\n", top, value)
			if nested {
				line = fmt.Sprintf("%s: {%s: %s}\n", top, key, value)
			}
			var stored []byte
			in.Accepted = func(string) ([]byte, error) {
				if stored == nil {
					return nil, fs.ErrNotExist
				}
				return stored, nil
			}
			r, err := NewReloader(in, started, false)
			if err != nil {
				t.Fatal(err)
			}
			write(t, file, projects+line)
			said, _, err := config.Load(config.Input{File: file, Getenv: env(), Cwd: dir})
			if err != nil {
				t.Fatal(err)
			}
			if stored, err = said.Accept(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			c, lines, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, r.Took(c)...)
			late := "Notice: the configuration sets " + s.Key + " to " + s.Show(said) + " — counts from the next start of the server"
			now := "Notice: the configuration was read again: " + s.Key + " is " + s.Show(said) + ", was " + s.Show(started)
			switch {
			case s.Show(said) == s.Show(started):
				t.Fatalf("the test changes nothing: %s", line)
			case s.Live == nil && (s.Show(c) != s.Show(started) || len(lines) != 1 || lines[0] != late):
				t.Errorf("%s: %q, want %q", s.Show(c), lines, late)
			case s.Live != nil && (s.Show(c) != s.Show(said) || len(lines) != 1 || lines[0] != now):
				t.Errorf("%s: %q, want %q", s.Show(c), lines, now)
			}
		})
	}
}

// TestConfinedReload: more directories, or the right to write, wait for a restart; rules do not.
func TestConfinedReload(t *testing.T) {
	dir := tree(t, "p", "q")
	file := write(t, dir+"/c.yaml", "projects: [{dir: p, deny: x}]\n")
	var stored []byte
	in := config.Input{File: file, Getenv: env(), Cwd: dir, Accepted: func(string) ([]byte, error) {
		if stored == nil {
			return nil, fs.ErrNotExist
		}
		return stored, nil
	}}
	c, _, err := config.Load(in)
	if err != nil {
		t.Fatal(err)
	}
	if stored, err = c.Accept(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	r, err := NewReloader(in, c, true)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, "projects: [{dir: p, rights: full}, {dir: q}]\n")
	c, _, err = config.Load(config.Input{File: file, Getenv: env(), Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	if stored, err = c.Accept(time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	c, lines, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Projects) != 1 || c.Projects[0].Rights != rootbound.ReadOnly || len(c.Projects[0].Deny) != 0 {
		t.Errorf("%+v", c.Projects)
	}
	if len(lines) != 2 || !strings.HasSuffix(lines[0], config.WaitsForRestart) || !strings.HasSuffix(lines[1], config.WaitsForRestart) {
		t.Errorf("%q", lines)
	}
}
