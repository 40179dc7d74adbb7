// Package profile knows which tool of a server does which operation, and how its arguments are written: from a file, from
// the built-in profiles, or by the names in tools/list.
package profile

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rootbound/rootbound/probe/script"
	"github.com/rootbound/rootbound/probe/truth"
	"github.com/rootbound/rootbound/probe/wire"
)

//go:embed profiles/*.yaml
var profiles embed.FS

// Profile says which tool of a server does which operation, and how its arguments are written. A text argument that is
// one name in braces becomes that value: {path} {to} as spelled, {project} {relative} {to_project} {to_relative} the same
// path as a project and what is below it, {content} {old} {new}.
type Profile struct {
	Name  string                `yaml:"name"`
	About string                `yaml:"about"`
	When  When                  `yaml:"when"` // what a server must look like for the profile to be chosen by itself
	Ops   map[string]Invocation `yaml:"ops"`

	pattern string // the argument of search that says what for, where that was guessed
}

// When tells which servers a profile fits.
type When struct {
	Server    string   `yaml:"server"`    // the name the server gives itself; empty: any, if its tools take just the arguments of Ops
	Tools     []string `yaml:"tools"`     // all of these
	Parameter string   `yaml:"parameter"` // the first of the tools has it
}

// Invocation is one tool and its arguments.
type Invocation struct {
	Tool string         `yaml:"tool"`
	Args map[string]any `yaml:"args"`
	Keep string         `yaml:"keep"` // key of structuredContent whose text is {kept} in later calls
}

// Tool is what tools/list tells of one tool.
type Tool struct {
	Name        string `json:"name"`
	InputSchema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	} `json:"inputSchema"`
}

func (t Tool) has(parameter string) bool { _, ok := t.InputSchema.Properties[parameter]; return ok }

// Load reads a profile from a file.
func Load(file string) (*Profile, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parse(file, raw)
}

func parse(file string, raw []byte) (*Profile, error) {
	p := &Profile{}
	if err := script.Decode(raw, p); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for op, in := range p.Ops {
		if !slices.Contains(script.Operations(), op) {
			return nil, fmt.Errorf("%s: no operation %q; there are %s", file, op, strings.Join(script.Operations(), " "))
		}
		if in.Tool == "" {
			return nil, fmt.Errorf("%s: %s names no tool", file, op)
		}
		if left := values; !within(in.Args, &left) {
			return nil, fmt.Errorf("%s: the arguments of %s are more than %d values", file, op, values)
		}
	}
	if p.Name == "" {
		p.Name = filepath.Base(file)
	}
	return p, nil
}

// values is how many an operation's arguments may hold, aliases replaced.
const values = 1000

// within reports whether a value holds no more than is left.
func within(a any, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch x := a.(type) {
	case map[string]any:
		for _, e := range x {
			if !within(e, left) {
				return false
			}
		}
	case []any:
		for _, e := range x {
			if !within(e, left) {
				return false
			}
		}
	}
	return true
}

// Choose finds the built-in profile that fits a server, or maps its tools by their names.
func Choose(server string, tools []Tool) (*Profile, error) {
	files, err := fs.Glob(profiles, "profiles/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		raw, err := profiles.ReadFile(f)
		if err != nil {
			return nil, err
		}
		p, err := parse(f, raw)
		if err != nil {
			return nil, err
		}
		if p.When.fits(server, tools) {
			if p = p.among(tools); p.When.Server == server || p.exact(tools) {
				return p, nil
			}
		}
	}
	return guess(tools), nil
}

func (w When) fits(server string, tools []Tool) bool {
	if w.Server != "" && w.Server != server || len(w.Tools) == 0 {
		return false
	}
	for i, name := range w.Tools {
		at := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name })
		if at < 0 || i == 0 && w.Parameter != "" && !tools[at].has(w.Parameter) {
			return false
		}
	}
	return true
}

// exact reports whether every tool takes the arguments that the profile gives it and cannot do without no other, and no
// list of a tool's schema leaves out the project that a case would name: then a tool is what its name says, whoever offers it.
func (p *Profile) exact(tools []Tool) bool {
	for _, in := range p.Ops {
		t := tools[slices.IndexFunc(tools, func(t Tool) bool { return t.Name == in.Tool })]
		for name, value := range in.Args {
			var list struct {
				Enum []string `json:"enum"`
			}
			if !t.has(name) {
				return false
			}
			_ = json.Unmarshal(t.InputSchema.Properties[name], &list) // one that is no list of texts names no project
			if value == "{project}" && list.Enum != nil && !slices.Contains(list.Enum, "app") {
				return false
			}
		}
		for _, name := range t.InputSchema.Required {
			if _, given := in.Args[name]; !given {
				return false
			}
		}
	}
	return len(p.Ops) > 0
}

// among drops operations whose tool the server does not have.
func (p *Profile) among(tools []Tool) *Profile {
	for op, in := range p.Ops {
		if !slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == in.Tool }) {
			delete(p.Ops, op)
		}
	}
	return p
}

// Relative reports whether the tools take paths below a named project only.
func (p *Profile) Relative() bool {
	for _, in := range p.Ops {
		for _, a := range in.Args {
			if a == "{relative}" {
				return true
			}
		}
	}
	return false
}

// Call writes a step as a call of the mapped tool.
func (p *Profile) Call(w *truth.World, op string, v Values) (wire.Call, error) {
	in, ok := p.Ops[op]
	if !ok {
		return wire.Call{}, fmt.Errorf("no tool for %s", op)
	}
	args := make(map[string]any, len(in.Args))
	for k, a := range in.Args {
		filled, err := v.fill(w, a)
		if err != nil {
			return wire.Call{}, err
		}
		args[k] = filled
	}
	return wire.Call{Tool: in.Tool, Args: args}, nil
}

// Values are what a step puts into arguments; texts are filled already.
type Values struct {
	Path, To, Content, Old, New, Kept string
}

func (v Values) fill(w *truth.World, a any) (any, error) {
	switch x := a.(type) {
	case string:
		return v.text(w, x)
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			f, err := v.fill(w, e)
			if err != nil {
				return nil, err
			}
			out[i] = f
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			f, err := v.fill(w, e)
			if err != nil {
				return nil, err
			}
			out[k] = f
		}
		return out, nil
	}
	return a, nil
}

func (v Values) text(w *truth.World, name string) (any, error) {
	project, relative := apart(w, v.Path)
	toProject, toRelative := apart(w, v.To)
	known := map[string]string{"{path}": v.Path, "{to}": v.To, "{project}": project, "{relative}": relative,
		"{to_project}": toProject, "{to_relative}": toRelative, "{content}": v.Content, "{old}": v.Old, "{new}": v.New, "{kept}": v.Kept}
	if s, ok := known[name]; ok {
		return wire.Text(s), nil
	}
	return name, nil
}

// apart spells a path as a project's id, which is the base name of its directory, and the way from there. A path in no
// project starts at the first one and climbs.
func apart(w *truth.World, p string) (project, relative string) {
	for _, name := range []string{"app", "docs"} {
		dir := w.Fill("{" + name + "}")
		if p == dir {
			return name, "."
		}
		if rest, ok := strings.CutPrefix(p, dir+"/"); ok {
			return name, rest
		}
	}
	if rel, err := filepath.Rel(w.Fill("{app}"), p); err == nil && filepath.IsAbs(p) && strings.HasPrefix(p, w.Dir) {
		return "app", rel
	}
	return "app", p
}
