package patch_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/patch"
)

// Memory is bounded: the oldest plans go.
func TestTheDeskIsBounded(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full})
	ctx, _ := o.session("")
	var first patch.Issued
	for n := range 65 {
		_, i := o.propose(ctx, patch.Request{Root: "p", Edits: []patch.Edit{edit("new", "", "x")}})
		if n == 0 {
			first = i
		}
	}
	wants(t, "the oldest", o.apply(ctx, "p", first.Token), rootbound.ArgumentInvalid, "forgotten")
}

// broken is a disk that takes nothing.
type broken struct{ err error }

func (b broken) Put(string, time.Time, []byte) error { return b.err }

func (b broken) Drop(string) error { return b.err }

func (b broken) Has(string) bool { return false }

func (b broken) Spend(string, time.Time) error { return b.err }

// A state directory that is full or cannot be written is told, changes nothing and spoils no plan.
func TestNothingIsLostWhereNothingCanBeKept(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full}, rootbound.Project{ID: "asked", Rights: rootbound.Full, ProposeWrites: true})
	ctx, _ := o.session("")
	full := broken{errors.New("no space left on device /secret/place")}
	for _, root := range []string{"p", "asked"} {
		p, err := patch.Propose(ctx, o.g, patch.Request{Root: root, Edits: []patch.Edit{edit("new", "", "x")}})
		if err != nil {
			t.Fatal(err)
		}
		desk := patch.NewDesk(patch.DeskOptions{Pending: full, Spender: full})
		_, err = desk.Issue(ctx, p)
		if root == "asked" {
			wants(t, "a plan that nobody would see", err, rootbound.IOError, "cannot be kept for a person")
			if strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = desk.Apply(ctx, o.g, p)
		wants(t, "a plan that could be applied twice", err, rootbound.LimitReached, "cannot be remembered")
		if strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
		if got := o.content(root + "/new"); got != "absent" {
			t.Error("applied")
		}
		if q, err := desk.Redeem(ctx, root, p.ID); err != nil || q != p {
			t.Errorf("the plan is lost: %v", err)
		}
	}
	many := broken{&rootbound.Error{Reason: rootbound.LimitReached, Detail: "64 plans wait", Next: "Ask the person."}}
	p, err := patch.Propose(ctx, o.g, patch.Request{Root: "asked", Edits: []patch.Edit{edit("new", "", "x")}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = patch.NewDesk(patch.DeskOptions{Pending: many}).Issue(ctx, p)
	wants(t, "too many", err, rootbound.LimitReached, "64 plans wait")
}
