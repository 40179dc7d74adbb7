package pipe

import (
	"strings"
	"testing"
)

// Every method that only one era has says in the other what takes its place; a method of both, or of none, says nothing.
func TestMethodsOfTheOtherEra(t *testing.T) {
	for method, want := range map[string][2]string{ // in 2026-07-28, before
		"resources/subscribe":   {"subscriptions/listen", ""},
		"resources/unsubscribe": {"subscriptions/listen", ""},
		"ping":                  {"server/discover", ""},
		"subscriptions/listen":  {"", "resources/subscribe"},
		"server/discover":       {"", "initialize"},
		"tools/list":            {"", ""},
		"foo":                   {"", ""},
	} {
		for i, legacy := range []bool{false, true} {
			if got := otherEra(method, legacy); (got == "") != (want[i] == "") || !strings.Contains(got, want[i]) {
				t.Errorf("%s, legacy %v: %q, want %q", method, legacy, got, want[i])
			}
		}
	}
}
