package held

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rootbound/rootbound"
)

// The model: what one may do at a path is what the innermost project says, and nothing of the code under test is used.
var (
	modelDirs  = []string{"/a", "/a/b", "/a/b/c", "/a/bb", "/d", "/d/e"}
	modelNames = []string{"k", "x.md", "s/k", "s/t/x.go"}
	modelDeny  = []string{"k", "**/k", "s/**", "**/*.go"}
)

func modelDenies(pattern, rel string) bool {
	switch pattern {
	case "k":
		return rel == "k"
	case "**/k":
		return path.Base(rel) == "k"
	case "s/**":
		return rel == "s" || strings.HasPrefix(rel, "s/")
	case "**/*.go":
		return strings.HasSuffix(rel, ".go")
	case "**":
		return true
	}
	panic(pattern)
}

// able tells what may be done with bytes of a size at a path, in words.
func able(projects []rootbound.Project, abs string) (out []string) {
	var in *rootbound.Project
	for i := range projects {
		if d := projects[i].Dir; strings.HasPrefix(abs, d+"/") && (in == nil || len(d) > len(in.Dir)) {
			in = &projects[i]
		}
	}
	if in == nil {
		return nil
	}
	rel := strings.TrimPrefix(abs, in.Dir+"/")
	for _, p := range in.Deny {
		if modelDenies(p, rel) {
			return nil
		}
	}
	if ext := path.Ext(abs); len(in.AllowExtensions) > 0 && !slices.Contains(in.AllowExtensions, ext) {
		return nil
	}
	out = append(out, in.Rights.Names()...)
	for _, size := range []int64{5, 50, 500} {
		if in.Rights.Has(rootbound.Read) && (in.MaxRead == 0 || size <= in.MaxRead) {
			out = append(out, fmt.Sprint("read ", size))
		}
		if in.Rights.Has(rootbound.Write) && (in.MaxWrite == 0 || size <= in.MaxWrite) {
			out = append(out, fmt.Sprint("write ", size))
		}
	}
	for name, may := range map[string]bool{
		"credentials": in.LiftCredentials, "execution": in.LiftExecution, "mounts": !in.DenyMounts, "hardlinks": !in.DenyHardlinks,
		"across": in.MovesAcross, "copy": in.CopyAcross, "direct": !in.ProposeWrites,
	} {
		if may {
			out = append(out, name)
		}
	}
	return out
}

func genProject(t *rapid.T, id rootbound.RootID, dir string) rootbound.Project {
	some := func(label string, all []string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(all), 0, 2, rapid.ID).Draw(t, label)
	}
	limit := rapid.SampledFrom([]int64{0, 0, 10, 100})
	return rootbound.Project{
		ID: id, Dir: dir, Rights: rootbound.Rights(rapid.IntRange(1, 255).Draw(t, "rights")),
		Deny: some("deny", modelDeny), AllowExtensions: some("extensions", []string{"", ".md", ".go"}),
		MaxRead: limit.Draw(t, "max_read"), MaxWrite: limit.Draw(t, "max_write"),
		LiftCredentials: rapid.Bool().Draw(t, "credentials"), LiftExecution: rapid.Bool().Draw(t, "execution"),
		DenyMounts: rapid.Bool().Draw(t, "mounts"), DenyHardlinks: rapid.Bool().Draw(t, "hardlinks"),
		MovesAcross: rapid.Bool().Draw(t, "moves"), CopyAcross: rapid.Bool().Draw(t, "copy"),
		ProposeWrites: rapid.Bool().Draw(t, "writes"),
	}
}

func genScope(t *rapid.T, label string) Scope {
	s := Scope{Settings: map[string]string{"mode": rapid.SampledFrom([]string{"require", "narrow", "ignore"}).Draw(t, label+" mode"),
		"limit": rapid.SampledFrom([]string{"1", "2"}).Draw(t, label+" limit"), "new": rapid.SampledFrom([]string{"x", "y"}).Draw(t, label+" new")}}
	dirs := rapid.SliceOfNDistinct(rapid.SampledFrom(modelDirs), 0, 4, rapid.ID).Draw(t, label+" dirs")
	ids := rapid.Permutation([]rootbound.RootID{"p", "q", "r", "s"}).Draw(t, label+" ids")
	for i, d := range dirs {
		// Most projects keep their id, so that the two scopes have some in common.
		id := ids[i]
		if rapid.IntRange(0, 3).Draw(t, label+" stays") > 0 {
			id = rootbound.RootID(strings.ReplaceAll(d[1:], "/", "-"))
		}
		if slices.ContainsFunc(s.Grants, func(g Grant) bool { return g.ID == id }) {
			continue
		}
		s.Grants = append(s.Grants, Grant{Project: genProject(t, id, d), Real: d})
	}
	return s
}

