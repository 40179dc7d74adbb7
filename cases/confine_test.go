//go:build linux

package cases

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound/internal/rawmcp"
	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/internal/storm"
)

// landlock skips where the kernel cannot confine a process.
func landlock(t *testing.T) {
	t.Helper()
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || abi < 1 {
		skip(t, "confine/landlock", "the kernel has no Landlock")
	}
}

// TestConfinementHoldsWithoutTheResolver: a build whose resolver follows every link leaks in the storm, at least 1 % of
// its calls; the same build, confined, shows nothing from outside.
func TestConfinementHoldsWithoutTheResolver(t *testing.T) {
	landlock(t)
	bin := rig.Sabotaged(t, "G01.patch")
	if err := os.Chmod(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	reads := []storm.Op{storm.Read, storm.Read, storm.Stat, storm.List, storm.Tree}
	r := blow(t, rawmcp.Legacy, "open", reads, start{bin: bin}, "--confine=off")
	for try := 1; try < 4 && r.Leaked()*100 < r.Calls(); try++ { // the attackers of a busy machine may have a bad round
		r = blow(t, rawmcp.Legacy, "open"+strconv.Itoa(try), reads, start{bin: bin}, "--confine=off")
	}
	if r.Leaked()*100 < r.Calls() {
		t.Errorf("without its resolver and unconfined it leaked less than 1 %%, so the storm shows nothing: %s", r)
	}
	r = blow(t, rawmcp.Legacy, "confined", reads, start{bin: bin}, "--confine=require")
	if err := r.Clean(); err != nil {
		t.Errorf("confined, it leaks: %v", err)
	}
	if r.Total().OK == 0 {
		t.Errorf("confined, it serves nothing: %s", r)
	}
}

// TestStormConfined: confinement costs no correctness; all tools at once, as served by default.
func TestStormConfined(t *testing.T) {
	landlock(t)
	if err := fair(t, rawmcp.Legacy, "confined-all", nil, start{}, "--confine=require"); err != nil {
		t.Error(err)
	}
}

// TestAttacksConfined runs cases that need no special process again, with the process confined: all with RB_LONG=1, else its
// part.
func TestAttacksConfined(t *testing.T) {
	landlock(t)
	runAttacks(t, surroundings{name: "confined", dir: base, version: rawmcp.Legacy, confine: "require", only: confinable,
		part: shared(t, "confined")})
}

// confinable are the cases that need nothing of the process and whose roots are there when it starts: what is not, or is
// another then, is not in the confinement.
func confinable(a attack) bool {
	switch {
	case a.Kind != "static" && a.Kind != "name", a.API == "relative", a.Operation == "search":
		return false
	case a.hasStep("roots", ""), a.hasStep("refresh", ""), a.ID == "root-is-file":
		return false
	}
	return true
}
