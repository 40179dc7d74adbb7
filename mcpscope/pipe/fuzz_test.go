package pipe

import (
	"strings"
	"testing"
)

// FuzzPipeLine: a line gives messages or one reply, and never a panic.
func FuzzPipeLine(f *testing.F) {
	for _, s := range []string{``, `{}`, `[]`, `[{}]`, `null`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1.5,"result":{}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},7]`, `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, `{"a":1}{"b":2}`, "\xff", `"\ud800"`} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, line []byte, batches bool) {
		out := new(countWriter)
		c := &pipeConn{w: out, max: DefaultMaxLine}
		if batches {
			c.version = "2025-03-26"
		}
		msgs := c.decode(line)
		if len(msgs) == 0 && out.lines == 0 {
			t.Errorf("%q: nothing came of it", line)
		}
		if len(msgs) > 1 && !batches {
			t.Errorf("%q: %d messages", line, len(msgs))
		}
	})
}

type countWriter struct{ lines int }

func (w *countWriter) Write(p []byte) (int, error) {
	w.lines += strings.Count(string(p), "\n")
	return len(p), nil
}

func (w *countWriter) Close() error { return nil }
