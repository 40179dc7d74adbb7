package mcpfs

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
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
	for _, key := range sortedKeys(r.more) {
		v, err := json.Marshal(r.more[key])
		if err != nil {
			return nil, err
		}
		b = append(append(appendJSON(append(b, ','), key), ':'), v...)
	}
	res.StructuredContent = json.RawMessage(append(b, '}'))
	return res, nil
}

// refusal is structuredContent.error.
type refusal struct {
	Reason    rootbound.Reason    `json:"reason"`
	Detail    string              `json:"detail,omitempty"`
	Operation rootbound.Operation `json:"operation,omitempty"`
	Path      string              `json:"path,omitempty"`
	Root      rootbound.RootID    `json:"root,omitempty"`
	Retryable bool                `json:"retryable"`
	Decision  string              `json:"decision_id,omitempty"`
}

func refused(err error) (string, refusal) {
	var bad *argumentError
	if errors.As(err, &bad) {
		return bad.Error(), refusal{Reason: rootbound.ArgumentInvalid, Detail: bad.why + " at " + bad.field}
	}
	var e *rootbound.Error
	if !errors.As(err, &e) {
		e = &rootbound.Error{Reason: rootbound.InternalError, Err: err} // a text nobody vouched for is not shown
	}
	return e.Error(), refusal{Reason: e.Reason, Detail: rootbound.Clean(e.Detail), Operation: e.Op, Path: echo(e.Path), Root: e.Root,
		Retryable: e.Retryable, Decision: e.Decision}
}

// echo is a caller's text for JSON: bounded, nothing hidden in it, no quotes around it.
func echo(s string) string {
	if s == "" {
		return ""
	}
	q := rootbound.Quote(s)
	var cut string
	if q[len(q)-1] != '"' {
		q, cut = q[:len(q)-len("…")], "…"
	}
	return q[1:len(q)-1] + cut
}

// Refuse is the answer to a call that was refused (contract §6): isError, one text, and the same text with the reason in
// structuredContent, in the shape the named tool declares. Every error but *rootbound.Error is shown as internal_error.
func Refuse(tool string, err error) *mcp.CallToolResult {
	text, why := refused(err)
	quotedText := appendJSON(nil, text)
	content := quotedText
	if tool == mediaTool {
		content = []byte("[]")
	}
	reason, merr := json.Marshal(why)
	if merr != nil { // strings and booleans: cannot happen
		reason = []byte(`{"reason":"internal_error","retryable":false}`)
	}
	b := append(append([]byte(nil), `{"content":`...), content...)
	b = append(append(append(b, `,"error":`...), reason...), '}')
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{textBlock(text, quotedText)}, StructuredContent: json.RawMessage(b)}
}

const mediaTool = "read_media_file"

func sortedKeys(m map[string]any) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	for i := range keys { // a handful at most
		for j := i; j > 0 && keys[j] < keys[j-1]; j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
	return keys
}
