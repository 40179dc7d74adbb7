package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
)

func TestArgumentsAreStrict(t *testing.T) {
	read := func(a *Arguments) { a.Text("path", true); a.Whole("head", 0); a.Truth("dryRun") }
	multi := func(a *Arguments) { a.Texts("paths", true, 1) }
	edits := func(a *Arguments) { edits(a, true) }
	sorted := func(a *Arguments) { a.Choice("sortBy", "name", "name", "size") }
	for _, c := range []struct {
		raw  string
		get  func(*Arguments)
		want string // WHY at FIELD, empty: accepted
	}{
		{``, read, "required and missing at path"},
		{`null`, read, "required and missing at path"},
		{`{}`, read, "required and missing at path"},
		{`[]`, read, "the arguments must be an object, not a list"},
		{`"x"`, read, "the arguments must be an object, not a string"},
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
		{"{\"path\":\"\xff\"}", read, "the arguments are not valid UTF-8"},
		{`{"paths":[]}`, multi, "must hold at least 1 item at paths"},
		{`{"paths":"a"}`, multi, "must be a list, not a string at paths"},
		{`{"paths":"[\"a\",]"}`, multi, "must be a list, not a string whose JSON cannot be read at paths"},
		{`{"paths":"[\"a\"]"}`, multi, "must be a list, not a string that holds JSON at paths"},
		{`{"paths":["a",2]}`, multi, "must be a string, not a number at paths[1]"},
		{`{"edits":[{"oldText":"a"}]}`, edits, "required and missing at edits[0].newText"},
		{`{"edits":[{"oldText":"a","zz":1,"new_text":"b"}]}`, edits, `"new_text" is none of the fields oldText, newText, replaceAll; required and missing at edits[0].newText`},
		{`{"edits":[{"oldText":"a","newText":"b","zz":1}]}`, edits, ""},
		{`{"edits":[{"oldText":"a","newText":"b"},3]}`, edits, "must be an object, not a number at edits[1]"},
		{`{"edits":[{"oldText":"a","newText":"\udc00"}]}`, edits, "holds half of a surrogate pair, which is no character at edits[0].newText"},
		{`{"edits":[]}`, edits, ""},
		{`{"sortBy":"date"}`, sorted, "must be one of name, size at sortBy"},
		{`{}`, sorted, ""},
	} {
		a := Decode("some_tool", json.RawMessage(c.raw))
		c.get(a)
		switch {
		case c.want == "" && a.Err() != nil:
			t.Errorf("%s: refused: %v", c.raw, a.Err())
		case c.want == "":
		case a.Err() == nil:
			t.Errorf("%s: accepted, want %q", c.raw, c.want)
		case !strings.HasPrefix(textOf(a.Err()), "MCP error -32602: Input validation error: Invalid arguments for tool some_tool: "+c.want+". "):
			t.Errorf("%s: %v, want %q", c.raw, a.Err(), c.want)
		}
	}
}

// edits reads a list of objects as edit_file does.
func edits(a *Arguments, required bool) {
	for _, e := range a.Objects("edits", required, "oldText", "newText", "replaceAll") {
		e.Text("oldText", true)
		e.Text("newText", true)
		e.Truth("replaceAll")
	}
}

func TestOnlyTheFieldsThereAre(t *testing.T) {
	fields := []Field{{Name: "path", Required: true}, {Name: "head"}}
	for raw, want := range map[string]string{
		``: "", `{}`: "", `{"path":"a","head":1}`: "", `{"path":"a","Path":"b"}`: `"Path" is not an argument of this tool; it takes path, head. `,
		`{"zebra":1,"ape":2}`: `"ape" is not an argument of this tool; it takes path, head; missing: path. `, "{\"a\u202eb\":1}": `"a\u{202e}b" is not an argument of this tool; it takes path, head; missing: path. `,
	} {
		a := Decode("some_tool", json.RawMessage(raw))
		a.Only(fields)
		if got := a.Err(); got == nil && want != "" || got != nil && rootbound.ReasonOf(got) != rootbound.ArgumentInvalid {
			t.Errorf("%s: %v", raw, got)
		} else if text, _ := Refused(got); want != "" && !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", raw, text, want)
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

func textOf(err error) string {
	text, _ := Refused(err)
	return text
}

func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"path":"a","head":1,"edits":[{"oldText":"a","newText":"b"}],"paths":["x"]}`))
	f.Add([]byte(`{"path":"\ud83d\ude00","head":1e3}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		a := Decode("t", raw)
		path := a.Text("path", true)
		if a.Err() == nil {
			// What was accepted is exactly what was sent: encoding it again and decoding gives the same text.
			back, _ := json.Marshal(path)
			var again string
			if json.Unmarshal(back, &again) != nil || again != path {
				t.Fatalf("%q does not survive", path)
			}
		}
		a.Whole("head", 0)
		a.Texts("paths", false, 0)
		edits(a, false)
		if a.Err() != nil && len(textOf(a.Err())) > 2400 {
			t.Fatalf("an error of %d bytes", len(a.Err().Error()))
		}
	})
}
