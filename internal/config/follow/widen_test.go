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

	"pgregory.net/rapid"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config"
)

// wish is what a person, or an agent, writes about one project; the model of this test works on wishes alone.
type wish struct {
	id, dir, rights string
	hides           bool // deny: **/k
	small           bool // max_read: 10
	open            bool // presets off
}

func (w wish) yaml(top string) string {
	s := fmt.Sprintf("{id: %s, dir: %q, rights: %s", w.id, filepath.Join(top, w.dir), w.rights)
	if w.hides {
		s += `, deny: ["**/k"]`
	}
	if w.small {
		s += ", max_read: 10"
	}
	if w.open {
		s += ", presets: {credentials: off}"
	}
	return s + "}"
}

var rightsOf = map[string]rootbound.Rights{"ro": rootbound.ReadOnly, "rw": rootbound.ReadWrite, "full": rootbound.Full}

// may lists what wishes let be done at a path below top, by the innermost of them.
func may(wishes []wish, at string) map[string]bool {
	var in *wish
	for i := range wishes {
		if d := wishes[i].dir; strings.HasPrefix(at, d+"/") && (in == nil || len(d) > len(in.dir)) {
			in = &wishes[i]
		}
	}
	out := map[string]bool{}
	if in == nil || in.hides && filepath.Base(at) == "k" {
		return out
	}
	for _, r := range rightsOf[in.rights].Names() {
		out[r] = true
	}
	out["large"], out["credentials"] = !in.small, in.open
	return out
}

// does lists the same of the projects that a reload puts in force.
func does(t *rapid.T, projects []rootbound.Project, top, at string) map[string]bool {
	var in *rootbound.Project
	for i := range projects {
		d := strings.TrimPrefix(projects[i].Dir, top+"/")
		if strings.HasPrefix(at, d+"/") && (in == nil || len(d)+len(top)+1 > len(in.Dir)) {
			in = &projects[i]
		}
	}
	out := map[string]bool{}
	if in == nil {
		return out
	}
	for _, p := range in.Deny {
		switch {
		case p == "**", p == "**/k" && filepath.Base(at) == "k":
			return out
		case p != "**/k":
			t.Fatalf("unexpected pattern %q", p)
		}
	}
	for _, r := range in.Rights.Names() {
		out[r] = true
	}
	out["large"], out["credentials"] = in.MaxRead == 0, in.LiftCredentials
	return out
}

func within(a, b map[string]bool) bool {
	for k, v := range a {
		if v && !b[k] {
			return false
		}
	}
	return true
}

