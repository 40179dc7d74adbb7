package decision

import (
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
)

func TestHashedHidesPaths(t *testing.T) {
	m := NewMemory(0)
	s := Hashed(m, []byte("0123456789abcdef0123456789abcdef"))
	const secret = "Secret Plans"
	r := Record{
		ID: "a-1", Phase: Decided, PathSent: "/srv/" + secret + "/a", Path: secret + "/a", DestSent: secret, Dest: secret,
		Tool: "rootbound://app/" + secret, Detail: "first missing part: " + secret, Note: secret,
		Rules: []string{"deny:**/" + secret + "/**", "credentials"}, Decision: Deny, Reason: rootbound.RuleDenied,
		Authority: Authority{RootsDigest: secret, ProjectDigest: secret, PolicyDigest: secret},
		Outcome:   &Outcome{Detail: secret, Stopped: secret},
		Roots:     []Root{{URI: "file:///srv/" + secret, Detail: secret, Warn: secret}},
	}
	before := string(r.AppendJSON(nil))
	if err := s.Decided(&r, true); err != nil {
		t.Fatal(err)
	}
	s.Completed(&r)
	s.Event(&r)
	if string(r.AppendJSON(nil)) != before {
		t.Error("the caller's record was changed")
	}
	for _, got := range m.Records() {
		line := string(got.AppendJSON(nil))
		if strings.Contains(line, "Secret") || strings.Contains(line, "Plans") || strings.Contains(line, "srv") {
			t.Errorf("a path is visible: %s", line)
		}
		if got.Path == got.PathSent || got.DestSent != got.Dest || !strings.HasPrefix(got.Path, "hmac:") {
			t.Errorf("different texts must differ and equal ones be equal: %s", line)
		}
		if got.Rules[1] != "credentials" || !strings.HasPrefix(got.Rules[0], "deny:hmac:") || got.Reason != rootbound.RuleDenied {
			t.Errorf("words of our own must stay: %s", line)
		}
	}
	other := NewMemory(0)
	Hashed(other, []byte("another key")).Event(&r)
	if other.Records()[0].Path == m.Records()[0].Path {
		t.Error("the key does not matter")
	}
	plain := Record{Tool: "read_text_file", Detail: "generation_stale", Note: ""}
	s.Event(&plain)
	if got := m.Records()[3]; got.Tool != plain.Tool || got.Detail != plain.Detail || got.Note != "" || got.Path != "" {
		t.Errorf("%+v", got)
	}
}
