package own

import (
	"maps"
	"slices"
	"testing"

	"github.com/rootbound/rootbound/beneath"
)

// Where a file system folds names the kernel tells the spelling it was asked with.
func TestPathsAreComparedFolded(t *testing.T) {
	o := New(func() []File {
		return []File{{Path: "/p/App/.State"}, {Path: "/p/log.jsonl", Beside: true}, {Path: "/q/c.yaml"}}
	})
	for path, want := range map[string]bool{
		"/p/App/.State": true, "/p/App/.State/plans/x": true, "/P/app/.STATE/undo/data/x": true, "/p/app/.sta\u200bte/x": true,
		"/p/LOG.JSONL.1": true, "/p/log.jsonl": true, "/p/log.jsonl2": false, "/q/C.YAML": true, "/q/c.yaml.new": false,
		"/p/App": false, "/p/App/.State2": false, "/": false, "/p": false,
	} {
		if got := o.Path(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
	for dir, want := range map[string][]string{
		"/p": {"App/.State", "log.jsonl", "log.jsonl."}, "/P/": {"App/.State", "log.jsonl", "log.jsonl."}, "/p/APP": {".State"}, "/q": {"c.yaml"},
		"/": {"p/App/.State", "p/log.jsonl", "p/log.jsonl.", "q/c.yaml"}, "/pp": nil, "/q/c.yaml": nil,
	} {
		if got := slices.Sorted(maps.Keys(o.Below(dir))); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}

// The same file is ours through whatever mount it is reached; an identity that is not known is nobody's.
func TestObjectsAreComparedWithoutTheirMount(t *testing.T) {
	o := New(func() []File {
		return []File{{ID: beneath.ObjectID{Dev: 1, Ino: 2, Mount: 3}}, {Path: "/not/yet/made"}}
	})
	for id, want := range map[beneath.ObjectID]bool{
		{Dev: 1, Ino: 2, Mount: 3}: true, {Dev: 1, Ino: 2, Mount: 4}: true, {Dev: 1, Ino: 2}: true,
		{Dev: 1, Ino: 3, Mount: 3}: false, {Dev: 2, Ino: 2, Mount: 3}: false, {}: false,
	} {
		if got := o.Object(id); got != want {
			t.Errorf("%+v: %t", id, got)
		}
	}
	if New(nil).Object(beneath.ObjectID{Dev: 1, Ino: 2}) {
		t.Error("nobody told of a file")
	}
}

// The number of a deleted file is the next one's, which is not ours; a file that was moved to another place of ours stays it.
func TestWhatIsGoneIsAskedForAnew(t *testing.T) {
	id := func(ino uint64) beneath.ObjectID { return beneath.ObjectID{Dev: 1, Ino: ino} }
	here := func() bool { return true }
	gone := func() bool { return false }
	asked := 0
	now := []File{{Path: "/s/stays", ID: id(1), Still: here}, {Path: "/s/deleted", ID: id(2), Still: gone}, {Path: "/s/new", ID: id(3), Still: gone}, {Path: "/s/untold", ID: id(4)}}
	o := New(func() []File { asked++; return now })
	if !o.Object(id(1)) || !o.Object(id(4)) || asked != 1 {
		t.Errorf("what stands where it was told: asked %d times", asked)
	}
	now = []File{now[0], {Path: "/s/named", ID: id(3), Still: here}, now[3]}
	if o.Object(id(2)) || asked != 2 {
		t.Errorf("a number that another file has now is ours, asked %d times", asked)
	}
	if !o.Object(id(3)) || o.Object(id(2)) || asked != 2 {
		t.Errorf("what was moved is not ours any more, asked %d times", asked)
	}
}
