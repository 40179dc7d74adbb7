package decision

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rootbound/rootbound/internal/rig"
)

func TestJSONLRefuses(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, dir, filepath.Join(dir, "missing", "audit.jsonl"), os.DevNull} {
		if s, err := OpenJSONL(path, JSONLOptions{}); err == nil {
			s.Close()
			t.Errorf("%s was taken as a log", path)
		}
	}
}

func TestJSONLOnAFullDisk(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	dir := t.TempDir()
	rig.Tmpfs(t, dir, 64<<10)
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 40<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "audit.jsonl")
	s, err := OpenJSONL(path, JSONLOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	for ; err == nil && n < 1000; n++ {
		err = s.Decided(record(fmt.Sprint(n)), true)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("after %d records: %v", n, err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := s.Decided(record(fmt.Sprint(n)), true); err != nil {
		t.Fatal(err)
	}
	if got, _ := ids(t, path); len(got) != n+1 {
		t.Errorf("%d of %d records", len(got), n+1)
	}
}
