package mcpscope

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound/authority"
)

// answerOf takes an answer over from the SDK, which decodes {"roots":null}, {} and null to a nil slice, a null entry to a nil
// pointer, and a missing uri to "". An answer that is malformed is refused as a whole.
func answerOf(res *mcp.ListRootsResult) (*authority.Answer, error) {
	ans := &authority.Answer{}
	if res != nil && res.Roots != nil {
		ans.Roots = make([]authority.RootEntry, len(res.Roots))
		for i, r := range res.Roots {
			if r != nil {
				ans.Roots[i] = authority.RootEntry{URI: r.URI, Name: r.Name}
			}
		}
	}
	return ans, ans.Check()
}

// undecodable reports that the client answered, but not with a list of roots.
func undecodable(err error) bool {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	return errors.As(err, &kind) || errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF)
}
