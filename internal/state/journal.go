package state

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/rootbound/rootbound/beneath"
)

// Journal remembers the temporary files of this process in a file that is locked as long as the process lives. It is
// written before a temporary file gets content and is not synced: it is there for processes that die, and what a power
// cut leaves behind has a name that tells what it is. Safe for concurrent use.
type Journal struct {
	path string
	head string // first line

	mu   sync.Mutex
	file *os.File
	size int64
	live int
	next uint64
}

const (
	journalMagic = "rootbound-journal 1"
	journalTrim  = 32 << 10 // bytes after which a journal without live entries is emptied
)

// Journal makes this process's journal.
func (d *Dir) Journal() (*Journal, error) {
	dir, err := d.sub("journal")
	if err != nil {
		return nil, err
	}
	for {
		j, err := newJournal(filepath.Join(dir, rand.Text()))
		if !errors.Is(err, errBusy) {
			return j, err
		}
	}
}

// newJournal returns errBusy if a recovering process took the file for a dead one before it could be locked.
func newJournal(path string) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	j := &Journal{path: path, file: f, head: journalMagic + " " + bootID() + "\n"}
	if err = tryWhole(f); err == nil && !isAt(f, path) {
		err = errBusy
	}
	if err == nil {
		err = j.write(j.head)
	}
	if err != nil {
		f.Close()
		if !errors.Is(err, errBusy) {
			os.Remove(path)
		}
		return nil, err
	}
	return j, nil
}

// isAt reports whether path still names the open file.
func isAt(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}

// bootID tells boots apart: device numbers may change from one to the next. "-" where it cannot be known.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if id := strings.TrimSpace(string(b)); err == nil && id != "" && !strings.ContainsAny(id, " \n") {
		return id
	}
	return "-"
}

// Staged remembers the temporary file or tree name with identity id in the directory dir below root, before it has content. old is
// the file it is to replace, or nil: publishing exchanges the two, so for a moment the old file lies under the temporary
// name. done forgets the name; call it when it is gone. An error means that the file must not be used.
func (j *Journal) Staged(root, dir, name string, id beneath.ObjectID, old *beneath.Info) (done func(), err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := j.next
	var was beneath.Info
	if old != nil {
		was = *old
	}
	line := fmt.Appendf(nil, "+ %d %d %d %d %d %d ", n, id.Dev, id.Ino, was.ID.Ino, was.Size, was.MTime.UnixNano())
	for _, s := range []string{root, dir, name} {
		line = append(strconv.AppendQuote(line, s), ' ')
	}
	line[len(line)-1] = '\n'
	if err := j.write(string(line)); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j.next++
	j.live++
	return sync.OnceFunc(func() { j.done(n) }), nil
}

func (j *Journal) done(n uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.live--
	if j.live == 0 && j.size > journalTrim && j.file.Truncate(0) == nil {
		j.size = 0
		_ = j.write(j.head) // without a head the file counts as empty, which it is
		return
	}
	// If this cannot be written the entry outlives its file, and recovery finds nothing to remove.
	_ = j.write("- " + strconv.FormatUint(n, 10) + "\n")
}

// write leaves no torn line behind: what a full disk cut is taken back.
func (j *Journal) write(line string) error {
	n, err := j.file.WriteString(line)
	if err != nil && n > 0 {
		if terr := j.file.Truncate(j.size); terr != nil {
			j.size += int64(n)
		}
		return err
	}
	j.size += int64(n)
	return err
}

// Close removes the journal if nothing is staged, and leaves it to recovery otherwise.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if j.live == 0 {
		err = os.Remove(j.path)
	}
	return errors.Join(err, j.file.Close())
}
