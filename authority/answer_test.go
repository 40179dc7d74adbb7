package authority

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/roots"
)

func TestMalformedAnswers(t *testing.T) {
	top := tree(t, "a")
	ceil := ceiling(t, project("a", top+"/a", rootbound.ReadWrite))
	many := make([]string, roots.MaxEntries+1)
	for i := range many {
		many[i] = uri(top, "a")
	}
	denied(t, declared(many...).authority(t, ceil), rootbound.RootsMalformed, "more than 256 entries")
	granted(t, declared(many[1:]...).authority(t, ceil), false)
	long := uri(top, "a") + strings.Repeat("/.", 4096)
	denied(t, declared(uri(top, "a"), long).authority(t, ceil), rootbound.RootsMalformed, "a URI over 4096 bytes")
	granted(t, declared(long[:roots.MaxURI]).authority(t, ceil), false)
}

// The whole answers of the shared cases, and the conditions that hold after parsing.
func TestAnswerCases(t *testing.T) {
	b, err := os.ReadFile("../fileuri/testdata/root-uris.json")
	if err != nil {
		t.Fatal(err)
	}
	type verdict struct {
		Accept *string
		Refuse rootbound.Reason
		Detail string
		Warn   string
		Then   rootbound.Reason
		Modes  []Mode
		Each   []verdict
	}
	var f struct {
		Cases []struct {
			ID     string
			URI    string
			Answer *struct {
				Roots []struct{ URI, Name *string }
			}
			Posix verdict
		}
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	top := tree(t, "home/u/ws/second", "home/u/a b", "home/u/b c")
	ran := 0
	for _, c := range f.Cases {
		if c.Answer == nil && c.Posix.Then == "" {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			here := func(u string) string { return strings.Replace(u, "file:///home", "file://"+top+"/home", 1) }
			cl := declared()
			if c.Answer == nil {
				cl.ans = answer(here(c.URI))
			} else {
				cl.ans = &Answer{}
				for _, r := range c.Answer.Roots {
					e := RootEntry{}
					if r.URI != nil {
						e.URI = here(*r.URI)
					}
					cl.ans.Roots = append(cl.ans.Roots, e)
				}
			}
			a := cl.authority(t, ceiling(t), mode(Client))
			u, err := a.Acquire(context.Background(), false)
			if c.Posix.Refuse != "" {
				isReason(t, err, c.Posix.Refuse, a.Status().Err.(*rootbound.Error).Detail)
				return
			}
			got := a.Status().Verdicts
			if c.Posix.Then != "" {
				if len(got) != 1 || got[0].Reason != c.Posix.Then {
					t.Fatalf("%+v, want %s", got, c.Posix.Then)
				}
				if e := err.(*rootbound.Error); e.Next == "" || e.Next != got[0].Next() {
					t.Errorf("the way out is %q", e.Next)
				}
				isReason(t, err, rootbound.NoScope, string(c.Posix.Then))
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer u.Release()
			for i, v := range c.Posix.Each {
				if got[i].Reason != v.Refuse || got[i].Detail != v.Detail || got[i].Warn != v.Warn || (v.Accept != nil) != (got[i].Root != "") {
					t.Errorf("entry %d: %+v, want %+v", i, got[i], v)
				}
			}
		})
	}
	if ran < 6 {
		t.Errorf("only %d cases", ran)
	}
}

func TestG21OneBadRootDoesNotPoison(t *testing.T) {
	top := tree(t, "a", "b/c")
	if err := os.WriteFile(top+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ceil := ceiling(t, project("a", top+"/a", rootbound.ReadWrite), project("b", top+"/b", rootbound.ReadWrite))
	bad := map[string]rootbound.Reason{
		"vscode-remote://wsl%2Bu/home": rootbound.RootNotFile, "/bare": rootbound.RootNotFile, "file://host/x": rootbound.RootRemote,
		"file:///%zz": rootbound.RootURIInvalid, "file:///a/../b": rootbound.RootURIInvalid, uri(top, "missing"): rootbound.RootUnusable,
		uri(top, "file"): rootbound.RootUnusable, "file:///proc/self": rootbound.RootUnusable, uri(top): "",
	}
	for u, reason := range bad {
		if reason == "" {
			continue
		}
		for _, list := range [][]string{{u, uri(top, "b/c")}, {uri(top, "b/c"), u}} {
			a := declared(list...).authority(t, ceil)
			if got := granted(t, a, false); !slices.Equal(got, []string{top + "/b/c"}) {
				t.Errorf("%s: granted %v", u, got)
			}
			i := slices.Index(list, u)
			if v := a.Status().Verdicts; v[i].Reason != reason || v[1-i].Reason != "" || v[1-i].Root == "" {
				t.Errorf("%s: %+v", u, v)
			}
		}
		// Alone: nothing is left, and the first one's reason says why.
		denied(t, declared(u, "untitled:x").authority(t, ceil), rootbound.NoOverlap, string(reason))
		denied(t, declared(u, "untitled:x").authority(t, ceiling(t), mode(Client)), rootbound.NoScope, string(reason))
	}
}

// What was dropped says what to declare instead, as far as it is known why.
func TestVerdictsSayWhatToDo(t *testing.T) {
	top := tree(t, "a")
	if err := os.WriteFile(top+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ways := map[string]string{uri(top, "file"): "A root must be a directory", uri(top, "missing"): "a folder that exists", "file:///proc/self": "an ordinary folder",
		"https://example.com/x": rootbound.RootNotFile.Next(), uri(top, "a"): ""}
	for u, want := range ways {
		a := declared(u).authority(t, ceiling(t, project("a", top+"/a", rootbound.ReadWrite)))
		use, err := a.Acquire(t.Context(), false)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", u, err, want)
		}
		if use != nil {
			use.Release()
		}
		if v := a.Status().Verdicts[0]; !strings.Contains(v.Next(), want) || (v.Next() == "") != (want == "") {
			t.Errorf("%s: %q, want %q", u, v.Next(), want)
		}
	}
}
