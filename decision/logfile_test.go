package decision

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
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
