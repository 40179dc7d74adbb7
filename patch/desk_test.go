package patch_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/patch"
)

func TestG34ProposeChangesNothing(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full})
	o.fill("p")
	before := times(t, o.path("p"))
	ctx, _ := o.session("")
	for _, r := range []patch.Request{
		{Root: "p", Diff: wide},
		{Root: "p", Edits: []patch.Edit{edit("a", "one", "1"), edit("run", "bin", "usr/bin"), edit("deep/er/new", "", "x"), edit("a", "two", "2")}},
	} {
		p, i := o.propose(ctx, r)
		if i.Waits || len(p.Files) < 3 || p.Diff == "" {
			t.Errorf("%+v %+v", p.Files, i)
		}
		if after := times(t, o.path("p")); after != before {
			t.Fatalf("a plan changed something:\n%s\nwas\n%s", after, before)
		}
	}
	for _, r := range []patch.Request{
		{Root: "p", Diff: strings.Replace(wide, "-one", "-uno", 1)},
		{Root: "p", Edits: []patch.Edit{edit("deep/er/new", "", "x"), edit("a", "three", "3")}},
	} {
		if _, err := patch.Propose(ctx, o.g, r); err == nil {
			t.Error("it does not fit")
		}
		if after := times(t, o.path("p")); after != before {
			t.Fatal("a refused plan changed something")
		}
	}
}

func TestAPlanIsApplied(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full})
	o.fill("p")
	ctx, _ := o.session("")
	_, i := o.propose(ctx, patch.Request{Root: "p", Diff: wide})
	if err := o.apply(ctx, "p", i.Token); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "1\ntwo\n", "sub/new/er": "hello\n", "gone": "absent", "from": "absent", "to": "moved\n", "copied": "one\ntwo\n"} {
		if got := o.content("p/" + name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]bool{"run": true, "sub/new/er": true, "a": false} {
		if st, err := os.Stat(o.path("p/" + name)); err != nil || st.Mode()&0o100 != 0 != want {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
}

// Every file is compared again: a conflict names the file and changes nothing.
func TestAPlanMeetsAnotherWriter(t *testing.T) {
	for name, disturb := range map[string]func(o *office) error{
		"gone": func(o *office) error { return os.WriteFile(o.path("p/gone"), []byte("gone\n"), 0o644) }, // the same bytes, later
		"a": func(o *office) error {
			if err := os.WriteFile(o.path("p/b"), []byte("one\ntwo\n"), 0o644); err != nil {
				return err
			}
			return os.Rename(o.path("p/b"), o.path("p/a"))
		},
		"to":  func(o *office) error { return os.WriteFile(o.path("p/to"), nil, 0o644) },
		"run": func(o *office) error { return os.Remove(o.path("p/run")) },
		"sub/new/er": func(o *office) error { // a link now stands where a directory was to be made
			if err := os.Mkdir(o.path("p/else"), 0o755); err != nil {
				return err
			}
			return os.Symlink("else", o.path("p/sub"))
		},
	} {
		o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full})
		o.fill("p")
		ctx, _ := o.session("")
		_, i := o.propose(ctx, patch.Request{Root: "p", Diff: wide})
		rig.Later(t, o.path("p/gone"))
		if err := disturb(o); err != nil {
			t.Fatal(err)
		}
		before := o.content("p/a") + o.content("p/gone") + o.content("p/to") + o.content("p/from") + o.content("p/copied")
		err := o.apply(ctx, "p", i.Token)
		var e *rootbound.Error
		if !errors.As(err, &e) || e.Path != name {
			t.Errorf("%s: %v", name, err)
			continue
		}
		switch e.Reason {
		case rootbound.VersionConflict, rootbound.Exists, rootbound.NotFound:
		default:
			t.Errorf("%s: %v", name, err)
		}
		if after := o.content("p/a") + o.content("p/gone") + o.content("p/to") + o.content("p/from") + o.content("p/copied"); after != before {
			t.Errorf("%s: changed: %q", name, after)
		}
	}
}
