package beneath_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// TestMovedOutIsUndone moves the parent out of the root and back while files are made in it: what was answered with
// moved_out is not there afterwards, wherever the parent is. It logs how often that happened and how long the check
// takes that follows the effect, which is the window SECURITY.md speaks of.
func TestMovedOutIsUndone(t *testing.T) {
	base := t.TempDir()
	in, out := filepath.Join(base, "root", "a", "p"), filepath.Join(base, "outside")
	if err := os.MkdirAll(in, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := beneath.OpenRoot(filepath.Join(base, "root"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Release()
	set := beneath.NewSet([]beneath.Member{{Root: root}}, nil)

	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	if _, err := unix.InotifyAddWatch(watch, in, unix.IN_MOVED_TO); err != nil { // it follows the directory
		t.Fatal(err)
	}
	seen := map[string]bool{} // names that stood in the parent for a moment at least

	stop, ended := make(chan struct{}), make(chan error, 1)
	var moves atomic.Int64
	move := func(from, to string) error {
		defer moves.Add(1)
		return os.Rename(from, to)
	}
	go func() { // the attacker; it ends with the parent inside
		for {
			if err := errors.Join(move(in, out), move(out, in)); err != nil {
				ended <- err
				return
			}
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
		}
	}()

	var made, undone []string
	var took []time.Duration
	stood := 0
	// moved waits until the parent was moved so often: a busy machine may leave the attacker no time.
	moved := func(times int64) {
		for until := moves.Load() + times; moves.Load() < until && len(ended) == 0; {
			runtime.Gosched()
		}
	}
	const wanted, free = 50, 20_000 // tries without a wait, which most often meet the moment behind the effect
	for n := 0; (len(made) < wanted || len(undone) < wanted) && len(ended) == 0; n++ {
		name := fmt.Sprintf("f%d", n)
		staged := func() {}
		if n >= free {
			moved(1)
			staged = func() { moved(int64(n % 3)) }
		}
		err := create(set, "a/p/"+name, &took, staged)
		appeared(t, watch, seen)
		var refusal *rootbound.Error
		switch {
		case err == nil:
			made = append(made, name)
		case !errors.As(err, &refusal):
			t.Fatal(err)
		case refusal.Reason == rootbound.MovedOut:
			undone = append(undone, name)
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for _, name := range undone {
		if _, err := os.Lstat(filepath.Join(in, name)); err == nil {
			t.Errorf("%s is there, and was answered moved_out", name)
		}
	}
	for _, name := range made {
		if _, err := os.Lstat(filepath.Join(in, name)); err != nil {
			t.Errorf("%s is not there, and was answered done: %v", name, err)
		}
	}
	for _, name := range undone {
		if seen[name] {
			stood++
		}
	}
	slices.Sort(took)
	t.Logf("%d made, %d moved_out, %d of these after the effect; the check takes %v (median), %v (99 %%), depth 2", len(made), len(undone), stood, took[len(took)/2], took[len(took)*99/100])
}

// appeared reads which names were put into the watched directory.
func appeared(t *testing.T, watch int, seen map[string]bool) {
	var buf [16 << 10]byte
	for {
		n, err := unix.Read(watch, buf[:])
		if err == unix.EAGAIN {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
			name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:end], []byte{0})
			seen[string(name)] = true
			b = b[end:]
		}
	}
}

func create(set *beneath.Set, path string, took *[]time.Duration, staged func()) error {
	entry, err := set.Entry(beneath.Ref{Path: path}, false)
	if err != nil {
		return err
	}
	defer entry.Close()
	file, err := entry.Stage(nil, func(string, beneath.ObjectID) error { staged(); return nil })
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Publish(nil)
	before := time.Now()
	_ = entry.Inside()
	*took = append(*took, time.Since(before))
	return err
}
