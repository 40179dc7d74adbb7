package mcpfs

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestArgumentsAreStrict(t *testing.T) {
	read := func(a *arguments) { a.text("path", true); a.whole("head", 0); a.truth("dryRun") }
	multi := func(a *arguments) { a.texts("paths", true, 1) }
	edits := func(a *arguments) { a.edits("edits") }
	sorted := func(a *arguments) { a.choice("sortBy", "name", "name", "size") }
	for _, c := range []struct {
		raw  string
		get  func(*arguments)
		want string // WHY at FIELD, empty: accepted
	}{
		{``, read, "required and missing at path"},
		{`null`, read, "required and missing at path"},
		{`{}`, read, "required and missing at path"},
		{`[]`, read, "must be an object, not a list at arguments"},
		{`"x"`, read, "must be an object, not a string at arguments"},
		{`{"path":1}`, read, "must be a string, not a number at path"},
		{`{"path":null}`, read, "must be a string, not null at path"},
		{`{"path":"a","head":null}`, read, "must be a number, not null at head"},
		{`{"path":"a","head":"3"}`, read, "must be a number, not a string at head"},
		{`{"path":"a","head":1.5}`, read, "must be a whole number at head"},
		{`{"path":"a","head":1e300}`, read, "must be a whole number at head"},
		{`{"path":"a","head":-1}`, read, "must be 0 or more at head"},
		{`{"path":"a","head":3.0}`, read, ""},
		{`{"path":"a","head":1e2}`, read, ""},
		{`{"path":"a","head":0}`, read, ""},
		{`{"path":"a","dryRun":"yes"}`, read, "must be true or false, not a string at dryRun"},
		{`{"path":"a","unknown":{"x":[1]}}`, read, ""},
		{`{"Path":"a"}`, read, "required and missing at path"},
		{`{"path":"\ud800"}`, read, "holds half of a surrogate pair, which is no character at path"},
		{`{"path":"\ud83d\ude00"}`, read, ""},
		{"{\"path\":\"\xff\"}", read, "not valid UTF-8 at arguments"},
		{`{"paths":[]}`, multi, "must hold at least 1 item at paths"},
		{`{"paths":"a"}`, multi, "must be a list, not a string at paths"},
		{`{"paths":["a",2]}`, multi, "must be a string, not a number at paths[1]"},
		{`{"edits":[{"oldText":"a"}]}`, edits, "required and missing at edits[0].newText"},
		{`{"edits":[{"oldText":"a","newText":"b"},3]}`, edits, "must be an object, not a number at edits[1]"},
		{`{"edits":[{"oldText":"a","newText":"\udc00"}]}`, edits, "holds half of a surrogate pair, which is no character at edits[0].newText"},
		{`{"edits":[]}`, edits, ""},
		{`{"sortBy":"date"}`, sorted, "must be one of name, size at sortBy"},
		{`{}`, sorted, ""},
	} {
		a := decode("some_tool", json.RawMessage(c.raw))
		c.get(a)
		switch {
		case c.want == "" && a.err != nil:
			t.Errorf("%s: refused: %v", c.raw, a.err)
		case c.want == "":
		case a.err == nil:
			t.Errorf("%s: accepted, want %q", c.raw, c.want)
		case !strings.HasPrefix(a.err.Error(), "MCP error -32602: Input validation error: Invalid arguments for tool some_tool: "+c.want+". "):
			t.Errorf("%s: %v, want %q", c.raw, a.err, c.want)
		}
	}
}

func TestLoneSurrogate(t *testing.T) {
	for raw, want := range map[string]bool{
		`"plain"`: false, `"\\ud800"`: false, `"\\\ud800"`: true, `"\ud800\ud800"`: true, `"\ud800x"`: true, `"\udc00"`: true,
		`"\ud83d\ude00"`: false, `"\uD83D\uDE00\uD83D"`: true, `"\ud800\\udc00"`: true, `"\u00e9"`: false, `"é"`: false,
	} {
		if got := loneSurrogate([]byte(raw)); got != want {
			t.Errorf("loneSurrogate(%s) = %v", raw, got)
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"path":"a","head":1,"edits":[{"oldText":"a","newText":"b"}],"paths":["x"]}`))
	f.Add([]byte(`{"path":"\ud83d\ude00","head":1e3}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		a := decode("t", raw)
		path := a.text("path", true)
		if a.err == nil {
			// What was accepted is exactly what was sent: encoding it again and decoding gives the same text.
			back, _ := json.Marshal(path)
			var again string
			if json.Unmarshal(back, &again) != nil || again != path {
				t.Fatalf("%q does not survive", path)
			}
		}
		a.whole("head", 0)
		a.texts("paths", false, 0)
		a.edits("edits")
		if a.err != nil && len(a.err.Error()) > 400 {
			t.Fatalf("an error of %d bytes", len(a.err.Error()))
		}
	})
}
