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
