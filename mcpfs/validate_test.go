package mcpfs_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rootbound/rootbound/mcpfs/form"
)

// outputs are the resolved schemas of what tools answer, by name: resolving takes longer than a call.
var outputs sync.Map

func resolved(t *testing.T, row form.Tool) *jsonschema.Resolved {
	t.Helper()
	if r, ok := outputs.Load(row.Name); ok {
		return r.(*jsonschema.Resolved)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(row.Describe().OutputSchema.(json.RawMessage), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	outputs.Store(row.Name, r)
	return r
}

// validate checks structuredContent against a tool's declared output, as strict clients do.
func validate(t *testing.T, tool string, structured any) {
	t.Helper()
	for _, row := range form.Classic.Rows() {
		if row.Name != tool {
			continue
		}
		r := resolved(t, row)
		b, err := json.Marshal(structured)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(v); err != nil {
			t.Errorf("%s: structuredContent does not fit: %v\n%s", tool, err, b)
		}
		return
	}
	t.Fatalf("no tool %s", tool)
}
