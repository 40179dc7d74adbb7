package decision

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
)

// partVar names the log that this program, started anew, appends to until it is killed.
const partVar = "ROOTBOUND_TEST_LOG"

func TestMain(m *testing.M) {
	if path := os.Getenv(partVar); path != "" {
		s, err := OpenJSONL(path, JSONLOptions{MaxSize: 20_000, Flush: time.Millisecond})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("open")
		for i := 0; ; i++ {
			id := fmt.Sprintf("%s-%d", os.Args[1], i)
			if i%8 != 0 {
				s.Completed(record(id))
				continue
			}
			if err := s.Decided(record(id), true); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println(id) // acknowledged
		}
	}
	os.Exit(m.Run())
}

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

func TestJSONLTornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	line := append(record("old").AppendJSON(nil), '\n')
	if err := os.WriteFile(path, append(line, line[:40]...), 0o640); err != nil {
		t.Fatal(err)
	}
	s, err := OpenJSONL(path, JSONLOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Decided(record("new"), true); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if got, broken := ids(t, path); fmt.Sprint(got) != "[old new]" || broken != 1 {
		t.Errorf("%v, %d broken", got, broken)
	}
}

func TestJSONLRotates(t *testing.T) {
	var told atomic.Int64
	s, path := openIn(t, JSONLOptions{MaxSize: 2000, Keep: 3, Rotated: func() { told.Add(1) }})
	other := path + ".notes" // not a file of the log
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const n = 60
	for i := range n {
		if err := s.Decided(record(fmt.Sprint(i)), true); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	if _, err := os.Stat(other); err != nil {
		t.Error("a file that only looks like one of the log was removed")
	}
	os.Remove(other)
	files, _ := filepath.Glob(path + "*")
	if len(files) != 4 || told.Load() < 4 {
		t.Errorf("%d files, told %d times: %v", len(files), told.Load(), files)
	}
	for _, f := range files {
		if st, err := os.Stat(f); err != nil || st.Size() > 2000 || st.Size() == 0 || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d bytes, %v, %v", f, st.Size(), st.Mode(), err)
		}
	}
	got, broken := ids(t, path)
	var want []string
	for i := n - len(got); i < n; i++ {
		want = append(want, fmt.Sprint(i))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || broken != 0 {
		t.Errorf("the newest records in their order: %v", got)
	}
}

func TestJSONLFollowsItsPath(t *testing.T) {
	s, path := openIn(t, JSONLOptions{})
	if err := s.Decided(record("1"), true); err != nil {
		t.Fatal(err)
	}
	for _, move := range []func() error{
		func() error { return os.Rename(path, path+".moved") }, // what logrotate does
		func() error { return os.Remove(path) },
	} {
		if err := move(); err != nil {
			t.Fatal(err)
		}
		if err := s.Decided(record("2"), true); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil || bytes.Count(b, []byte("\n")) != 1 {
			t.Errorf("%q, %v", b, err)
		}
	}
}

// TestJSONLManyProcessesKilled: two processes share and rotate one log and are killed; what was acknowledged is there.
func TestJSONLManyProcessesKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var wg sync.WaitGroup
	acked := make([][]string, 2)
	for i := range acked {
		cmd := exec.Command(os.Args[0], fmt.Sprint("p", i))
		cmd.Env = append(os.Environ(), partVar+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			buf := make([]byte, 1<<16)
			var said []byte
			for bytes.Count(said, []byte("\n")) < 60 {
				n, err := out.Read(buf)
				said = append(said, buf[:n]...)
				if err != nil {
					break
				}
			}
			cmd.Process.Kill()
			rest, _ := io.ReadAll(out)
			cmd.Wait()
			lines := strings.Split(string(append(said, rest...)), "\n")
			acked[i] = lines[1 : len(lines)-1] // the first says that it is open, the last may be cut
		})
	}
	wg.Wait()
	got, _ := ids(t, path)
	there := make(map[string]bool)
	for _, id := range got {
		if there[id] {
			t.Errorf("record %s is there twice", id)
		}
		there[id] = true
	}
	for i, list := range acked {
		if len(list) < 50 {
			t.Fatalf("process %d: %q", i, list)
		}
		for _, id := range list {
			if !there[id] {
				t.Errorf("acknowledged record %s is missing", id)
			}
		}
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