func modelTable() Table {
	return Table{"mode": Words("require", "narrow", "ignore"), "limit": Amount(func(s string) (int64, bool) { return int64(s[0]), true }), "new": Order{}}
}

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

// TestHoldIsWhatBothAllow: nothing is allowed that one of the two does not allow, at any path; what base allows as well
// is taken as it is; and holding again changes nothing.
func TestHoldIsWhatBothAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, want, base := modelTable(), genScope(t, "want"), genScope(t, "base")
		got := table.Hold(want, base)
		in, w, b := got.Projects(), want.Projects(), base.Projects()
		ids := map[rootbound.RootID]bool{}
		for _, p := range in {
			if ids[p.ID] || p.Rights == 0 {
				t.Fatalf("id %s twice, or no rights", p.ID)
			}
			ids[p.ID] = true
		}
		wider := slices.ContainsFunc(table.Compare(base, want), Change.Wider)
		for _, d := range append([]string{"/z"}, modelDirs...) {
			for _, n := range modelNames {
				at := d + "/" + n
				may := able(in, at)
				if !subset(may, able(w, at)) || !subset(may, able(b, at)) {
					t.Fatalf("%s: %v\nwanted   %v\naccepted %v\nin force %+v", at, may, able(w, at), able(b, at), in)
				}
				if !wider && !subset(able(w, at), able(b, at)) {
					t.Fatalf("%s: widened and not said\nwanted   %v\naccepted %v", at, able(w, at), able(b, at))
				}
			}
		}
		if !wider && len(table.Compare(want, got)) > 0 {
			t.Fatalf("what only narrows was not taken: %v", table.Compare(want, got))
		}
		for key := range table {
			if s := got.Settings[key]; s != want.Settings[key] && s != base.Settings[key] || table[key].Wider(base.Settings[key], s) {
				t.Fatalf("setting %s: %s", key, s)
			}
		}
		if again := table.Hold(got, base); len(table.Compare(got, again)) > 0 {
			t.Fatalf("holding twice: %v", table.Compare(got, again))
		}
	})
}

func TestLinksThatLeadElsewhere(t *testing.T) {
	p := Grant{Project: rootbound.Project{ID: "p", Dir: "/l", Rights: rootbound.ReadOnly}, Real: "/one"}
	moved := p
	moved.Real = "/two"
	if got := (Table{}).Hold(Scope{Grants: []Grant{moved}}, Scope{Grants: []Grant{p}}); len(got.Grants) != 0 {
		t.Errorf("a path that leads elsewhere is in force: %+v", got)
	}
	// Inside another project it is shut, by the path it leads to.
	outer := Grant{Project: rootbound.Project{ID: "o", Dir: "/two", Rights: rootbound.ReadWrite}, Real: "/two"}
	inner := Grant{Project: rootbound.Project{ID: "p", Dir: "/l", Rights: rootbound.ReadOnly}, Real: "/two/x"}
	got := (Table{}).Hold(Scope{Grants: []Grant{outer}}, Scope{Grants: []Grant{outer, inner}})
	if len(got.Grants) != 2 || !got.Grants[1].Shut || got.Grants[1].Dir != "/l" {
		t.Errorf("removed from inside another: %+v", got)
	}
	// One directory under two names: whose rights hold would be a guess.
	twin := Grant{Project: rootbound.Project{ID: "t", Dir: "/m", Rights: rootbound.Full}, Real: "/two"}
	if got = (Table{}).Hold(Scope{Grants: []Grant{outer, twin}}, Scope{Grants: []Grant{outer}}); len(got.Grants) != 1 || !got.Grants[0].Shut {
		t.Errorf("twins: %+v", got)
	}
}

