package pipe

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// spliced encodes a tool's result with its blocks and structured content put in as they are. The SDK's own way passes
// over every byte three more times, which decides how long a large answer takes.
type spliced struct{ *mcp.CallToolResult }

// Result wraps what may be large; the rest is returned as it is.
func Result(res mcp.Result) mcp.Result {
	if r, ok := res.(*mcp.CallToolResult); ok && r != nil && !r.NeedsInput() && len(r.Content) > 0 {
		return spliced{r}
	}
	return res
}

// Size is about half of the bytes that what Result wrapped is encoded in: those of its structured content. Else 0.
func Size(res mcp.Result) int {
	s, ok := res.(spliced)
	if !ok {
		return 0
	}
	structured, _ := s.StructuredContent.(json.RawMessage)
	return len(structured)
}

// MarshalJSON is one pass of copying: everything but the contents is encoded by the SDK, whose unexported fields it knows.
func (s spliced) MarshalJSON() ([]byte, error) {
	slim := *s.CallToolResult
	slim.Content, slim.StructuredContent = []mcp.Content{}, nil
	head, err := slim.MarshalJSON()
	if err != nil {
		return nil, err
	}
	const empty = `"content":[]`
	at := bytes.LastIndex(head, []byte(empty)) // in a string its quotes would be escaped; _meta stands before it
	if at < 0 {
		return s.CallToolResult.MarshalJSON()
	}
	var parts [][]byte
	size := len(head) + len(`,"structuredContent":`)
	for _, c := range s.Content {
		b, err := c.MarshalJSON()
		if err != nil {
			return nil, err
		}
		parts, size = append(parts, b), size+len(b)+1
	}
	structured, ok := s.StructuredContent.(json.RawMessage)
	if !ok && s.StructuredContent != nil {
		if structured, err = json.Marshal(s.StructuredContent); err != nil {
			return nil, err
		}
	}
	out := make([]byte, 0, size+len(structured))
	out = append(append(out, head[:at]...), `"content":[`...)
	for i, b := range parts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, b...)
	}
	out = append(out, ']')
	if structured != nil {
		out = append(append(out, `,"structuredContent":`...), structured...)
	}
	return append(out, head[at+len(empty):]...), nil
}
