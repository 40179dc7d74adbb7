// Package script holds cases as data: what the tree looks like, what the client says of its roots and when, which calls it
// makes, and what is wanted. The built-in families are files below cases/; docs/probe.md describes the format.
package script

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rootbound/rootbound/probe/truth"
	"github.com/rootbound/rootbound/probe/wire"
)

//go:embed cases/*.yaml
var builtin embed.FS

// Wants of a step.
const (
	Allow   = "allow"   // it succeeds and has its effect
	Deny    = "deny"    // nothing comes back of what was asked for, and nothing changes
	Bounded = "bounded" // it ends in time and size, one way or the other
	Either  = "either"  // whatever the server says; what must hold all the same stands in the other checks
)

// Eras of the protocol.
const (
	EraLegacy = "legacy" // initialize; revisions up to 2025-11-25
	EraModern = "modern" // 2026-07-28
)

// Case is one question put to a server, as a file of cases spells it. docs/probe.md describes the format.
type Case struct {
	ID   string `yaml:"id"`
	What string `yaml:"what"` // the situation, in one line
	Why  string `yaml:"why"`  // why it matters
	Mend string `yaml:"mend"` // how a server that falls is mended
	Ref  string `yaml:"ref"`  // where the rule or a report of the fault stands

	Eras   []string     `yaml:"eras"`  // default both
	Pipe   bool         `yaml:"pipe"`  // only where messages have an order: stdin and stdout
	Dirs   *[]string    `yaml:"dirs"`  // directories granted at start; default as the command says
	Tree   []truth.Deed `yaml:"tree"`  // done before the server starts
	Roots  Roots        `yaml:"roots"` // what the client declares and answers; default both directories
	Hasty  bool         `yaml:"hasty"` // do not wait until a server that asks by itself has taken the first answer in
	Line   int          `yaml:"line"`  // bytes of the largest answer that is bounded; default 16 MiB
	Step   `yaml:",inline"`
	Steps  []Step       `yaml:"steps"` // instead of the one step written into the case
	Storm  []truth.Deed `yaml:"storm"` // repeated while the steps' calls repeat; the case is a race
	After  []Check      `yaml:"after"`
	Shared []string     `yaml:"shared"` // files outside that have another name inside: only their bytes and mode count

	Family string `yaml:"-"` // the name of the file
}

// Step is one thing the client, or the world around it, does.
type Step struct {
	Op      string `yaml:"op"` // read list tree search create write edit mkdir move stat delete
	Path    string `yaml:"path"`
	To      string `yaml:"to"`      // of move
	Content string `yaml:"content"` // of create and write; default a random text
	Fill    int    `yaml:"fill"`    // content of that many bytes
	Old     string `yaml:"old"`     // of edit
	New     string `yaml:"new"`
	Want    string `yaml:"want"`
	Copies  int    `yaml:"copies"`  // that many calls at once; {n} in the texts is the number of each
	Applied string `yaml:"applied"` // with copies: as many acknowledged calls as there are marks in this file

	Start  string `yaml:"start"`  // send, and go on; finish waits
	Finish string `yaml:"finish"` // wait for the call started under that name, and judge it
	Behind bool   `yaml:"behind"` // write it in one piece with the change of roots before it
	Era    string `yaml:"era"`    // send as that era, whatever the connection is
	State  string `yaml:"state"`  // trick with requestState: tampered, elsewhere, another, replayed, unasked, expired

	Needed   bool `yaml:"needed"`   // the case is about what this call makes: where it is refused there is nothing to ask
	Absolute bool `yaml:"absolute"` // only of servers whose tools take absolute paths
	Unheeded bool `yaml:"unheeded"` // with copies: whether they are answered is not judged

	Most  int      `yaml:"most"`  // the answer's text has at most that many bytes
	Has   []string `yaml:"has"`   // the answer holds it
	Lacks []string `yaml:"lacks"` // the answer does not
	Hides []string `yaml:"hides"` // the answer does not, but where it repeats the path that was sent
	Like  string   `yaml:"like"`  // the same call on that path is answered in the same words, paths apart

	Publish *Roots       `yaml:"publish"` // the client's list is now this
	Quiet   bool         `yaml:"quiet"`   // without telling the server
	Do      []truth.Deed `yaml:"do"`
	Settled bool         `yaml:"settled"` // let a server that asks at once after a change take the answer in
	Pause   string       `yaml:"pause"`   // let that time pass
	Asked   bool         `yaml:"asked"`   // wait until the server asks for roots
	Answer  bool         `yaml:"answer"`  // let the answers go that are held
}

// Check is what must be true of the tree at the end.
type Check struct {
	Text   string `yaml:"text"`   // this file holds Is
	Hex    string `yaml:"hex"`    // this file holds the bytes Is
	Starts string `yaml:"starts"` // this file starts with one of the bytes Is, in hex, separated by commas
	Ends   string `yaml:"ends"`   // this file ends with the bytes Is, in hex
	Absent string `yaml:"absent"` // this name does not exist
	Link   string `yaml:"link"`   // this name is a link to Is
	Kind   string `yaml:"kind"`   // this name is a Is: file, dir, fifo
	Mode   string `yaml:"mode"`   // this file has the permissions Is
	Held   string `yaml:"held"`   // a reader that opened this file before the steps still sees the old bytes
	Count  string `yaml:"count"`  // this directory has Is entries
	Is     string `yaml:"is"`
}

