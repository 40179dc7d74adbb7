package decision

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestJSONLKeepsOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	s, err := OpenJSONL(path, JSONLOptions{Flush: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	read := Record{ID: "a-1", Phase: Decided, Time: time.Unix(1, 0), Operation: "read", PathSent: "x"}
	if err := s.Decided(&read, false); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); len(b) != 0 {
		t.Fatalf("a read was not held back: %q", b)
	}
	write := Record{ID: "a-2", Phase: Decided, Time: time.Unix(2, 0), Operation: "write", PathSent: "y"}
	if err := s.Decided(&write, true); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, path); len(got) != 2 || got[0] != "a-1" || got[1] != "a-2" {
		t.Fatalf("before Close: %v", got)
	}
	s.Completed(&Record{ID: "a-2", Phase: Completed, Time: time.Unix(3, 0)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, path); len(got) != 3 {
		t.Fatalf("after Close: %v", got)
	}
	if err := s.Decided(&write, true); err == nil {
		t.Fatal("a mutation was accepted after Close")
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", st.Mode(), err)
	}
}

func ids(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	broken, err := Read(f, func(r *Record) error { out = append(out, r.ID); return nil })
	if err != nil || broken != 0 {
		t.Fatalf("%d broken lines, %v", broken, err)
	}
	return out
}
