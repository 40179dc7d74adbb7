package resource

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/mcpfs/wire"
)

// result encodes what was read. The SDK leaves an empty text out, and contents that have neither text nor blob are none
// to a client that validates; and its own way passes over every byte of a long text several times.
type result struct{ *mcp.ReadResourceResult }

// MarshalJSON leaves everything but the contents to the SDK, whose unexported fields it knows.
func (r result) MarshalJSON() ([]byte, error) {
	slim := *r.ReadResourceResult
	slim.Contents = []*mcp.ResourceContents{}
	head, err := slim.MarshalJSON()
	if err != nil {
		return nil, err
	}
	const empty = `"contents":[]`
	at := bytes.LastIndex(head, []byte(empty)) // in a string its quotes would be escaped; _meta stands before it
	if at < 0 {
		return r.ReadResourceResult.MarshalJSON()
	}
	size := len(head)
	for _, c := range r.Contents {
		size += len(c.URI) + len(c.Text) + len(c.Text)/8 + len(c.Blob)/3*4 + 512
	}
	b := append(make([]byte, 0, size), head[:at]...)
	b = append(b, `"contents":[`...)
	for i, c := range r.Contents {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendContents(b, c); err != nil {
			return nil, err
		}
	}
	b = append(b, ']')
	return append(b, head[at+len(empty):]...), nil
}

func appendContents(b []byte, c *mcp.ResourceContents) ([]byte, error) {
	b = wire.AppendJSON(append(b, `{"uri":`...), c.URI)
	b = wire.AppendJSON(append(b, `,"mimeType":`...), c.MIMEType)
	if c.Meta != nil {
		meta, err := json.Marshal(c.Meta)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"_meta":`...), meta...)
	}
	if c.Blob == nil {
		return append(wire.AppendJSON(append(b, `,"text":`...), c.Text), '}'), nil
	}
	blob, err := json.Marshal(c.Blob)
	if err != nil {
		return nil, err
	}
	return append(append(append(b, `,"blob":`...), blob...), '}'), nil
}
