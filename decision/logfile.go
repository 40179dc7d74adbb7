package decision

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// logFile is what is needed of *os.File.
type logFile interface {
	io.WriteCloser
	Sync() error
	Stat() (fs.FileInfo, error)
}

// logWriter writes whole lines to the file at a path, follows it when another process sets it aside, and sets it aside
// itself when it is full. Not safe for concurrent use.
type logWriter struct {
	path    string
	opt     JSONLOptions
	file    logFile
	info    fs.FileInfo // identity of file
	torn    bool        // the file may end in the middle of a line
	retry   []byte      // whole lines of failed writes
	dropped uint64      // lines given up since the last success
	buf     []byte      // for the next batch
}

func openLog(path string, o JSONLOptions) (*logWriter, error) {
	if o.open == nil {
		o.open = openAppend
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	w := &logWriter{path: abs, opt: o}
	return w, w.reopen()
}

func openAppend(path string) (logFile, error) {
	// Asked before, because opening a FIFO would wait for a reader.
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

func (w *logWriter) reopen() error {
	if w.file != nil {
		w.file.Close()
		w.file = nil
	}
	f, err := w.opt.open(w.path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	w.file, w.info = f, info
	w.torn = info.Size() > 0 && !endsLine(w.path, info.Size())
	if w.opt.Sync != SyncNever {
		syncDir(filepath.Dir(w.path)) // the name must last as long as what stands under it; not every system can
	}
	return nil
}

// endsLine reports whether the file's last byte ends a line. If it cannot be read, it is taken as cut: a blank line does
// no harm.
func endsLine(path string, size int64) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], size-1); err != nil {
		return false
	}
	return b[0] == '\n'
}

func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

func (w *logWriter) pending() bool { return len(w.retry) > 0 || w.dropped > 0 }

func (w *logWriter) spare() []byte { b := w.buf; w.buf = nil; return b }

func (w *logWriter) reuse(b []byte) {
	if cap(b) <= 2*holdSize {
		w.buf = b
	}
}

// write appends lines, after what an earlier failure left. What cannot be written is kept for the next time, up to
// holdSize; lost makes the line that tells how many were given up.
func (w *logWriter) write(lines []byte, sync bool, lost func(uint64) []byte) error {
	if len(lines) == 0 && !w.pending() && !sync {
		return nil
	}
	data := lines
	if w.pending() {
		data = append([]byte(nil), w.retry...)
		if w.dropped > 0 {
			data = append(data, lost(w.dropped)...)
			w.dropped = 0
		}
		data = append(data, lines...)
	}
	err := w.prepare(int64(len(data)))
	if err == nil {
		var n int
		n, err = w.put(data)
		data = data[n:]
		if err == nil {
			w.retry = nil
			if sync {
				err = w.file.Sync()
			}
			return err
		}
	}
	w.keep(data, lines)
	return err
}

// put writes data and returns how many bytes of whole lines arrived.
func (w *logWriter) put(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	out, lead := data, 0
	if w.torn {
		out, lead = append([]byte{'\n'}, data...), 1
	}
	n, err := w.file.Write(out)
	if err == nil {
		w.torn = false
		return len(data), nil
	}
	if n == 0 {
		return 0, err
	}
	n -= lead
	if data[n] == '\n' {
		w.torn = true // only the line's end is missing, which the next write begins with
		return n + 1, err
	}
	whole := bytes.LastIndexByte(data[:n], '\n') + 1
	w.torn = whole != n
	return whole, err
}

// keep holds the unwritten lines for a retry, or gives up those of the last call if there are too many.
func (w *logWriter) keep(unwritten, last []byte) {
	if len(unwritten) > holdSize {
		cut := max(len(unwritten)-len(last), 0)
		w.dropped += uint64(bytes.Count(unwritten[cut:], []byte{'\n'}))
		unwritten = unwritten[:cut]
	}
	w.retry = append([]byte(nil), unwritten...)
}

// prepare makes sure that the open file is the one at the path and has room for n bytes.
func (w *logWriter) prepare(n int64) error {
	st, err := os.Stat(w.path)
	if w.file == nil || err != nil || !os.SameFile(st, w.info) {
		if err := w.reopen(); err != nil {
			return err
		}
		w.told()
		st = w.info
	}
	if w.opt.MaxSize <= 0 || st.Size() == 0 || st.Size()+n <= w.opt.MaxSize {
		return nil
	}
	return w.rotate()
}

// rotate sets the file aside under a name that no other process chooses, so that two processes doing it at once lose
// nothing: at worst one of them sets an almost empty file aside.
func (w *logWriter) rotate() error {
	if w.opt.Sync != SyncNever {
		if err := w.file.Sync(); err != nil {
			return err
		}
	}
	w.file.Close()
	w.file = nil
	aside := fmt.Sprintf("%s.%s.%d", w.path, time.Now().UTC().Format(stampLayout), os.Getpid())
	// If the name cannot be changed the log goes on in the old file: a full log is better than none.
	_ = os.Rename(w.path, aside)
	if err := w.reopen(); err != nil {
		return err
	}
	w.prune()
	w.told()
	return nil
}

const stampLayout = "20060102T150405.000000000Z"

// prune removes the oldest files set aside.
func (w *logWriter) prune() {
	if w.opt.Keep <= 0 {
		return
	}
	dir, base := filepath.Split(w.path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var aside []string
	for _, e := range entries {
		stamp, ok := strings.CutPrefix(e.Name(), base+".")
		if ok && e.Type().IsRegular() && len(stamp) > len(stampLayout) {
			if _, err := time.Parse(stampLayout, stamp[:len(stampLayout)]); err == nil {
				aside = append(aside, e.Name())
			}
		}
	}
	slices.Sort(aside)
	for len(aside) > w.opt.Keep {
		_ = os.Remove(filepath.Join(dir, aside[0]))
		aside = aside[1:]
	}
}

func (w *logWriter) told() {
	if w.opt.Rotated != nil {
		w.opt.Rotated()
	}
}

func (w *logWriter) close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}
