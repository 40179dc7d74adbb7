package decisiontest

import (
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
)

func decided(id string) decision.Record {
	return decision.Record{ID: id, Phase: decision.Decided, Time: time.Unix(1, 0), Enforced: true,
		Operation: rootbound.OpWrite, Decision: decision.Allow}
}

func completed(id string) decision.Record {
	r := decided(id)
	r.Phase, r.Outcome = decision.Completed, &decision.Outcome{OK: true}
	return r
}

func TestCheckRefuses(t *testing.T) {
	cases := map[string]func(*decision.Record){
		"no id":                  func(r *decision.Record) { r.ID = "" },
		"unknown phase":          func(r *decision.Record) { r.Phase = "done" },
		"unknown operation":      func(r *decision.Record) { r.Operation = "open" },
		"decided with outcome":   func(r *decision.Record) { r.Outcome = &decision.Outcome{OK: true} },
		"deny without reason":    func(r *decision.Record) { r.Decision = decision.Deny },
		"allow with reason":      func(r *decision.Record) { r.Reason = rootbound.OutsideRoot },
		"reason not in registry": func(r *decision.Record) { r.Decision, r.Reason = decision.Deny, "because" },
		"event with operation":   func(r *decision.Record) { r.Phase = decision.Stale },
		"completed, no outcome":  func(r *decision.Record) { r.Phase = decision.Completed },
		"failed without reason": func(r *decision.Record) {
			r.Phase, r.Outcome = decision.Completed, &decision.Outcome{}
		},
		"roots on an operation": func(r *decision.Record) { r.Roots = []decision.Root{{URI: "file:///a"}} },
		"unknown right":         func(r *decision.Record) { r.Rights = []string{"admin"} },
		"unknown state":         func(r *decision.Record) { r.Authority.State = "fine" },
	}
	ok := decided("x")
	if err := Check(ok.AppendJSON(nil)); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range cases {
		r := decided("x")
		spoil(&r)
		if err := Check(r.AppendJSON(nil)); err == nil {
			t.Errorf("%s: accepted: %s", name, r.AppendJSON(nil))
		}
	}
	if err := Check([]byte(strings.Replace(string(ok.AppendJSON(nil)), `"id"`, `"content":"x","id"`, 1))); err == nil {
		t.Error("a key that the schema does not know was accepted")
	}
}

func TestPairs(t *testing.T) {
	deny := decided("a")
	deny.Decision, deny.Reason = decision.Deny, rootbound.OutsideRoot
	other := completed("a")
	other.Operation = rootbound.OpRead
	event := decision.Record{ID: "a", Phase: decision.Stale}
	for name, c := range map[string]struct {
		records []decision.Record
		want    string
	}{
		"whole":            {[]decision.Record{decided("a"), decided("b"), completed("b"), completed("a")}, ""},
		"died":             {[]decision.Record{decided("a")}, ""},
		"not decided":      {[]decision.Record{completed("a")}, "without having been decided"},
		"decided too late": {[]decision.Record{completed("a"), decided("a")}, "without having been decided"},
		"twice decided":    {[]decision.Record{decided("a"), decided("a")}, "used twice"},
		"twice completed":  {[]decision.Record{decided("a"), completed("a"), completed("a")}, "completed twice"},
		"changed":          {[]decision.Record{decided("a"), other}, "completed as read"},
		"denied, done":     {[]decision.Record{deny, completed("a")}, "succeeded"},
		"event reuses id":  {[]decision.Record{decided("a"), event}, "used twice"},
	} {
		err := Pairs(c.records)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