// TestG38ReloadNeverWidens edits a configuration in every way for a server that runs and is started again now and then,
// and accepts it only sometimes. Against a model that knows wishes only: what is in force is never more than what was
// accepted, never more than what the file says, and while the server runs never more than before unless it was accepted.
// A narrowing counts at once, and what was accepted is in force when the file says so.
func TestG38ReloadNeverWidens(t *testing.T) {
	top := tree(t, "a/b/c", "a/d", "e")
	dirs := []string{"a", "a/b", "a/b/c", "a/d", "e"}
	var paths []string
	for _, d := range dirs {
		paths = append(paths, d+"/x", d+"/k")
	}
	file := filepath.Join(top, "rootbound.yaml")
	rapid.Check(t, func(t *rapid.T) {
		// Sometimes a directory is an argument too: what the file takes out of it must not fall back to it.
		var beside []string
		if rapid.Bool().Draw(t, "argument") {
			beside = []string{filepath.Join(top, "a")}
		}
		with := func(wishes []wish) []wish {
			if beside == nil || slices.ContainsFunc(wishes, func(w wish) bool { return w.dir == "a" }) {
				return wishes
			}
			return append(slices.Clone(wishes), wish{id: "argument", dir: "a", rights: "rw"})
		}
		all := []string{"ro", "rw", "full"}
		rightsFor := func(dir string) *rapid.Generator[string] {
			if beside != nil && dir == "a" { // other rights than the argument's are a mistake
				return rapid.Just("rw")
			}
			return rapid.SampledFrom(all)
		}
		genWishes := func(t *rapid.T) (out []wish) {
			for _, d := range rapid.SliceOfNDistinct(rapid.SampledFrom(dirs), 0, 4, rapid.ID).Draw(t, "dirs") {
				id := strings.ReplaceAll(d, "/", "-")
				if rapid.IntRange(0, 4).Draw(t, "other id") == 0 {
					id = rapid.SampledFrom([]string{"e", "a", "z"}).Draw(t, "id")
				}
				if slices.ContainsFunc(out, func(w wish) bool { return w.id == id }) {
					continue
				}
				out = append(out, wish{id, d, rightsFor(d).Draw(t, "rights"),
					rapid.Bool().Draw(t, "hides"), rapid.Bool().Draw(t, "small"), rapid.Bool().Draw(t, "open")})
			}
			return out
		}
		write := func(wishes []wish) {
			s := "projects:\n"
			for _, w := range wishes {
				s += "  - " + w.yaml(top) + "\n"
			}
			if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var stored []byte // what the state directory holds
		in := config.Input{File: file, Dirs: beside, Getenv: env("HOME", top), Cwd: top, Accepted: func(string) ([]byte, error) {
			if stored == nil {
				return nil, fs.ErrNotExist
			}
			return stored, nil
		}}
		at := int64(0)
		accept := func(c *config.Config) {
			at++
			var err error
			if stored, err = c.Accept(time.Unix(at, 0)); err != nil {
				t.Fatal(err)
			}
		}

		said := genWishes(t)
		write(said)
		accepted := said
		var r *Reloader
		var inForce []rootbound.Project
		// Without projects the client's roots are granted whole, if everybody meant that.
		mode := func(t *rapid.T, c *config.Config) {
			if c.Roots.Mode == "client" && (len(accepted) > 0 || len(said) > 0) {
				t.Fatalf("the client may declare any root: accepted %+v, said %+v", accepted, said)
			}
		}
		start := func(t *rapid.T) {
			c, _, err := config.Load(in)
			if err != nil {
				t.Fatal(err)
			}
			if c.First {
				accept(c)
			}
			if r, err = NewReloader(in, c, false); err != nil {
				t.Fatal(err)
			}
			inForce = c.Projects
			mode(t, c)
		}
		start(t)
		took, broken := true, false // the acceptance in force, and whether the file can be read
		t.Repeat(map[string]func(*rapid.T){
			"edit": func(t *rapid.T) {
				said = genWishes(t)
				switch { // often a small change of what was accepted
				case len(accepted) > 0 && rapid.IntRange(0, 2).Draw(t, "near") > 0:
					said = slices.Clone(accepted)
					i := rapid.IntRange(0, len(said)-1).Draw(t, "which")
					switch rapid.IntRange(0, 3).Draw(t, "how") {
					case 0:
						said[i].rights = rightsFor(said[i].dir).Draw(t, "rights")
					case 1:
						said[i].hides = !said[i].hides
					case 2:
						said[i].small = !said[i].small
					case 3:
						said = slices.Delete(said, i, i+1)
					}
				}
				write(said)
				broken = false
			},
			"break": func(t *rapid.T) {
				broken = true
				switch rapid.IntRange(0, 2).Draw(t, "how") {
				case 0:
					os.Remove(file)
				case 1:
					os.WriteFile(file, []byte("projects: [{id: a, dir: /, rights: full}, {"), 0o600)
				case 2:
					os.WriteFile(file, []byte("projects: [{dir: /, rites: full}]"), 0o600)
				}
			},
			"accept": func(t *rapid.T) {
				if broken {
					return // there is nothing to accept
				}
				c, _, err := config.Load(config.Input{File: file, Getenv: env("HOME", top), Cwd: top})
				if err != nil {
					t.Fatal(err)
				}
				accept(c)
				accepted, took = said, false
			},
			"start again": func(t *rapid.T) {
				if broken {
					return // it would not start
				}
				start(t)
				took = true
				for _, p := range paths {
					if d := does(t, inForce, top, p); !within(d, may(with(accepted), p)) || !within(d, may(with(said), p)) {
						t.Fatalf("start: %s: %v of %+v, accepted %+v, said %+v", p, d, inForce, accepted, said)
					}
				}
			},
			"reload": func(t *rapid.T) {
				c, _, err := r.Next()
				if broken {
					if err == nil {
						t.Fatal("a broken file was taken")
					}
					return // what was in force stays
				}
				if err != nil {
					t.Fatal(err)
				}
				before := inForce
				inForce = c.Projects
				r.Took(c)
				mode(t, c)
				for _, p := range paths {
					d := does(t, inForce, top, p)
					switch {
					case !within(d, may(with(accepted), p)):
						t.Fatalf("%s: %v is more than was accepted: %+v, accepted %+v", p, d, inForce, accepted)
					case !within(d, may(with(said), p)):
						t.Fatalf("%s: %v is more than the file says: %+v, said %+v", p, d, inForce, said)
					case took && !within(d, does(t, before, top, p)):
						t.Fatalf("%s: %v is more than before: %+v, before %+v", p, d, inForce, before)
					case !took && slices.Equal(said, accepted) && !within(may(with(said), p), d):
						t.Fatalf("%s: %v, accepted and not in force: %+v, accepted %+v", p, d, inForce, accepted)
					}
				}
				took = true
			},
		})
	})
}
