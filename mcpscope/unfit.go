package mcpscope

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
)

// inputsKey is where a request of 2026-07-28 brings what the client was asked for.
const inputsKey = "inputResponses"

// unfit tells an error of the SDK itself from one that the middleware has scrubbed, and recorded where it was a refusal.
func unfit(err error) bool { return strings.Contains(err.Error(), unmarshalText) }

// unfit records the refusal of a request whose parameters the SDK could not decode, and gives what its answer tells of it.
func (s *Scope) unfit(u unanswered, id string) json.RawMessage {
	why := rootbound.ArgumentInvalid
	var p struct {
		Meta   mcp.Meta                   `json:"_meta"`
		Inputs map[string]json.RawMessage `json:"inputResponses"`
	}
	if u.inputs != nil && json.Unmarshal(u.inputs, &p) == nil {
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
	o := rootbound.Origin{Method: echo(u.method), Transport: s.opt.Transport, RequestID: echo(id)}
	if v, _ := p.Meta[mcp.MetaKeyProtocolVersion].(string); modernVersion(v) {
		o.Era, o.Protocol = "modern", v
	}
	r := s.blank(nil, &o, decision.Refused)
	r.Reason, r.Detail = why, errUnfit
	s.opt.Sink.Event(r)
	data, _ := json.Marshal(map[string]any{"error": Facts{Reason: why, Detail: errUnfit, Decision: r.ID}}) // of strings
	return data
}
