package wire

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpscope"
)

// Reply is a successful answer before it is encoded.
type Reply struct {
	Text    string
	Blocks  []string // further text blocks: what is no part of the answer proper
	Media   mcp.Content
	Version string
	Cut     bool
	Next    any                 // arguments to go on with
	More    map[string]any      // further keys of structuredContent
	Ask     *mcp.CallToolResult // a question to the client takes the place of the answer
}

// Add sets a further key of structuredContent.
func (r *Reply) Add(key string, value any) {
	if r.More == nil {
		r.More = map[string]any{}
	}
	r.More[key] = value
}

// Note tells what the caller should know besides the answer: in structured data and in a block of its own.
func (r *Reply) Note(lines ...string) {
	for _, l := range lines {
		r.Blocks = append(r.Blocks, "["+l+"]")
		if old, ok := r.More["note"].(string); ok {
			l = old + "; " + l
		}
		r.Add("note", l)
	}
}

// quoted is a text block whose JSON was made once and is used twice: in content and in structuredContent.
type quoted struct {
	*mcp.TextContent
	json []byte
}

func (q *quoted) MarshalJSON() ([]byte, error) { return q.json, nil }

func textBlock(text string, quotedText []byte) *quoted {
	const head, tail = `{"type":"text","text":`, `}`
	b := make([]byte, 0, len(head)+len(quotedText)+len(tail))
	b = append(append(append(b, head...), quotedText...), tail...)
	return &quoted{&mcp.TextContent{Text: text}, b}
}

// Result encodes the answer.
func (r *Reply) Result() (*mcp.CallToolResult, error) {
	if r.Ask != nil {
		return r.Ask, nil
	}
	var content []byte
	res := &mcp.CallToolResult{}
	if r.Media != nil {
		block, err := r.Media.MarshalJSON()
		if err != nil {
			return nil, err
		}
		res.Content = []mcp.Content{r.Media}
		content = append(append(append(content, '['), block...), ']')
	} else {
		content = AppendJSON(make([]byte, 0, len(r.Text)+len(r.Text)/8+16), r.Text)
		res.Content = []mcp.Content{textBlock(r.Text, content)}
	}
	for _, s := range r.Blocks {
		res.Content = append(res.Content, &mcp.TextContent{Text: s})
	}
	b := make([]byte, 0, len(content)+128)
	b = append(append(b, `{"content":`...), content...)
	if r.Version != "" {
		b = AppendJSON(append(b, `,"version":`...), r.Version)
	}
	if r.Cut {
		b = append(b, `,"truncated":true`...)
	}
	if r.Next != nil {
		next, err := json.Marshal(r.Next)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"next":`...), next...)
	}
	for _, key := range slices.Sorted(maps.Keys(r.More)) {
		v, err := json.Marshal(r.More[key])
		if err != nil {
			return nil, err
		}
		b = append(append(AppendJSON(append(b, ','), key), ':'), v...)
	}
	res.StructuredContent = json.RawMessage(append(b, '}'))
	return res, nil
}

// Refused gives the text and the facts of a refusal. A text nobody vouched for is not shown.
func Refused(err error) (string, mcpscope.Facts) {
	e := mcpscope.Refused(err)
	if e == nil {
		e = &rootbound.Error{Reason: rootbound.InternalError, Err: err}
	}
	if bad, ok := e.Err.(*argumentError); ok {
		return bad.Error(), mcpscope.FactsOf(e)
	}
	return e.Error(), mcpscope.FactsOf(e)
}

// Refuse is the answer to a call that was refused (contract §6); media tells that content is a list of blocks in what the
// tool declares.
func Refuse(err error, media bool) *mcp.CallToolResult {
	text, facts := Refused(err)
	structured := map[string]any{"content": text, "error": facts}
	if media {
		structured["content"] = []any{}
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: structured}
}

// Echo is a caller's text for a line of an answer that may be refused: bounded, nothing hidden in it, no quotes around it.
func Echo(s string) string {
	q := rootbound.Quote(s)
	cut := ""
	if q[len(q)-1] != '"' {
		q, cut = q[:len(q)-len("…")], "…"
	}
	return q[1:len(q)-1] + cut
}
