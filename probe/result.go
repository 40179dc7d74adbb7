package probe

import (
	"encoding/json"
	"time"
)

// Verdicts.
const (
	Held    = "held"    // the server did what the case wants
	Fell    = "fell"    // it did not
	Skipped = "skipped" // it cannot be asked; that proves nothing
	Failed  = "error"   // the question could not be put
)

// Outcome is the verdict on one case in one era.
type Outcome struct {
	ID      string `json:"id"`
	Family  string `json:"family"`
	Era     string `json:"era"`
	Verdict string `json:"verdict"`
	Want    string `json:"want"`
	Got     string `json:"got"`
	What    string `json:"what"`
	Why     string `json:"why"`
	Mend    string `json:"mend,omitempty"`
	Ref     string `json:"ref,omitempty"`

	Evidence   []string `json:"evidence,omitempty"`
	Transcript []Line   `json:"transcript,omitempty"`
	ElapsedMS  int64    `json:"elapsed_ms"`
}

// Line is one message of a transcript. Directories and canaries are replaced by names, long texts are cut.
type Line struct {
	Who  string `json:"who"` // client, server, or world: what the probe did to the tree
	AtMS int64  `json:"at_ms"`
	Text string `json:"text"`
}

// Subject is the server that was asked.
type Subject struct {
	Name      string            `json:"name"`
	Version   string            `json:"version"`
	Command   []string          `json:"command"`
	Transport string            `json:"transport"` // stdio or http
	Profile   string            `json:"profile"`
	Tools     map[string]string `json:"tools"`    // operation to tool
	Unmapped  []string          `json:"unmapped"` // operations no tool does
	Eras      []string          `json:"eras"`
}

// Summary counts verdicts.
type Summary struct {
	Held    int `json:"held"`
	Fell    int `json:"fell"`
	Skipped int `json:"skipped"`
	Error   int `json:"error"`
}

// Report is the result of a run. Its JSON form is described by the schema in schema/rootbound.probe.v1.json.
type Report struct {
	Schema    string    `json:"schema"` // rootbound.probe.v1
	Server    Subject   `json:"server"`
	Seed      uint64    `json:"seed"`
	Started   time.Time `json:"started"`
	ElapsedMS int64     `json:"elapsed_ms"`
	RaceMS    int64     `json:"race_ms"` // how long each race was given; 0: races were skipped
	Cases     []Outcome `json:"cases"`
	Summary   Summary   `json:"summary"`
}

// SchemaName is the value of Report.Schema.
const SchemaName = "rootbound.probe.v1"

// Sum counts the verdicts of the cases into Summary.
func (r *Report) Sum() {
	r.Summary = Summary{}
	for _, o := range r.Cases {
		switch o.Verdict {
		case Held:
			r.Summary.Held++
		case Fell:
			r.Summary.Fell++
		case Skipped:
			r.Summary.Skipped++
		default:
			r.Summary.Error++
		}
	}
}

// Title is the server's name and version.
func (s Subject) Title() string {
	if s.Version == "" {
		return s.Name
	}
	return s.Name + " " + s.Version
}

// compact is the request line of a transcript without what every line has.
func compact(raw []byte) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return string(raw)
	}
	delete(m, "jsonrpc")
	b, err := json.Marshal(m)
	if err != nil {
		return string(raw)
	}
	return string(b)
}
