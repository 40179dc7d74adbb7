package rawmcp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bytes is a string argument that is sent byte by byte, invalid UTF-8 included; encoding/json would replace it.
type Bytes string

// MarshalJSON escapes what JSON demands and nothing else.
func (b Bytes) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, len(b)+2)
	out = append(out, '"')
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < 0x20:
			out = append(out, `\u00`...)
			out = append(out, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"'), nil
}

// Text makes an argument of s: a plain string where that loses nothing, Bytes otherwise.
func Text(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return Bytes(s)
}

// Args are a tool's arguments.
type Args map[string]any

// Result is the answer of a tool call, seen from outside.
type Result struct {
	Raw        json.RawMessage // the whole result, or the error object
	Text       string          // the text blocks, joined by newlines
	Blocks     []Block
	IsError    bool
	Structured json.RawMessage
	Reason     string // structuredContent.error.reason
	Detail     string
	Code       int // of a protocol error, else 0
}

// Block is one content block.
type Block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MIMEType string `json:"mimeType"`
	Resource struct {
		URI      string `json:"uri"`
		MIMEType string `json:"mimeType"`
		Blob     string `json:"blob"`
		Text     string `json:"text"`
	} `json:"resource"`
}

// OK reports success.
func (r *Result) OK() bool { return r != nil && !r.IsError && r.Code == 0 }

// Get reads one key of the structured content into v and reports whether it was there.
func (r *Result) Get(key string, v any) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(r.Structured, &m) != nil || m[key] == nil {
		return false
	}
	return json.Unmarshal(m[key], v) == nil
}

// Call calls a tool. In the modern era it answers the server's questions inside the call, as often as they come (at most
// eight times). A protocol error is a Result with Code set; the error is ErrGone or the context's.
func (c *Client) Call(ctx context.Context, tool string, args Args) (*Result, error) {
	return c.Tool(ctx, "tools/call", map[string]any{"name": tool, "arguments": args})
}

// Tool is Call for any method that can be answered by a question, with the parameters as they are sent.
func (c *Client) Tool(ctx context.Context, method string, params map[string]any) (*Result, error) {
	for range 9 {
		raw, err := c.Request(ctx, method, params)
		if err != nil {
			return refused(err)
		}
		var ask struct {
			Type   string                     `json:"resultType"`
			Inputs map[string]json.RawMessage `json:"inputRequests"`
			State  string                     `json:"requestState"`
		}
		if json.Unmarshal(raw, &ask); ask.Type != "input_required" {
			return parse(raw), nil
		}
		if params, err = c.answer(ctx, params, ask.Inputs, ask.State); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("rawmcp: the server asks without end")
}

// answer makes the parameters of a retry. An answer that is silent or an error has no form in this era: the client does
// not retry, and waits for its context as a user would.
func (c *Client) answer(ctx context.Context, params map[string]any, asked map[string]json.RawMessage, state string) (map[string]any, error) {
	next := map[string]any{}
	for k, v := range params {
		if k != "inputResponses" && k != "requestState" {
			next[k] = v
		}
	}
	replies := map[string]any{}
	for key, raw := range asked {
		var q struct {
			Method string `json:"method"`
		}
		json.Unmarshal(raw, &q)
		if q.Method != "roots/list" || c.o.Roots == nil {
			continue
		}
		a := c.o.Roots(int(c.asks.Add(1) - 1))
		if a.Silent || a.Error != 0 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		replies[key] = a.result()
	}
	next["inputResponses"] = replies
	if state != "" {
		next["requestState"] = state
	}
	return next, nil
}

func refused(err error) (*Result, error) {
	var rpc *RPCError
	if !errors.As(err, &rpc) {
		return nil, err
	}
	raw, _ := json.Marshal(rpc)
	return &Result{Raw: raw, Text: rpc.Message, IsError: true, Code: rpc.Code}, nil
}

func parse(raw json.RawMessage) *Result {
	var w struct {
		Content    []Block         `json:"content"`
		IsError    bool            `json:"isError"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	json.Unmarshal(raw, &w)
	r := &Result{Raw: raw, Blocks: w.Content, IsError: w.IsError, Structured: w.Structured}
	var text []string
	for _, b := range w.Content {
		if b.Type == "text" {
			text = append(text, b.Text)
		}
	}
	r.Text = strings.Join(text, "\n")
	var s struct {
		Error struct {
			Reason string `json:"reason"`
			Detail string `json:"detail"`
		} `json:"error"`
	}
	if json.Unmarshal(w.Structured, &s) == nil {
		r.Reason, r.Detail = s.Error.Reason, s.Error.Detail
	}
	return r
}

// Short is a result in one line, for failure messages.
func (r *Result) Short() string {
	if r == nil {
		return "no answer"
	}
	s := string(r.Raw)
	if len(s) > 600 {
		s = s[:600] + "…(" + strconv.Itoa(len(s)) + " bytes)"
	}
	return s
}
