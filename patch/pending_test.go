package patch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/patch"
)

// One session has a share of the plans that wait, however it fills it; what a person decided, and what expired, is room again.
func TestOneSessionLeavesRoomForOthers(t *testing.T) {
	o := open(t, rootbound.Project{ID: "asked", Rights: rootbound.Full, ProposeWrites: true}, rootbound.Project{ID: "p", Rights: rootbound.Full})
	ctx, _ := o.session("one")
	other, _ := o.session("two")
	n := 0
	propose := func() error {
		t.Helper()
		n++
		p, err := patch.Propose(ctx, o.g, patch.Request{Root: "asked", Edits: []patch.Edit{edit(fmt.Sprint("new", n), "", "x")}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.desk.Issue(ctx, p)
		return err
	}
	for range patch.Share {
		if err := propose(); err != nil {
			t.Fatal(err)
		}
	}
	full := fmt.Sprintf("%d plans of this session wait", patch.Share)
	wants(t, "one more", propose(), rootbound.LimitReached, full)
	for range 70 { // plans that wait for nobody push the others out of the desk's memory, not out of its count
		p, err := patch.Propose(ctx, o.g, patch.Request{Root: "p", Edits: []patch.Edit{edit("new", "", "x")}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.desk.Issue(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, "one more after many", propose(), rootbound.LimitReached, full)
	p, err := patch.Propose(other, o.g, patch.Request{Root: "asked", Edits: []patch.Edit{edit("other", "", "x")}})
	if err != nil {
		t.Fatal(err)
	}
	if i, err := o.desk.Issue(other, p); err != nil || !i.Visible {
		t.Errorf("another session: %+v, %v", i, err)
	}
	for _, p := range o.wait.all(t) {
		if p.Files[0].Path == "new1" {
			o.wait.Drop(p.ID)
		}
	}
	if err := propose(); err != nil {
		t.Errorf("after a person rejected one: %v", err)
	}
	wants(t, "full again", propose(), rootbound.LimitReached, full)
	o.now = o.now.Add(patch.Life + time.Second)
	for range patch.Share {
		if err := propose(); err != nil {
			t.Fatalf("after they expired: %v", err)
		}
	}
}

// A place that could not be kept counts for nothing.
func TestAPlanThatIsNotKeptTakesNoShare(t *testing.T) {
	o := open(t, rootbound.Project{ID: "asked", Rights: rootbound.Full, ProposeWrites: true})
	ctx, _ := o.session("")
	desk := patch.NewDesk(patch.DeskOptions{Pending: broken{&rootbound.Error{Reason: rootbound.LimitReached, Detail: "64 plans wait", Next: "Ask the person."}}})
	for range patch.Share + 1 {
		p, err := patch.Propose(ctx, o.g, patch.Request{Root: "asked", Edits: []patch.Edit{edit("new", "", "x")}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = desk.Issue(ctx, p)
		wants(t, "no room", err, rootbound.LimitReached, "64 plans wait")
	}
}

// A plan keeps the bytes of a name that is no UTF-8.
func TestAPlanKeepsTheBytesOfNames(t *testing.T) {
	o := open(t, rootbound.Project{ID: "asked", Rights: rootbound.Full, ProposeWrites: true})
	ctx, _ := o.session("")
	const name = "caf\xe9"
	p, err := patch.Propose(ctx, o.g, patch.Request{Root: "asked", Edits: []patch.Edit{edit(name, "", "x"), edit("plain", "", "x")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.desk.Issue(ctx, p); err != nil {
		t.Fatal(err)
	}
	found := o.wait.all(t)[0] // Decode refuses what is not what was encoded
	if found.Files[0].Path != name || found.Files[1].Path != "plain" || found.Diff != p.Diff || found.Digest != p.Digest {
		t.Errorf("%+v", found)
	}
	var b strings.Builder
	found.Show(&b)
	if strings.Contains(b.String(), name) || !strings.Contains(b.String(), `caf\xe9`) {
		t.Errorf("shown as %q", b.String())
	}
}
