package pipe

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// An answer is written as the SDK would write it.
func TestEncodeIsTheSDKs(t *testing.T) {
	for _, raw := range []any{float64(1), float64(1 << 40), "a\"\n<b>"} {
		id, err := jsonrpc.MakeID(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []jsonrpc.Message{
			&jsonrpc.Response{ID: id, Result: json.RawMessage(`{"a":"<\u003c","b":[1,2]}`)},
			&jsonrpc.Response{ID: id, Result: json.RawMessage("{\n}")},
			&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: 1, Message: "x"}},
			&jsonrpc.Request{ID: id, Method: "roots/list"},
			&jsonrpc.Request{Method: "notifications/progress", Params: json.RawMessage(`{}`)},
		} {
			want, err := jsonrpc.EncodeMessage(m)
			if err != nil {
				t.Fatal(err)
			}
			got, err := encode(m)
			if err != nil || !same(t, got, want) {
				t.Errorf("%s, want %s (%v)", got, want, err)
			}
		}
	}
}

func same(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	q, err := json.Marshal(y)
	if err != nil {
		t.Fatal(err)
	}
	return string(p) == string(q)
}
