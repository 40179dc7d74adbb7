package patch

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/token"
)

// Plan is a patch that was proposed: what every file would become, and what each was when it was looked at. It changes
// nothing and holds no handle. Not changed after Propose and Desk.Issue have made it.
type Plan struct {
	ID      string           `json:"id"`
	Project rootbound.RootID `json:"project"`
	Dir     Object           `json:"dir"` // the project's directory
	Files   []Planned        `json:"files"`
	Diff    string           `json:"diff"` // all of it, in git's form; what a person is shown
	Digest  string           `json:"digest"`
	Made    time.Time        `json:"made"`
	Expires time.Time        `json:"expires"`
	Nonce   string           `json:"nonce"`
	Client  string           `json:"client,omitempty"` // as it calls itself
}

// Object is an identity.
type Object struct {
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
}

// Action is what a plan does to one file.
type Action string

// The actions. A rename is a deletion and a creation, and needs the rights of both.
const (
	Creates Action = "create"
	Writes  Action = "write"
	Deletes Action = "delete"
	Modes   Action = "mode" // the executable bit only
)

// Planned is one file of a plan.
type Planned struct {
	Path    string `json:"path"` // inside the project, as it was reached
	Action  Action `json:"action"`
	Version string `json:"version"` // it had; "absent"
	Object  Object `json:"object"`  // zero: there was none
	After   []byte `json:"after,omitempty"`
	Exec    *bool  `json:"exec,omitempty"`
}

// digest binds everything that applying the plan depends on.
func (p *Plan) digest() string {
	parts := [][]byte{[]byte(p.Project), number(p.Dir.Dev), number(p.Dir.Ino)}
	for i := range p.Files {
		f := &p.Files[i]
		exec := "as it is"
		if f.Exec != nil {
			exec = strconv.FormatBool(*f.Exec)
		}
		parts = append(parts, []byte(f.Path), []byte(f.Action), []byte(f.Version), number(f.Object.Dev), number(f.Object.Ino), f.After, []byte(exec))
	}
	return token.Digest(append(parts, []byte(p.Diff))...)
}

func number(n uint64) []byte { return strconv.AppendUint(nil, n, 10) }

// files are what Apply is to do.
func (p *Plan) files() []File {
	out := make([]File, len(p.Files))
	for i := range p.Files {
		f := &p.Files[i]
		out[i] = File{Path: f.Path, Before: f.Version, After: f.After, Delete: f.Action == Deletes, Exec: f.Exec}
	}
	return out
}

// raw is a text that keeps its bytes in JSON, where they are no UTF-8 too: a name on the disk may hold any.
type raw string

type rawBytes struct {
	Bytes []byte `json:"bytes"`
}

func (r raw) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(r)) {
		return json.Marshal(string(r))
	}
	return json.Marshal(rawBytes{[]byte(r)})
}

func (r *raw) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var v rawBytes
		err := json.Unmarshal(b, &v)
		*r = raw(v.Bytes)
		return err
	}
	return json.Unmarshal(b, (*string)(r))
}

// stored is a plan as a store has it; its own fields go before those of the plan.
type stored struct {
	*Plan
	Diff  raw          `json:"diff"`
	Files []storedFile `json:"files"`
}

type storedFile struct {
	*Planned
	Path raw `json:"path"`
}

// Encode writes a plan for a store of Pending plans.
func (p *Plan) Encode() ([]byte, error) {
	s := stored{Plan: p, Diff: raw(p.Diff)}
	for i := range p.Files {
		s.Files = append(s.Files, storedFile{&p.Files[i], raw(p.Files[i].Path)})
	}
	return json.Marshal(s)
}

// Decode reads what Encode wrote. The store vouches for the bytes; a plan that does not match its own digest is refused
// all the same.
func Decode(b []byte) (*Plan, error) {
	p := &Plan{}
	s := stored{Plan: p}
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, err
	}
	if s.Plan == nil {
		return nil, errors.New("patch: not a whole plan")
	}
	p.Diff = string(s.Diff)
	for _, f := range s.Files {
		if f.Planned == nil {
			return nil, errors.New("patch: not a whole plan")
		}
		f.Planned.Path = string(f.Path)
		p.Files = append(p.Files, *f.Planned)
	}
	if p.Nonce == "" || p.ID == "" || len(p.Files) == 0 || p.digest() != p.Digest {
		return nil, errors.New("patch: not a whole plan")
	}
	return p, nil
}

// Operator is a project as the operator's own process sees it who agrees to what was proposed there: the directory and
// the rules stay, and where propose was granted a plan may create, write and delete. Where it was not granted nothing
// could be proposed, and nothing is added.
func Operator(p rootbound.Project) rootbound.Project {
	if p.Rights.Has(rootbound.Propose) {
		p.Rights |= rootbound.Create | rootbound.Write | rootbound.Delete
	}
	return p
}
