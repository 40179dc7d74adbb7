package decision

import _ "embed"

//go:embed schema/rootbound.decision.v1.json
var jsonSchema string

// JSONSchema is the published JSON Schema (draft 2020-12) of a record.
func JSONSchema() string { return jsonSchema }