// Roots is what a client says of its roots: undeclared, a list, or another kind of answer.
type Roots struct {
	set        bool
	Undeclared bool
	List       []string
	Raw        string        // the whole result as JSON
	Code       int           // a JSON-RPC error
	Silent     bool          // never answered
	Late       time.Duration // answered after that
	Held       bool          // answered when a step says so
	Do         []truth.Deed  // done before the answer goes out
}

// UnmarshalYAML takes "undeclared", "silence", a list of URIs, or fields.
func (r *Roots) UnmarshalYAML(unmarshal func(any) error) error {
	r.set = true
	var word string
	if err := unmarshal(&word); err == nil {
		switch word {
		case "undeclared":
			r.Undeclared = true
		case "silence":
			r.Silent = true
		default:
			return fmt.Errorf("roots: %q is neither undeclared nor silence, nor a list", word)
		}
		return nil
	}
	if err := unmarshal(&r.List); err == nil {
		return nil
	}
	var f struct {
		List  []string     `yaml:"list"`
		Raw   string       `yaml:"raw"`
		Error int          `yaml:"error"`
		Late  string       `yaml:"late"`
		Held  bool         `yaml:"held"`
		Do    []truth.Deed `yaml:"do"`
	}
	if err := unmarshal(&f); err != nil {
		return err
	}
	if f.Late != "" {
		d, err := time.ParseDuration(f.Late)
		if err != nil {
			return err
		}
		r.Late = d
	}
	r.List, r.Raw, r.Code, r.Held, r.Do = f.List, f.Raw, f.Error, f.Held, f.Do
	return nil
}

// Answer is what the client says, in a world.
func (r Roots) Answer(w *truth.World) wire.Answer {
	a := wire.Answer{Code: r.Code, Silent: r.Silent}
	if r.Raw != "" {
		a.Raw = json.RawMessage(w.Fill(r.Raw))
	}
	for _, u := range r.List {
		a.Roots = append(a.Roots, w.Fill(u))
	}
	return a
}

// operations in the order in which they are shown.
var operations = []string{"read", "list", "tree", "search", "create", "write", "edit", "mkdir", "move", "stat", "delete", "propose", "apply"}

// Operations are the operations a profile can map, in their order.
func Operations() []string { return slices.Clone(operations) }

// Mutating reports whether an operation changes something.
func Mutating(op string) bool {
	return slices.Contains([]string{"create", "write", "edit", "mkdir", "move", "delete", "propose", "apply"}, op)
}

// Cases are the built-in cases, and those of the files dir/*.yaml unless dir is empty.
func Cases(dir string) ([]Case, error) {
	list, err := load(builtin, "cases")
	if err != nil || dir == "" {
		return list, err
	}
	more, err := load(os.DirFS(dir), ".")
	if err == nil && len(more) == 0 {
		err = fmt.Errorf("no cases in %s", dir)
	}
	list = append(list, more...)
	seen := map[string]bool{}
	for _, c := range list {
		if seen[c.ID] {
			return nil, fmt.Errorf("two cases are called %s", c.ID)
		}
		seen[c.ID] = true
	}
	return list, err
}

// families is the order in which the built-in families are run and shown.
var families = []string{"sixteen", "lifecycle", "static", "names", "resource", "integrity", "disclosure", "moved-out", "race"}

func load(from fs.FS, dir string) ([]Case, error) {
	files, err := fs.Glob(from, path.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var out []Case
	for _, f := range files {
		raw, err := fs.ReadFile(from, f)
		if err != nil {
			return nil, err
		}
		var list []Case
		if err := Decode(raw, &list); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		for i := range list {
			c := &list[i]
			c.Family = strings.TrimSuffix(path.Base(f), ".yaml")
			if err := c.complete(); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", f, c.ID, err)
			}
		}
		out = append(out, list...)
	}
	slices.SortStableFunc(out, func(a, b Case) int {
		return slices.Index(families, a.Family) - slices.Index(families, b.Family)
	})
	return out, nil
}

// complete checks a case and fills in what may be left out.
func (c *Case) complete() error {
	if c.ID == "" || c.What == "" || c.Why == "" {
		return fmt.Errorf("a case needs id, what and why")
	}
	if strings.ContainsFunc(c.ID, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`*?[\/,`, r) }) {
		return fmt.Errorf("an id is of letters, digits and dashes: it is chosen by --only and names a test")
	}
	if len(c.Steps) == 0 {
		c.Steps = []Step{c.Step}
	}
	if !c.Roots.set {
		c.Roots = Roots{List: []string{"file://{app}", "file://{docs}"}}
	}
	if len(c.Eras) == 0 {
		c.Eras = []string{EraLegacy, EraModern}
	}
	calls := 0
	for i, s := range c.Steps {
		if s.Op == "" {
			continue
		}
		calls++
		if !slices.Contains(operations, s.Op) {
			return fmt.Errorf("no operation %q", s.Op)
		}
		if s.Want == "" && s.Start == "" || s.Want != "" && !slices.Contains([]string{Allow, Deny, Bounded, Either}, s.Want) {
			return fmt.Errorf("step %d wants %q", i+1, s.Want)
		}
	}
	if calls == 0 {
		return fmt.Errorf("no operation")
	}
	return c.bounds()
}

// Wants is what the case as a whole wants: its last step that wants something.
func (c *Case) Wants() string {
	for _, s := range slices.Backward(c.Steps) {
		if s.Want != "" {
			return s.Want
		}
	}
	return Either
}
