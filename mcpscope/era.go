package mcpscope

import (
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// latestLegacy is what a client that asks initialize for a revision we do not know, or for a modern one, is given.
const latestLegacy = "2025-11-25"

func legacyVersion(v string) bool {
	switch v {
	case "2024-11-05", "2025-03-26", "2025-06-18", latestLegacy:
		return true
	}
	return false
}

// modernVersion is membership, not string order: "garbage" sorts after every date.
func modernVersion(v string) bool { return v == "2026-07-28" }

// modern decides the era of one request, by its own _meta and nothing else. The SDK has refused unknown revisions of
// calls before; a notification has no era and is never modern.
func modern(req mcp.Request) bool { return modernVersion(metaVersion(req)) }

// Modern reports that a request is of 2026-07-28, as the Scope sees it.
func Modern(req mcp.Request) bool { return modern(req) }

func metaVersion(req mcp.Request) string {
	v, _ := meta(req)[mcp.MetaKeyProtocolVersion].(string)
	return v
}

// meta is the request's _meta. Params may be absent, as a nil interface or as a nil pointer inside one.
func meta(req mcp.Request) map[string]any {
	p := req.GetParams()
	if p == nil {
		return nil
	}
	if v := reflect.ValueOf(p); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return p.GetMeta()
}

func metaText(req mcp.Request, key string) string {
	v, _ := meta(req)[key].(string)
	return v
}

// server is the session a request came by; requests to clients have none.
func server(req mcp.Request) *mcp.ServerSession {
	ss, _ := req.GetSession().(*mcp.ServerSession)
	return ss
}

// declares reports that a request of the modern era declares roots, in its own _meta. The SDK has checked the shape of
// the capabilities before; null declares nothing, as in its field RootsV2.
func declares(req mcp.Request) bool {
	caps, _ := meta(req)[mcp.MetaKeyClientCapabilities].(map[string]any)
	return caps["roots"] != nil
}

// clientInfo is what a modern client calls itself.
func clientInfo(req mcp.Request) (name, version string) {
	info, _ := meta(req)[mcp.MetaKeyClientInfo].(map[string]any)
	name, _ = info["name"].(string)
	version, _ = info["version"].(string)
	return echo(name), echo(version)
}

// negotiate gives initialize a revision the legacy era has. Left alone the SDK answers 2025-11-25 to a modern or unknown
// one but treats the session as modern ever after, so that it can ask this client nothing.
func negotiate(req mcp.Request) {
	if p, ok := req.GetParams().(*mcp.InitializeParams); ok && p != nil && !legacyVersion(p.ProtocolVersion) {
		p.ProtocolVersion = latestLegacy
	}
}

// handling is what a method needs of the authority.
type handling uint8

const (
	pass     handling = iota // before and beside any session
	settled                  // no authority, but not before initialize
	changed                  // notifications/roots/list_changed
	current                  // a hold on the current snapshot if there is one; never asks
	required                 // refused without a current snapshot; never asks
	asks                     // the three methods inside which roots may be asked
)

// handlingOf places every method (contract §2). Lists depend on the configuration only, so they ask nothing; a method we
// do not know is an author's own and gets what is current.
func handlingOf(method string) handling {
	switch method {
	case "tools/call", "resources/read", "prompts/get":
		return asks
	case "notifications/roots/list_changed":
		return changed
	case "initialize", "ping", "server/discover",
		"notifications/initialized", "notifications/cancelled", "notifications/progress":
		return pass
	case "logging/setLevel", "tools/list", "prompts/list":
		return settled
	case "resources/subscribe", "subscriptions/listen":
		return required
	}
	return current
}

// watches reports whether a request of a method that is otherwise required asks for resources at all.
func watches(req mcp.Request) bool {
	p, ok := req.GetParams().(*mcp.SubscriptionsListenParams)
	return !ok || p != nil && p.Notifications != nil && len(p.Notifications.ResourceSubscriptions) > 0
}
