package form

import "github.com/rootbound/rootbound/mcpfs/wire"

const partSchema = `{"type":"array","description":"What of it is approved","items":{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},` +
	`"prefix":{"type":"string","description":"Where paths inside the project begin; empty: all of it"}},"required":["id","prefix"],"additionalProperties":false}}`

var projectsOut = may("projects", `{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"description":{"type":"string"},`+
	`"rights":{"type":"array","items":{"type":"string"}},"roots":`+partSchema+`},"required":["id","rights","roots"],"additionalProperties":false}}`)

// What scope_status answers. Patterns of deny rules are counted, not shown: they may name what they hide. Roots that were
// dropped are told by their place in the client's list: their URIs are paths of the host.
var scopeOut = []Field{
	may("mode", `{"type":"string","enum":["narrow","client","ignore","require"],"description":"What the client's roots mean"}`),
	may("state", `{"type":"string","description":"current: what is shown is in force"}`),
	may("generation", `{"type":"integer","description":"Rises whenever the scope changes"}`),
	may("source", `{"type":"string","description":"Where the scope comes from"}`),
	may("refused", wire.ErrorSchema),
	may("projects", `{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"rights":{"type":"array","items":{"type":"string"}},"roots":`+partSchema+
		`,"rules":{"type":"array","items":{"type":"string"},"description":"Presets and switches that are on"},"deny":{"type":"integer","description":"How many deny patterns"},`+
		`"allow_extensions":{"type":"array","items":{"type":"string"}},"max_read":{"type":"integer"},"max_write":{"type":"integer"},`+
		`"writes":{"type":"string","enum":["direct","propose","none"]},"wide":{"type":"string","description":"What makes it uncommonly wide, such as a home directory"}},"required":["id","rights","roots","rules","deny","writes"],"additionalProperties":false}}`),
	may("dropped_roots", `{"type":"array","description":"Entries of the client's list that are not approved","items":{"type":"object","properties":{"entry":{"type":"integer","description":"Place in the list, from 1"},`+
		`"reason":{"type":"string"},"detail":{"type":"string"},"next":{"type":"string"}},"required":["entry","reason","next"],"additionalProperties":false}}`),
	may("waits", `{"type":"array","description":"What the operator changed and what is not in force yet","items":{"type":"string"}}`),
	may("limits", `{"type":"object","description":"Bounds of one answer","properties":{"text":{"type":"integer"},"media":{"type":"integer"},"tree":{"type":"integer"},"list":{"type":"integer"},`+
		`"search":{"type":"integer"},"edit":{"type":"integer"},"search_bytes":{"type":"integer"},"search_files":{"type":"integer"},"search_seconds":{"type":"number"}},"additionalProperties":false}`),
	noteOut, cutOut, nextOut,
}
