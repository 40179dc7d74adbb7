package beneath

import (
	"slices"
	"testing"
)

func TestWhereAPathIsSeenByOtherMounts(t *testing.T) {
	all := Mounted{
		{"8:1", "/", "/"}, {"8:2", "/", "/home"}, {"8:2", "/u", "/p/all"}, {"8:2", "/u/state/sub", "/p/part"}, {"8:2", "/u/sta", "/p/no"},
		{"8:1", "/home", "/q"}, {"8:3", "/u", "/p/other"}, {"8:2", "/u/state", "/q/same"},
	}
	for path, want := range map[string][]string{
		"/home/u/state": {"/p/all/state", "/p/part", "/q/same"}, "/home/u/state/key": {"/p/all/state/key", "/q/same/key"}, "/home/u/f": {"/p/all/f"},
		"/p/all/f": {"/home/u/f"}, "/etc/x": nil, "/homely": nil, "/p/other": nil, "relative": nil,
	} {
		if got := all.Elsewhere(path); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
