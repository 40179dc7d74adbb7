package pace

import (
	"testing"
	"time"
)

func TestDeny(t *testing.T) {
	var p Pacer
	at := time.Unix(0, 0).Add(time.Hour)
	for i := range Denials {
		if slow, alert := p.Deny("a", at.Add(time.Duration(i)*time.Millisecond)); slow || alert {
			t.Fatalf("denial %d is slowed", i+1)
		}
	}
	if slow, alert := p.Deny("a", at.Add(time.Second)); !slow || !alert {
		t.Error("one too many is not noticed")
	}
	if slow, alert := p.Deny("a", at.Add(2*time.Second)); !slow || alert {
		t.Error("the alert is raised twice")
	}
	if slow, _ := p.Deny("b", at.Add(2*time.Second)); slow {
		t.Error("one authority slows another")
	}
	if slow, _ := p.Deny("a", at.Add(time.Hour)); slow {
		t.Error("a quiet hour is not forgotten")
	}
}
