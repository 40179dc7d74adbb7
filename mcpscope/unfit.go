package mcpscope

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/mcpscope/pipe"
)

// Unfit records the refusal of a request whose parameters the SDK could not decode, and gives what its answer tells of it:
// for pipe.Pipe, whose field of this name says what it is given. Safe for concurrent use.
func (s *Scope) Unfit(method string, params json.RawMessage, id string) json.RawMessage {
	why := rootbound.ArgumentInvalid
	var p struct {
		Meta   mcp.Meta                   `json:"_meta"`
		Inputs map[string]json.RawMessage `json:"inputResponses"`
	}
	if params != nil && json.Unmarshal(params, &p) == nil {
		for _, key := range []string{rootsKey, rootsKey2} {
			in, ok := p.Inputs[key]
			if !ok {
				continue
			}
			res := new(mcp.ListRootsResult)
			err := json.Unmarshal(in, res)
			if err == nil {
				_, err = answerOf(res)
			}
			if err != nil {
				why = rootbound.RootsMalformed
			}
		}
	}
	o := rootbound.Origin{Method: echo(method), Transport: s.opt.Transport, RequestID: echo(id)}
	if v, _ := p.Meta[mcp.MetaKeyProtocolVersion].(string); modernVersion(v) {
		o.Era, o.Protocol = "modern", v
	}
	r := s.blank(nil, &o, decision.Refused)
	r.Reason, r.Detail = why, pipe.ErrUnfit
	s.opt.Sink.Event(r)
	data, _ := json.Marshal(map[string]any{"error": Facts{Reason: why, Detail: pipe.ErrUnfit, Decision: r.ID}}) // of strings
	return data
}
