//go:build linux

package cases

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// rootVerdict is what must become of one entry of an answer.
type rootVerdict struct {
	Accept    string        `json:"accept"`
	AcceptHex string        `json:"accept_hex"`
	Refuse    string        `json:"refuse"`
	Detail    string        `json:"detail"`
	Warn      string        `json:"warn"`
	Then      string        `json:"then"`
	Modes     []string      `json:"modes"`
	Each      []rootVerdict `json:"each"`
}

type rootURI struct {
	ID     string          `json:"id"`
	URI    string          `json:"uri"`
	Name   string          `json:"name"`
	Answer json.RawMessage `json:"answer"`
	POSIX  rootVerdict     `json:"posix"`
}

// TestRootURIs sends each answer of root-uris.json to a server without directories and judges what its records say of
// every entry. An accepted URI names no directory of this machine, so it ends as one that cannot be opened: parsed, and
// dropped for that reason only.
func TestRootURIs(t *testing.T) {
	raw, err := os.ReadFile("testdata/root-uris.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []rootURI `json:"cases"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 35 {
		t.Fatalf("only %d cases were read", len(file.Cases))
	}
	for era, version := range map[string]string{"legacy": rawmcp.Legacy, "modern": rawmcp.Modern} {
		t.Run(era, func(t *testing.T) {
			for _, c := range file.Cases {
				t.Run(c.ID, func(t *testing.T) {
					t.Parallel()
					runRootURI(t, c, version)
				})
			}
		})
	}
}

func runRootURI(t *testing.T, c rootURI, version string) {
	w := newWorld(t, base+"/uris-"+version[:4], c.ID)
	defer w.close()
	answer := c.Answer
	if answer == nil {
		var err error
		entry := map[string]string{"uri": c.URI}
		if c.Name != "" {
			entry["name"] = c.Name
		}
		if answer, err = json.Marshal(map[string]any{"roots": []any{entry}}); err != nil {
			t.Fatal(err)
		}
	}
	p, err := w.begin(start{
		argv:    []string{"--confine=off", "--no-slow", "--audit", w.state + "/audit.jsonl"},
		version: version,
		roots:   func(int) rawmcp.Answer { return rawmcp.Answer{Raw: answer} },
	})
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := p.call(7*time.Second, "list_directory", rawmcp.Args{"path": "/"})
	if err != nil {
		t.Fatal(err)
	}
	if r.OK() {
		t.Fatalf("the whole disk was listed: %s", r.Short())
	}
	want := c.POSIX.Each
	if want == nil {
		want = []rootVerdict{c.POSIX}
	}
	if c.POSIX.Refuse == "roots_malformed" {
		if r.Reason != "roots_malformed" {
			t.Errorf("refused as %q, want roots_malformed: %s", r.Reason, r.Short())
		}
		return
	}
	var roots []struct{ URI, Root, Reason, Detail, Warn string }
	for _, rec := range p.recorded() {
		if len(rec.Roots) > 0 {
			roots = nil
			for _, e := range rec.Roots {
				roots = append(roots, struct{ URI, Root, Reason, Detail, Warn string }(e))
			}
		}
	}
	if len(roots) != len(want) {
		t.Fatalf("the records speak of %d entries, want %d: %+v", len(roots), len(want), p.records())
	}
	for i, v := range want {
		got := roots[i]
		switch {
		case v.Refuse != "":
			if got.Reason != v.Refuse || v.Detail != "" && got.Detail != v.Detail {
				t.Errorf("entry %d: %s %s, want %s %s", i, got.Reason, got.Detail, v.Refuse, v.Detail)
			}
		case v.Then != "" && (len(v.Modes) == 0 || slices.Contains(v.Modes, "client")):
			if got.Reason != v.Then {
				t.Errorf("entry %d: %s %s, want %s", i, got.Reason, got.Detail, v.Then)
			}
		default:
			if got.Reason != "root_unusable" {
				t.Errorf("entry %d: %q %s, want it parsed and not found (root_unusable)", i, got.Reason, got.Detail)
			}
			w.sameURI(t, i, got.URI, v)
		}
		if v.Warn != "" && got.Warn != v.Warn {
			t.Errorf("entry %d: warning %q, want %q", i, got.Warn, v.Warn)
		}
	}
}

// sameURI: the normalized form in the record is the accepted path, spelled by a careful client.
func (w *world) sameURI(t *testing.T, i int, got string, v rootVerdict) {
	path := v.Accept
	if v.AcceptHex != "" {
		b, err := hex.DecodeString(v.AcceptHex)
		if err != nil {
			t.Fatal(err)
		}
		path = string(b)
	}
	if want := fileURI(path); decoded(got) != decoded(want) {
		t.Errorf("entry %d: recorded as %s, want %s", i, got, want)
	}
}

// decoded is a URI with its escapes taken away, for comparing two that encode different characters.
func decoded(uri string) string {
	var out []byte
	for i := 0; i < len(uri); i++ {
		if uri[i] == '%' && i+2 < len(uri) {
			if b, err := hex.DecodeString(uri[i+1 : i+3]); err == nil {
				out = append(out, b[0])
				i += 2
				continue
			}
		}
		out = append(out, uri[i])
	}
	return string(out)
}
