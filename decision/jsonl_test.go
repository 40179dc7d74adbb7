package decision

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
)

func record(id string) *Record {
	return &Record{ID: id, Phase: Decided, Time: time.Unix(1, 0), Operation: rootbound.OpWrite, PathSent: "a/b.txt", Decision: Allow, Enforced: true}
}

func openIn(t testing.TB, o JSONLOptions) (*JSONL, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	s, err := OpenJSONL(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, path
}

// ids reads the log, with the files set aside first.
func ids(t testing.TB, path string) (out []string, broken int) {
	t.Helper()
	files, err := filepath.Glob(path + ".*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, path) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n, err := Read(bytes.NewReader(b), func(r *Record) error { out = append(out, r.ID); return nil })
		if err != nil {
			t.Fatal(err)
		}
		broken += n
	}
	return out, broken
}

func wantIDs(t testing.TB, path string, want ...string) {
	t.Helper()
	if got, broken := ids(t, path); fmt.Sprint(got) != fmt.Sprint(want) || broken != 0 {
		t.Errorf("log holds %v and %d broken lines, want %v", got, broken, want)
	}
}

func TestJSONLOrder(t *testing.T) {
	s, path := openIn(t, JSONLOptions{Flush: time.Hour})
	if err := s.Decided(record("read"), false); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, path) // held back
	if err := s.Decided(record("write"), true); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, path, "read", "write") // and never behind a mutation that came later
	s.Completed(record("done"))
	s.Event(record("event"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, path, "read", "write", "done", "event")
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	err := s.Decided(record("late"), true)
	var e *rootbound.Error
	if !errors.As(err, &e) || e.Reason != rootbound.AuditUnavailable {
		t.Errorf("a mutation after Close: %v", err)
	}
	if err := s.Decided(record("late"), false); err != nil {
		t.Errorf("a read after Close: %v", err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestJSONLFlushesInTime(t *testing.T) {
	f := newFake()
	s, _ := openIn(t, JSONLOptions{Flush: time.Millisecond, open: f.open})
	s.Completed(record("read"))
	if got := <-f.wrote; !strings.Contains(got, `"read"`) {
		t.Errorf("wrote %q", got)
	}
	s, _ = openIn(t, JSONLOptions{Flush: time.Hour, open: f.open})
	for range flushSize / 200 {
		s.Completed(record("many"))
	}
	<-f.wrote // enough of them do not wait for the time
}

func TestJSONLSyncs(t *testing.T) {
	for _, c := range []struct {
		policy           Durability
		read, mutation   int64
		completed, close int64
	}{{SyncNever, 0, 0, 0, 0}, {SyncMutations, 0, 1, 1, 2}, {SyncAlways, 1, 2, 3, 3}} {
		f := newFake()
		s, _ := openIn(t, JSONLOptions{Sync: c.policy, Flush: time.Hour, open: f.open})
		check := func(what string, want int64) {
			t.Helper()
			if got := f.syncs.Load(); got != want {
				t.Errorf("%s, after %s: %d syncs, want %d", c.policy, what, got, want)
			}
		}
		s.Decided(record("r"), false)
		check("a read", c.read)
		s.Decided(record("w"), true)
		check("a mutation", c.mutation)
		if !strings.Contains(f.text(), `"w"`) {
			t.Errorf("%s: a mutation was not written before it was allowed", c.policy)
		}
		s.Completed(record("w"))
		check("completed", c.completed)
		s.Close()
		check("Close", max(c.close, f.syncs.Load())) // whether there is something left to sync depends on the time
	}
	if _, err := OpenJSONL(filepath.Join(t.TempDir(), "x"), JSONLOptions{Sync: "sometimes"}); err == nil {
		t.Error("an unknown policy was accepted")
	}
}

// TestJSONLGroupsSyncs: mutations that come while a sync is under way share the next one.
func TestJSONLGroupsSyncs(t *testing.T) {
	f := newFake()
	f.gate = make(chan struct{})
	f.syncing = make(chan struct{}, 1)
	s, _ := openIn(t, JSONLOptions{open: f.open})
	first := make(chan error)
	go func() { first <- s.Decided(record("first"), true) }()
	<-f.syncing
	const n = 50
	others := make(chan error, n)
	for i := range n {
		go func() { others <- s.Decided(record(fmt.Sprint(i)), true) }()
	}
	// All of them have appended when the batch that takes lines holds them.
	for lines := 0; lines < n; {
		s.mu.Lock()
		lines = bytes.Count(s.open.lines, []byte("\n"))
		s.mu.Unlock()
	}
	select {
	case err := <-others:
		t.Fatalf("a mutation was allowed before its sync: %v", err)
	default:
	}
	f.gate <- struct{}{}
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	<-f.syncing
	f.gate <- struct{}{}
	for range n {
		if err := <-others; err != nil {
			t.Fatal(err)
		}
	}
	if got := f.syncs.Load(); got != 2 {
		t.Errorf("%d syncs for 1 and %d mutations, want 2", got, n)
	}
	close(f.gate)
}

func TestJSONLTroubles(t *testing.T) {
	f := newFake()
	var troubles []error
	s, _ := openIn(t, JSONLOptions{Flush: time.Hour, open: f.open, Trouble: func(err error) { troubles = append(troubles, err) }})
	if err := s.Decided(record("good"), true); err != nil {
		t.Fatal(err)
	}
	f.fail(syscall.ENOSPC, 0)
	for _, id := range []string{"w1", "w2"} {
		err := s.Decided(record(id), true)
		var e *rootbound.Error
		if !errors.As(err, &e) || e.Reason != rootbound.AuditUnavailable || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("a mutation on a full disk: %v", err)
		}
	}
	if err := s.Decided(record("r1"), false); err != nil {
		t.Errorf("a read on a full disk: %v", err)
	}
	if err := s.Flush(); err == nil {
		t.Error("Flush does not tell")
	}
	f.fail(nil, 0)
	if err := s.Decided(record("w3"), true); err != nil {
		t.Errorf("after the trouble: %v", err)
	}
	want := []string{"good", "w1", "w2", "r1", "w3"} // refused mutations keep their place: decided, and not done
	if got := f.ids(t); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if len(troubles) != 2 || troubles[0] == nil || troubles[1] != nil {
		t.Errorf("troubles told: %v", troubles)
	}

	// A sync that fails refuses the mutations that waited for it, and no later success takes that back.
	f.failSync(syscall.EIO)
	if err := s.Decided(record("w4"), true); !errors.Is(err, syscall.EIO) {
		t.Errorf("a failed sync: %v", err)
	}
	f.failSync(nil)
	if err := s.Decided(record("w5"), true); err != nil {
		t.Error(err)
	}
}

func TestJSONLPartialWrites(t *testing.T) {
	whole := len(record("w1").AppendJSON(nil)) + 1
	for _, cut := range []int{1, 20, whole - 1, whole, whole + 1} {
		f := newFake()
		s, _ := openIn(t, JSONLOptions{Flush: time.Hour, open: f.open})
		s.Completed(record("w1"))
		f.fail(syscall.ENOSPC, cut)
		if err := s.Decided(record("w2"), true); err == nil {
			t.Error("a cut write was taken as done")
		}
		f.fail(nil, 0)
		if err := s.Decided(record("w3"), true); err != nil {
			t.Error(err)
		}
		if got := f.ids(t); fmt.Sprint(got) != "[w1 w2 w3]" {
			t.Errorf("cut after %d bytes: %v\n%s", cut, got, f.text())
		}
	}
}

func TestJSONLCountsWhatItLoses(t *testing.T) {
	f := newFake()
	s, _ := openIn(t, JSONLOptions{Flush: time.Hour, open: f.open})
	f.fail(syscall.ENOSPC, 0)
	const n = 3 * holdSize / 200
	for i := range n {
		s.Completed(record(fmt.Sprint(i)))
	}
	s.io.Lock()
	s.mu.Lock()
	if held := len(s.open.lines) + len(s.log.retry); held > 3*holdSize {
		t.Errorf("%d bytes are held", held)
	}
	s.mu.Unlock()
	s.io.Unlock()
	f.fail(nil, 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var kept, lost int
	Read(strings.NewReader(f.text()), func(r *Record) error {
		if r.Phase == Dropped {
			var n int
			fmt.Sscanf(r.Note, "%d records could not be written", &n)
			lost += n
			return nil
		}
		kept++
		return nil
	})
	if lost == 0 || kept+lost != n {
		t.Errorf("%d kept, %d told as lost, of %d", kept, lost, n)
	}
}

func BenchmarkJSONLRead(b *testing.B) {
	s, _ := openIn(b, JSONLOptions{})
	r := samples()["read-decided"]
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Decided(r, false); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJSONLMutation(b *testing.B) {
	s, _ := openIn(b, JSONLOptions{})
	r := samples()["move-decided"]
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := s.Decided(r, true); err != nil {
				b.Error(err)
			}
		}
	})
}