func TestTexts(t *testing.T) {
	from := Scope{Settings: map[string]string{"mode": "require"}, Grants: []Grant{
		{Project: rootbound.Project{ID: "app", Dir: "/a", Rights: rootbound.ReadOnly, Deny: []string{"**/k", "s/**"}, AllowExtensions: []string{".md"}, MaxRead: 10}, Real: "/a"},
		{Project: rootbound.Project{ID: "sub", Dir: "/a/b", Rights: rootbound.ReadOnly}, Real: "/a/b"},
		{Project: rootbound.Project{ID: "old", Dir: "/d", Rights: rootbound.Full}, Real: "/d"},
	}}
	to := Scope{Settings: map[string]string{"mode": "ignore", "new": "y"}, Grants: []Grant{
		{Project: rootbound.Project{ID: "app", Dir: "/a", Rights: rootbound.ReadOnly&^rootbound.Search | rootbound.Write, Deny: []string{"**/k", "**/*.go"}, LiftExecution: true}, Real: "/a"},
		{Project: rootbound.Project{ID: "more", Dir: "/m\n", Rights: rootbound.ReadWrite, LiftCredentials: true}, Real: "/m\n"},
	}}
	var got []string
	for _, c := range modelTable().Compare(from, to) {
		got = append(got, c.String())
	}
	want := []string{
		`widened project app: rights list read write, were ro; no longer denies "s/**"; allows every extension; max_read unlimited, was 10 bytes; preset execution lifted: true, was false`,
		`narrowed project app: rights list read write, were ro; denies "**/*.go"`,
		`added project more: "/m\x0a" (rw), without the preset credentials`,
		`widened project app: project sub inside it is removed, so that "/a/b" falls to project app`,
		`removed project sub: "/a/b" (ro)`,
		`removed project old: "/d" (full)`,
		`widened mode: ignore, was require`,
		`changed new: y, was not set`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestEveryFieldIsKnown fails when a project gets a field that package held does not compare: until it is known here it
// stays as it was accepted.
func TestEveryFieldIsKnown(t *testing.T) {
	base := Grant{Project: rootbound.Project{ID: "p", Dir: "/p", Rights: rootbound.Full}, Real: "/p"}
	full := reflect.TypeFor[rootbound.Project]()
	for i := range full.NumField() {
		name := full.Field(i).Name
		if name == "ID" || name == "Dir" || name == "Description" { // the last lets nothing be touched
			continue
		}
		other := base
		v := reflect.ValueOf(&other.Project).Elem().Field(i)
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Int64:
			v.SetInt(7)
		case reflect.Uint16:
			v.SetUint(uint64(rootbound.ReadOnly))
		case reflect.Slice:
			v.Set(reflect.ValueOf([]string{".x"}))
		case reflect.String:
			v.SetString("propose")
		default:
			t.Fatalf("%s: write the case", name)
		}
		a, b := Scope{Grants: []Grant{base}}, Scope{Grants: []Grant{other}}
		there, back := modelTable().Compare(a, b), modelTable().Compare(b, a)
		if len(there) != 1 || len(back) != 1 || there[0].Wider() == back[0].Wider() {
			t.Errorf("%s is not compared: %v, %v", name, there, back)
			continue
		}
		wide, narrow := a, b
		if there[0].Wider() {
			wide, narrow = b, a
		}
		for _, got := range []Scope{modelTable().Hold(wide, narrow), modelTable().Hold(narrow, wide)} {
			if d := cmp.Diff(narrow.Grants, got.Grants); d != "" {
				t.Errorf("%s is not held: %s", name, d)
			}
		}
	}
}

func TestRecord(t *testing.T) {
	a := Accepted{"": Scope{Settings: map[string]string{"mode": "narrow"}, Grants: []Grant{{Project: rootbound.Project{ID: "p", Dir: "/p", Rights: rootbound.Full, Deny: []string{"k"}}, Real: "/p"}}}, "ci": Scope{}}
	b, err := a.Encode(time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	if d := cmp.Diff(a, got); err != nil || d != "" {
		t.Error(err, d)
	}
	if !reflect.DeepEqual(got.Of("ci"), Scope{}) || !reflect.DeepEqual(got.Of("other"), a[""]) {
		t.Error("an environment that was not accepted is held to the file itself")
	}
	for _, bad := range []string{"", "{}", `{"Version":2}`, "null"} {
		if _, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
