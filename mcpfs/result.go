package mcpfs

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpscope"
)

// reply is a successful answer before it is encoded.
type reply struct {
	text    string
	blocks  []string // further text blocks: what is no part of the answer proper
	media   mcp.Content
	version string
	cut     bool
	next    any            // arguments to go on with
	more    map[string]any // further keys of structuredContent
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

func (r *reply) result() (*mcp.CallToolResult, error) {
	var content []byte
	res := &mcp.CallToolResult{}
	if r.media != nil {
		block, err := r.media.MarshalJSON()
		if err != nil {
			return nil, err
		}
		res.Content = []mcp.Content{r.media}
		content = append(append(append(content, '['), block...), ']')
	} else {
		content = appendJSON(make([]byte, 0, len(r.text)+len(r.text)/8+16), r.text)
		res.Content = []mcp.Content{textBlock(r.text, content)}
	}
	for _, s := range r.blocks {
		res.Content = append(res.Content, &mcp.TextContent{Text: s})
	}
	b := make([]byte, 0, len(content)+128)
	b = append(append(b, `{"content":`...), content...)
	if r.version != "" {
		b = appendJSON(append(b, `,"version":`...), r.version)
	}
	if r.cut {
		b = append(b, `,"truncated":true`...)
	}
	if r.next != nil {
		next, err := json.Marshal(r.next)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"next":`...), next...)
	}
	for _, key := range slices.Sorted(maps.Keys(r.more)) {
		v, err := json.Marshal(r.more[key])
		if err != nil {
			return nil, err
		}
		b = append(append(appendJSON(append(b, ','), key), ':'), v...)
	}
	res.StructuredContent = json.RawMessage(append(b, '}'))
	return res, nil
}

// refused gives the text and the facts of a refusal. A text nobody vouched for is not shown.
func refused(err error) (string, mcpscope.Facts) {
	var bad *argumentError
	if errors.As(err, &bad) {
		return bad.Error(), mcpscope.Facts{Reason: rootbound.ArgumentInvalid, Detail: bad.why + " at " + bad.field}
	}
	e := mcpscope.Refused(err)
	if e == nil {
		e = &rootbound.Error{Reason: rootbound.InternalError, Err: err}
	}
	return e.Error(), mcpscope.FactsOf(e)
}

// refuse is the answer to a call that was refused (contract §6), in the shape the tool declares.
func refuse(tool string, err error) *mcp.CallToolResult {
	text, facts := refused(err)
	structured := map[string]any{"content": text, "error": facts}
	if tool == mediaTool {
		structured["content"] = []any{}
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: structured}
}

// echo is a caller's text for a line of an answer that may be refused: bounded, nothing hidden in it, no quotes around it.
func echo(s string) string {
	q := rootbound.Quote(s)
	cut := ""
	if q[len(q)-1] != '"' {
		q, cut = q[:len(q)-len("…")], "…"
	}
	return q[1:len(q)-1] + cut
}

// Form tells mcpscope.Options what a refusal of a tool of this package may hold.
func Form(tool string) mcpscope.Form {
	if tool == mediaTool {
		return mcpscope.Media
	}
	return mcpscope.Text
}

const mediaTool = "read_media_file"
