package decision

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTuneJSONL: another policy holds for the next record, another size for the next write, and a word that is none changes
// nothing.
func TestTuneJSONL(t *testing.T) {
	s, path := openIn(t, JSONLOptions{Sync: SyncNever, Flush: time.Hour})
	there := func() string {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	s.Completed(record("held"))
	if there() != "" {
		t.Fatal("it was written at once")
	}
	if err := s.Tune("sometimes", 0, 0); err == nil || s.policy() != SyncNever {
		t.Errorf("a word that is none: %v, %s", err, s.policy())
	}
	if err := s.Tune(SyncAlways, 0, 0); err != nil {
		t.Fatal(err)
	}
	s.Completed(record("waited"))
	if got := there(); !strings.Contains(got, "held") || !strings.Contains(got, "waited") {
		t.Errorf("always: %q", got)
	}
	if err := s.Tune(SyncAlways, 1, 1); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		s.Completed(record(id))
	}
	all, err := filepath.Glob(path + "*")
	if err != nil || len(all) != 2 || strings.Count(there(), "\n") != 1 {
		t.Errorf("files %v, in the last %q", all, there())
	}
}
