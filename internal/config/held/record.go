package held

import (
	"encoding/json"
	"fmt"
	"time"
)

// Accepted is what a person accepted of one configuration file: the scope of the file itself under "", and of each of its
// environments under its name.
type Accepted map[string]Scope

// accepted is the stored form. Version rises when an old program could read a newer record as more than it says.
type accepted struct {
	Version int
	Time    time.Time
	Scopes  Accepted
}

const version = 1

// Encode is the form that is stored. The time makes each acceptance another one, even of an equal scope.
func (a Accepted) Encode(at time.Time) ([]byte, error) {
	return json.Marshal(accepted{version, at.UTC(), a})
}

// Decode reads what Encode wrote. Where it came from is the caller's business.
func Decode(b []byte) (Accepted, error) {
	var a accepted
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, fmt.Errorf("the accepted scope cannot be read: %w", err)
	}
	if a.Version != version {
		return nil, fmt.Errorf("the accepted scope has version %d, this program knows %d", a.Version, version)
	}
	if a.Scopes == nil {
		a.Scopes = Accepted{}
	}
	return a.Scopes, nil
}

// Of is the scope that an environment is held to: its own if it was accepted, else that of the file itself.
func (a Accepted) Of(environment string) Scope {
	if s, ok := a[environment]; ok {
		return s
	}
	return a[""]
}
