//go:build unix

package guard_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
)

// What a refusal says is the same whether something exists outside or not, and names nothing of the host.
func TestG17ErrorsRevealNothing(t *testing.T) {
	h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.Full))
	h.file("p/d/f", "in")
	h.file("p/.env", "s")
	h.file("out/secret-name", "OUT")
	h.file("p/.ssh/id", "s")
	h.file("p/locked/x", "x")
	h.link("p/keys", ".ssh")
	h.link("p/exists", "../out/secret-name")
	h.link("p/missing", "../out/nothing-here")
	h.link("p/dir", "../out")
	h.link("p/abs", filepath.Join(h.dir, "out/secret-name"))
	h.link("p/absent", filepath.Join(h.dir, "out/nothing-here"))
	h.link("p/dot", "d/../../out/secret-name")
	h.link("p/loop", "loop")
	h.link("p/proc", "/proc/self/environ")
	mkfifo(t, filepath.Join(h.dir, "p/fifo"))
	if err := os.Chmod(filepath.Join(h.dir, "p/locked"), 0); err != nil {
		t.Fatal(err)
	}
	text := func(op rootbound.Operation, path, dest string) string {
		t.Helper()
		err := h.do(guard.Request{Op: op, Path: path, Dest: dest}, nil)
		if err == nil {
			return ""
		}
		var e *rootbound.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s %s: %v is no refusal", op, path, err)
		}
		for _, host := range []string{h.dir, "secret-name", "nothing-here", "environ", "/proc"} {
			if strings.Contains(e.Error(), host) && !strings.Contains(path, host) && !strings.Contains(dest, host) {
				t.Errorf("%s %s: shows %q: %s", op, path, host, e)
			}
		}
		s := strings.ReplaceAll(e.Error(), rootbound.Quote(path), "PATH")
		return strings.ReplaceAll(s, rootbound.Quote(dest), "DEST")
	}
	ops := []rootbound.Operation{rootbound.OpRead, rootbound.OpStat, rootbound.OpList, rootbound.OpTree, rootbound.OpSearch, rootbound.OpWrite, rootbound.OpCreate, rootbound.OpEdit, rootbound.OpMkdir}
	for _, op := range ops {
		for _, same := range [][2]string{
			{"../out/secret-name", "../out/nothing-here"}, {h.dir + "/out/secret-name", h.dir + "/out/nothing-here"},
			{"exists", "missing"}, {"abs", "absent"}, {"dir/secret-name", "dir/nothing-here"}, {"dir/x/y", "dir/secret-name/y"},
			{".env", ".env.none"}, {"keys/id", "keys/none"},
		} {
			a, b := text(op, same[0], ""), text(op, same[1], "")
			if a == "" || a != b {
				t.Errorf("%s tells %q from %q:\n%s\n%s", op, same[0], same[1], a, b)
			}
		}
		for _, p := range []string{"dot", "loop", "proc", "fifo", "d/f/", "d/f/x", "", "..", "d/none/x", "~/x", "%2e%2e/x", "a\x00b", strings.Repeat("n", 300), "locked/x"} {
			text(op, p, "")
		}
	}
	for _, same := range [][2]string{{"../out/secret-name", "../out/nothing-here"}, {"dir/secret-name", "dir/nothing-here"}, {h.dir + "/out/secret-name", h.dir + "/out/none"}} {
		if a, b := text(rootbound.OpMove, same[0], "x"), text(rootbound.OpMove, same[1], "x"); a == "" || a != b {
			t.Errorf("move from %q and %q:\n%s\n%s", same[0], same[1], a, b)
		}
		if a, b := text(rootbound.OpMove, "d/f", same[0]), text(rootbound.OpMove, "d/f", same[1]); a == "" || a != b {
			t.Errorf("move to %q and %q:\n%s\n%s", same[0], same[1], a, b)
		}
	}
}

// Climbing out of a denied directory tells nothing about it: neither whether it exists nor what a link reaches.
func TestClimbingOutOfADeniedNameRevealsNothing(t *testing.T) {
	h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.Full))
	h.file("p/d/f", "in")
	h.file("p/.ssh/id", "s")
	h.link("p/keys", ".ssh")
	for _, path := range []string{".ssh/../d/f", ".aws/../d/f", "d/../.ssh/../d/f", "d/.ssh/../f", ".SSH/./..//d/f", "keys/../d/f"} {
		for _, op := range []rootbound.Operation{rootbound.OpRead, rootbound.OpStat, rootbound.OpWrite, rootbound.OpEdit, rootbound.OpMkdir} {
			refused(t, path, h.do(guard.Request{Op: op, Path: path}, nil), rootbound.RuleDenied)
		}
		refused(t, path, h.do(guard.Request{Op: rootbound.OpMove, Path: path, Dest: "d/g"}, nil), rootbound.RuleDenied)
		refused(t, path, h.do(guard.Request{Op: rootbound.OpMove, Path: "d/f", Dest: path + "x"}, nil), rootbound.RuleDenied)
	}
	for _, path := range []string{"d/../d/f", "d/./../d/f", "d/.././d/f"} {
		if got, err := h.read(path); err != nil || got != "in" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	refused(t, "climbs", h.do(guard.Read(strings.Repeat("d/../", 100)+"d/f"), nil), rootbound.LimitReached)
}
