package decision

import (
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// fake is a file in memory that fails on demand.
type fake struct {
	syncs   atomic.Int64
	wrote   chan string
	gate    chan struct{} // a sync waits for it
	syncing chan struct{} // a sync waits now

	mu           sync.Mutex
	data         []byte
	err, syncErr error
	failAfter    int
}

func newFake() *fake { return &fake{wrote: make(chan string, 1)} }

// open also makes the file at the path, whose identity is compared.
func (f *fake) open(path string) (logFile, error) {
	real, err := openAppend(path)
	if err != nil {
		return nil, err
	}
	return &fakeFile{f, real}, nil
}

type fakeFile struct {
	*fake
	real logFile
}

func (f *fakeFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		n := min(f.failAfter, len(p))
		f.failAfter = 0
		f.data = append(f.data, p[:n]...)
		return n, f.err
	}
	f.data = append(f.data, p...)
	select {
	case f.wrote <- string(p):
	default:
	}
	return len(p), nil
}

func (f *fakeFile) Sync() error {
	f.syncs.Add(1)
	if f.gate != nil {
		f.syncing <- struct{}{}
		<-f.gate
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.syncErr
}

func (f *fakeFile) Stat() (fs.FileInfo, error) { return f.real.Stat() }

func (f *fakeFile) Close() error { return f.real.Close() }

func (f *fake) fail(err error, after int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.failAfter = err, after
}

func (f *fake) failSync(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.syncErr = err
}

func (f *fake) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.data)
}

func (f *fake) ids(t *testing.T) (out []string) {
	_, err := Read(strings.NewReader(f.text()), func(r *Record) error { out = append(out, r.ID); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return out
}
