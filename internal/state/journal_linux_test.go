package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rootbound/rootbound/authority/token"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/internal/rig"
)

func TestJournalOnAFullDisk(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	small := t.TempDir()
	rig.Tmpfs(t, small, 64<<10)
	d, err := Open(env("ROOTBOUND_STATE_DIR", filepath.Join(small, "state")))
	if err != nil {
		t.Fatal(err)
	}
	j, err := d.Journal()
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("n", 250)
	n := 0
	for ; n < 10000; n++ {
		if _, err = j.Staged("/root", "dir", name, beneath.ObjectID{Dev: 1, Ino: uint64(n)}, nil); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("after %d entries: %v", n, err)
	}
	b, err := os.ReadFile(j.path)
	if err != nil || b[len(b)-1] != '\n' {
		t.Errorf("a torn line was left: %q, %v", b[max(0, len(b)-40):], err)
	}
	f, _ := os.Open(j.path)
	defer f.Close()
	if l := leftovers(f); len(l) != n {
		t.Errorf("%d of %d entries can be read", len(l), n)
	}
}

// A nonce that a full disk cannot take is refused, and works once there is room.
func TestSpentOnAFullDisk(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	small := t.TempDir()
	rig.Tmpfs(t, small, 64<<10)
	d, err := Open(env("ROOTBOUND_STATE_DIR", filepath.Join(small, "state")))
	if err != nil {
		t.Fatal(err)
	}
	s := spent(t, d)
	if err := os.WriteFile(filepath.Join(small, "ballast"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	soon := time.Now().Add(time.Hour)
	if err := s.Spend("n", soon); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v", err)
	}
	if err := os.Remove(filepath.Join(small, "ballast")); err != nil {
		t.Fatal(err)
	}
	if err := s.Spend("n", soon); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if err := s.Spend("n", soon); !errors.Is(err, token.ErrSpent) {
		t.Errorf("the second time: %v", err)
	}
}
