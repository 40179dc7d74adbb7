package mcpscope

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
)

// Bounds of a roots answer (contract §3); the protocol has none.
const (
	maxRoots = 256
	maxURI   = 4 << 10 // bytes
)

// checkRoots refuses an answer as a whole. The SDK decodes {"roots":null}, {} and null to a nil slice, a null entry to a
// nil pointer, and a missing uri to "".
func checkRoots(res *mcp.ListRootsResult) (*authority.Answer, error) {
	switch {
	case res == nil || res.Roots == nil:
		return nil, fmt.Errorf("%w: no list", authority.ErrMalformed)
	case len(res.Roots) > maxRoots:
		return nil, fmt.Errorf("%w: more than %d entries", authority.ErrMalformed, maxRoots)
	}
	ans := &authority.Answer{Roots: make([]authority.RootEntry, len(res.Roots))}
	for i, r := range res.Roots {
		switch {
		case r == nil:
			return nil, fmt.Errorf("%w: a null entry", authority.ErrMalformed)
		case r.URI == "":
			return nil, fmt.Errorf("%w: an entry without uri", authority.ErrMalformed)
		case len(r.URI) > maxURI:
			return nil, fmt.Errorf("%w: a uri over %d bytes", authority.ErrMalformed, maxURI)
		}
		name := r.Name
		if len(name) > rootbound.MaxEcho {
			name = strings.ToValidUTF8(name[:rootbound.MaxEcho], "")
		}
		ans.Roots[i] = authority.RootEntry{URI: r.URI, Name: name}
	}
	return ans, nil
}

// undecodable reports that the client answered, but not with a list of roots.
func undecodable(err error) bool {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	return errors.As(err, &kind) || errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF)
}
