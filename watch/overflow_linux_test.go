package watch

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rootbound/rootbound/beneath"
)

// heldUp is a notifier whose reader can be held.
type heldUp struct {
	*beneath.Notifier
	gate sync.RWMutex
}

func (h *heldUp) Next(tell func(beneath.Notice)) error {
	h.gate.RLock()
	h.gate.RUnlock() //nolint:staticcheck // only to wait
	return h.Notifier.Next(tell)
}

// The kernel's queue overflows while the reader is held. Everybody is told to read again, also whose notices were not lost, for
// nobody can know; what appeared unseen is watched from then on; nothing hidden or outside is told by that, and it ends.
func TestKernelQueueOverflows(t *testing.T) {
	w := newWorld(t)
	w.do("file ws/f 1", "file ws/hidden 1", "mkdir ws/quiet", "file ws/d/g 1")
	n, err := beneath.NewNotifier()
	must(t, err)
	h := &heldUp{Notifier: n}
	in := newWith(h, Options{})
	t.Cleanup(in.Close)
	all, tree := w.watch(in, "", true, hiding("hidden"))
	_, file := w.watch(in, "d/g", false, nil)
	_, quiet := w.watch(in, "quiet", false, nil)

	b, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	must(t, err)
	most, err := strconv.Atoi(strings.TrimSpace(string(b)))
	must(t, err)
	h.gate.Lock()
	for i := range most + 8192 { // what the reader may have read already is one buffer; two files, or they would be merged
		must(t, os.Chmod(w.dir+[]string{"/ws/hidden", "/ws/f"}[i%2], 0o600+os.FileMode(i/2%2)))
	}
	w.do("file ws/new/deep/f 1", "file out/new x", "mv ws/d ws/e") // of which there are no notices
	began := time.Now()
	h.gate.Unlock()

	var told []Event
	told = append(told, tree.until(Event{Kind: Overflow})...)
	quiet.until(Event{Kind: Overflow})
	file.eventually(func(all []Event) bool { return len(all) > 0 && all[len(all)-1].Kind == Ended }, func() string { return "the moved file's watch goes on" })
	told = append(told, w.hears(all, tree, "ws/new/deep/f", "new/deep/f")...)
	told = append(told, w.hears(all, tree, "ws/e/g", "e/g")...)
	all.rests()
	for _, e := range told {
		if strings.Contains(e.Rel, "hidden") || strings.Contains(e.Rel, "out") {
			t.Errorf("told %+v", e)
		}
	}
	if n, bound := len(told), 50+4*int(time.Since(began)/leastWait); n > bound { // a flood is told as few: Overflow once in leastWait, and what came first
		t.Errorf("%d events were told of one overflow, where %d may be", n, bound)
	}
	w.do("file ws/quiet/x 1")
	quiet.until(Event{Rel: "x", Kind: Changed})
}
