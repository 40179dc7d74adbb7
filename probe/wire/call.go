package wire

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
)

// Result is the answer of a tool call.
type Result struct {
	Text    string                     // all text blocks, or the message of a protocol error
	Raw     []byte                     // the whole answer
	Blob    []byte                     // decoded bytes of media and resource blocks
	Refused bool                       // isError, or a protocol error
	Data    map[string]json.RawMessage // structuredContent
	Reason  string                     // the protocol error's code or the server's own word, if it gives one
	Open    bool                       // the server asked and the script never answered: nothing is on its way
	State   string                     // requestState of the question that is open
}

// Call is one tool call.
type Call struct {
	Tool    string
	Args    map[string]any
	Version string // era of the request; empty: the connection's
}

// Begin sends a call without waiting.
func (c *Conn) Begin(ctx context.Context, call Call) (*Pending, error) {
	return c.Post(ctx, call.Version, "tools/call", map[string]any{"name": call.Tool, "arguments": call.Args})
}

// Finish waits for a call, and in the modern era answers the server's questions in it, as often as they come (at most
// eight times). What the server refuses is a Result; the error is ErrSilent or what ended the connection.
func (c *Conn) Finish(ctx context.Context, call Call, p *Pending) (*Result, error) {
	for range 9 {
		raw, err := p.Wait(ctx)
		r, err := result(raw, err)
		if err != nil || !r.Open {
			return r, err
		}
		params, ok := c.reply(raw, call)
		if !ok {
			return r, nil
		}
		if p, err = c.Post(ctx, call.Version, "tools/call", params); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the server asks without end")
}

// Do is Begin and Finish.
func (c *Conn) Do(ctx context.Context, call Call) (*Result, error) {
	p, err := c.Begin(ctx, call)
	if err != nil {
		return nil, err
	}
	return c.Finish(ctx, call, p)
}

// Ask sends a call and answers nothing: in the modern era the answer may be a question.
func (c *Conn) Ask(ctx context.Context, call Call) (*Result, error) {
	p, err := c.Begin(ctx, call)
	if err != nil {
		return nil, err
	}
	return result(p.Wait(ctx))
}

// Retry sends a call with a state and an answer of one's own choice, and answers no question that comes back.
func (c *Conn) Retry(ctx context.Context, call Call, state string, answer Answer) (*Result, error) {
	params := map[string]any{"name": call.Tool, "arguments": call.Args,
		"inputResponses": map[string]any{"roots": answer.result()}}
	if state != "" {
		params["requestState"] = state
	}
	p, err := c.Post(ctx, call.Version, "tools/call", params)
	if err != nil {
		return nil, err
	}
	return result(p.Wait(ctx))
}

type question struct {
	Type   string `json:"resultType"`
	Inputs map[string]struct {
		Method string `json:"method"`
	} `json:"inputRequests"`
	State string `json:"requestState"`
}

// reply makes the parameters of the retry that answers a question. A silent answer, or an error, has no form in this era:
// the client does not retry.
func (c *Conn) reply(raw json.RawMessage, call Call) (map[string]any, bool) {
	var q question
	if json.Unmarshal(raw, &q) != nil {
		return nil, false
	}
	replies := map[string]any{}
	for key, in := range q.Inputs {
		if in.Method != "roots/list" || c.o.Roots == nil {
			continue
		}
		a := c.ask()
		if a.Silent || a.Code != 0 {
			return nil, false
		}
		replies[key] = a.result()
	}
	params := map[string]any{"name": call.Tool, "arguments": call.Args, "inputResponses": replies}
	if q.State != "" {
		params["requestState"] = q.State
	}
	return params, true
}

// result reads an answer.
func result(raw json.RawMessage, err error) (*Result, error) {
	var rpc *RPCError
	if errors.As(err, &rpc) {
		text := rpc.Message + "\n" + string(rpc.Data)
		return &Result{Text: text, Raw: []byte(text), Refused: true}, nil
	}
	if err != nil {
		return nil, err
	}
	var w struct {
		question
		Content []struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			Data     string `json:"data"`
			Resource struct {
				Blob string `json:"blob"`
				Text string `json:"text"`
			} `json:"resource"`
		} `json:"content"`
		IsError    bool            `json:"isError"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	json.Unmarshal(raw, &w) // what does not fit says nothing
	r := &Result{Raw: raw, Refused: w.IsError, Open: w.Type == "input_required", State: w.State}
	var text []string
	for _, b := range w.Content {
		text = append(text, b.Text, b.Resource.Text)
		for _, s := range []string{b.Data, b.Resource.Blob} {
			if d, err := base64.StdEncoding.DecodeString(s); err == nil {
				r.Blob = append(r.Blob, d...)
			}
		}
	}
	r.Text = strings.TrimRight(strings.Join(text, "\n"), "\n")
	if len(w.Content) == 0 {
		r.Text = string(w.Structured)
	}
	json.Unmarshal(w.Structured, &r.Data)
	var e struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(r.Data["error"], &e) == nil {
		r.Reason = e.Reason
	}
	return r, nil
}
