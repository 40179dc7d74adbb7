package pipe

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A spliced result says what the SDK's own encoding says.
func TestSplicedResultsAreEqual(t *testing.T) {
	input := new(mcp.CallToolResult)
	if err := json.Unmarshal([]byte(`{"resultType":"complete","content":[{"type":"text","text":"x"}]}`), input); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*mcp.CallToolResult{
		"text":       {Content: []mcp.Content{&mcp.TextContent{Text: "a\n\"content\":[] <é>"}}},
		"structured": {Content: []mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.TextContent{Text: "b"}}, StructuredContent: map[string]any{"content": []any{}, "n": 1}},
		"raw":        {Content: []mcp.Content{&mcp.TextContent{Text: "a"}}, StructuredContent: json.RawMessage(`{"content":"a"}`), IsError: true},
		"meta":       {Meta: mcp.Meta{"x": map[string]any{"content": []any{}}}, Content: []mcp.Content{&mcp.ImageContent{Data: []byte("d"), MIMEType: "image/png"}}},
		"type":       input,
	} {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		wrapped := Result(r)
		if _, ok := wrapped.(spliced); !ok {
			t.Fatalf("%s is not spliced", name)
		}
		got, err := json.Marshal(wrapped)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var a, b any
		if json.Unmarshal(want, &a) != nil || json.Unmarshal(got, &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s:\n%s\n%s", name, got, want)
		}
	}
}
