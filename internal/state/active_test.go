package state

import (
	"os"
	"slices"
	"testing"
)

func TestActive(t *testing.T) {
	d := open(t)
	is := func(name string, want []string, wantChosen bool) {
		t.Helper()
		ids, chosen, err := d.Active(name)
		if err != nil || chosen != wantChosen || !slices.Equal(ids, want) {
			t.Errorf("%s: %v, %v, %v", name, ids, chosen, err)
		}
	}
	is("/c", nil, false)
	for _, ids := range [][]string{{"a", "b"}, {}, {"c"}} {
		if err := d.SetActive("/c", ids); err != nil {
			t.Fatal(err)
		}
		is("/c", ids, true)
	}
	is("/other", nil, false)
	for range 2 {
		if err := d.SetActive("/c", nil); err != nil {
			t.Fatal(err)
		}
		is("/c", nil, false)
	}
}

// What was written by somebody else, for another configuration or as another kind of record chooses nothing.
func TestActiveForged(t *testing.T) {
	d := open(t)
	if err := d.SetActive("/c", []string{"a"}); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(d.ActivePath("/c"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Accept("/c", []byte(`["a","b"]`)); err != nil {
		t.Fatal(err)
	}
	accepted, err := os.ReadFile(d.AcceptedPath("/c"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SetActive("/other", []string{"b"}); err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(d.ActivePath("/other"))
	if err != nil {
		t.Fatal(err)
	}
	changed := slices.Clone(good)
	changed[len(changed)-3] = 'b'
	for name, text := range map[string][]byte{
		"empty": {}, "cut": good[:len(good)-1], "changed": changed, "another kind": accepted, "another configuration": other,
		"a plain list": []byte(`["b"]`),
	} {
		if err := os.WriteFile(d.ActivePath("/c"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if ids, chosen, err := d.Active("/c"); err == nil || !chosen || len(ids) != 0 {
			t.Errorf("%s: %v, %v, %v", name, ids, chosen, err)
		}
	}
	if err := d.SetActive("/c", []string{"b"}); err != nil { // the way out
		t.Fatal(err)
	}
	if ids, _, err := d.Active("/c"); err != nil || !slices.Equal(ids, []string{"b"}) {
		t.Errorf("%v, %v", ids, err)
	}
}
