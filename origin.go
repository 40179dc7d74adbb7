package rootbound

// Origin says where a request came from, for the record. All of it is self-reported by the client or made by the server;
// none of it ever decides. It is set once before a request is served and read-only afterwards.
type Origin struct {
	Session       string // stdio: made by the server at start; HTTP: the session; empty where the era has none
	Era           string // "legacy" or "modern"
	Protocol      string // negotiated (legacy) or declared (modern) revision
	Transport     string // "stdio", "http", "memory"
	ClientName    string
	ClientVersion string
	Principal     string // empty on stdio
	Method        string // JSON-RPC method
	Tool          string // tool, prompt or resource name
	RequestID     string // JSON-RPC id as text
	CorrelationID string
	TraceID       string // from traceparent

	RootsDeclared    bool // the client declared the roots capability
	RootsListChanged bool // and that it sends list_changed
}
