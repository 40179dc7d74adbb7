//go:build linux

package cases

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// TestBadAnswers: whatever a client answers for its roots, the call is refused with a clear text, in time, the process
// lives and does not grow by it, and a good answer afterwards is taken.
func TestBadAnswers(t *testing.T) {
	many := bytes.NewBufferString(`{"roots":[`)
	for i := range 200_000 {
		if i > 0 {
			many.WriteByte(',')
		}
		fmt.Fprintf(many, `{"uri":"file:///home/u/%d"}`, i)
	}
	many.WriteString(`]}`)
	for name, bad := range map[string]rawmcp.Answer{
		"200000 roots":      {Raw: many.Bytes()},
		"null":              {Raw: []byte(`{"roots":null}`)},
		"no list":           {Raw: []byte(`{"roots":{"uri":"file:///"}}`)},
		"nothing":           {Raw: []byte(`{}`)},
		"a null entry":      {Raw: []byte(`{"roots":[null]}`)},
		"a number":          {Raw: []byte(`{"roots":[{"uri":7}]}`)},
		"5 KiB":             {Raw: []byte(`{"roots":[{"uri":"file:///` + string(bytes.Repeat([]byte("x"), 5<<10)) + `"}]}`)},
		"an internal error": {Error: -32603},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, base+"/badanswers", name)
			p, err := w.begin(start{
				argv: []string{"--confine=off", "--no-slow", w.dir + "/ws"}, version: rawmcp.Legacy, changes: true,
				roots: func(ask int) rawmcp.Answer {
					if ask == 0 {
						return bad
					}
					return rawmcp.Answer{Roots: []string{fileURI(w.dir + "/ws")}}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			before, _ := resident(p.PID())
			resetPeak(p.PID())
			r, _, err := p.call(8*time.Second, "write_file", rawmcp.Args{"path": w.dir + "/ws/new", "content": "x"})
			if err != nil {
				t.Fatalf("%v; stderr: %s", err, p.Stderr())
			}
			if r.OK() || r.Reason != "roots_malformed" && r.Reason != "authority_unavailable" || r.Text == "" {
				t.Errorf("want a refusal for the answer, got %s", r.Short())
			}
			if _, peak := resident(p.PID()); peak-before > 256<<10 {
				t.Errorf("the server grew by %d MiB", (peak-before)>>10)
			}
			if r, _, err := p.call(8*time.Second, "read_text_file", rawmcp.Args{"path": w.dir + "/ws/alive"}); err != nil || !r.OK() {
				t.Errorf("after a good answer: %s %v", r.Short(), err)
			}
		})
	}
}
