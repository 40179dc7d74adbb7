package state

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rootbound/rootbound/authority/token"
)

// Spent remembers used nonces on disk, for all processes of this user, so that a token is never used twice: not after a
// crash either. It implements token.Spender. One file stands for one nonce and is made in one step that fails where it
// exists; it holds when it may be forgotten. Safe for concurrent use.
type Spent struct {
	dir string
	now func() time.Time
	max int // files; a full store refuses

	mu    sync.Mutex
	swept time.Time
	left  int // files there may still be made before the next sweep
}

const (
	maxSpent  = 1 << 16
	spentFor  = 30 * 24 * time.Hour // the longest life of a token, and how long a file that tells nothing is kept
	sweepEach = time.Minute
	whole     = " ms\n" // ends each file: a time that was cut is no time
)

// Spent opens the store of used nonces.
func (d *Dir) Spent() (*Spent, error) {
	dir, err := d.sub("spent")
	if err != nil {
		return nil, err
	}
	return &Spent{dir: dir, now: time.Now, max: maxSpent}, nil
}

// Spend returns nil once for each nonce of this user, token.ErrSpent after that, and any other error where the nonce is not
// certain to be on disk: full, unwritable, 65,536 nonces that have not expired, or an expiry more than 30 days ahead. Then
// what the token allows must not happen. It costs two fsyncs.
func (s *Spent) Spend(nonce string, until time.Time) error {
	now := s.now()
	if nonce == "" || until.Sub(now) > spentFor {
		return errors.New("the nonce cannot be remembered")
	}
	if err := s.room(now); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(nonce))
	path := filepath.Join(s.dir, hex.EncodeToString(sum[:]))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return token.ErrSpent
	}
	if err != nil {
		return fmt.Errorf("the nonce cannot be remembered: %w", err)
	}
	_, err = f.WriteString(strconv.FormatInt(until.UnixMilli(), 10) + whole)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = SyncDir(s.dir)
	}
	if err != nil { // the caller refuses, so the token may be tried again
		_ = os.Remove(path)
		return fmt.Errorf("the nonce cannot be remembered: %w", err)
	}
	return nil
}

// room sweeps what has expired, once a minute and when the store may be full.
func (s *Spent) room(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left > 0 && now.Sub(s.swept) < sweepEach {
		s.left--
		return nil
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("the store of used nonces: %w", err)
	}
	kept := 0
	for _, e := range entries {
		path := filepath.Join(s.dir, e.Name())
		if !expired(path, now) || os.Remove(path) != nil {
			kept++
		}
	}
	s.swept = now
	if s.left = s.max - kept - 1; s.left < 0 {
		return errors.New("too many used nonces have not expired yet")
	}
	return nil
}

// expired reports whether a file may go. One without a time is of a process that died while it wrote, or was tampered with.
func expired(path string, now time.Time) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	number, ok := strings.CutSuffix(string(text), whole)
	ms, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil {
		st, err := os.Lstat(path)
		return err == nil && now.Sub(st.ModTime()) > spentFor
	}
	return !now.Before(time.UnixMilli(ms))
}
