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

// A name that looks like a word is none of ours, and what is missing is told by its name even where that is one of ours.
func TestHashedHidesNamesThatLookLikeWords(t *testing.T) {
	m := NewMemory(0)
	s := Hashed(m, []byte("0123456789abcdef0123456789abcdef"))
	for _, c := range []struct {
		reason rootbound.Reason
		detail string
		shown  bool
	}{
		{rootbound.ParentMissing, "salaries", false},
		{rootbound.ParentMissing, "missing", false},
		{rootbound.NotFound, "own_files", false},
		{rootbound.RuleDenied, "salaries", false},
		{rootbound.RuleDenied, "own_files", true},
		{rootbound.PathInvalid, "too_long", true},
	} {
		s.Event(&Record{
			Phase: Completed, Reason: c.reason, Detail: c.detail, Outcome: &Outcome{Reason: c.reason, Detail: c.detail},
			Roots: []Root{{Reason: c.reason, Detail: c.detail}},
		})
		all := m.Records()
		got := all[len(all)-1]
		for _, d := range []string{got.Detail, got.Outcome.Detail, got.Roots[0].Detail} {
			if (d == c.detail) != c.shown || !c.shown && !strings.HasPrefix(d, "hmac:") {
				t.Errorf("%s, %s: %s", c.reason, c.detail, d)
			}
		}
	}
}
