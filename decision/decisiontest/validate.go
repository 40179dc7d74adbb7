// Package decisiontest checks decision records in tests: each against the published schema, and all of a run together.
package decisiontest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
)

// Validate fails the test if the record does not fit the published schema.
func Validate(t testing.TB, r *decision.Record) {
	t.Helper()
	if err := Check(r.AppendJSON(nil)); err != nil {
		t.Errorf("record does not fit its schema: %v\n%s", err, r.AppendJSON(nil))
	}
}

var schema = sync.OnceValues(func() (*jsonschema.Resolved, error) {
	s := new(jsonschema.Schema)
	if err := json.Unmarshal([]byte(decision.JSONSchema()), s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
})

// Check validates one line of a log.
func Check(line []byte) error {
	s, err := schema()
	if err != nil {
		return err
	}
	var v map[string]any
	if err := json.Unmarshal(line, &v); err != nil {
		return err
	}
	if err := s.Validate(v); err != nil {
		return err
	}
	reasons := []any{v["reason"]}
	if o, ok := v["outcome"].(map[string]any); ok {
		reasons = append(reasons, o["reason"])
	}
	if roots, ok := v["roots"].([]any); ok {
		for _, r := range roots {
			reasons = append(reasons, r.(map[string]any)["reason"])
		}
	}
	for _, r := range reasons {
		if s, ok := r.(string); ok && !known(s) {
			return fmt.Errorf("reason %q is not in the registry", s)
		}
	}
	return nil
}

func known(reason string) bool {
	for _, r := range rootbound.Reasons() {
		if string(r) == reason {
			return true
		}
	}
	return false
}

// Pairs checks records that are in the order in which they were given: ids are used once, nothing is completed that was
// not decided before it or was denied with success, and the two halves tell of the same operation. Decided without
// completed is allowed: the process may have died.
func Pairs(records []decision.Record) error {
	decided := make(map[string]*decision.Record)
	seen := make(map[string]string)
	for i := range records {
		r := &records[i]
		switch r.Phase {
		case decision.Decided:
			if was := seen[r.ID]; was != "" {
				return fmt.Errorf("id %s is used twice (%s, then decided)", r.ID, was)
			}
			decided[r.ID] = r
		case decision.Completed:
			d := decided[r.ID]
			switch {
			case d == nil:
				return fmt.Errorf("%s %s was completed without having been decided", r.Operation, r.ID)
			case seen[r.ID] == decision.Completed:
				return fmt.Errorf("%s %s was completed twice", r.Operation, r.ID)
			case d.Operation != r.Operation:
				return fmt.Errorf("%s was decided as %s and completed as %s", r.ID, d.Operation, r.Operation)
			case r.Outcome != nil && r.Outcome.OK && d.Decision != decision.Allow:
				return fmt.Errorf("%s %s was decided as %s and succeeded", r.Operation, r.ID, d.Decision)
			}
		default:
			if was := seen[r.ID]; was != "" {
				return fmt.Errorf("id %s is used twice (%s, then %s)", r.ID, was, r.Phase)
			}
		}
		seen[r.ID] = r.Phase
	}
	return nil
}
