package token

import (
	"errors"
	"sync"
	"time"
)

// ErrSpent is a nonce that was used before: a replay of a mutation.
var ErrSpent = errors.New("token: spent before")

// Spender remembers nonces until their tokens have expired, so that a mutation is never replayed. Spend returns nil once
// for each nonce, ErrSpent after that, and any other error where it cannot remember: then the mutation must not happen.
// An implementation that outlives the process must have the nonce on disk before it returns. Safe for concurrent use.
type Spender interface {
	Spend(nonce string, until time.Time) error
}

// maxSpent bounds the memory of a Memory; each entry lives until its token expires.
const maxSpent = 1 << 16

// Memory is a Spender for tokens whose key dies with the process. The zero value is ready.
type Memory struct {
	mu    sync.Mutex
	spent map[string]time.Time
	swept time.Time
}

// Spend implements Spender. It refuses when 65,536 nonces are waiting for their expiry: nothing is forgotten early.
func (m *Memory) Spend(nonce string, until time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.spent == nil {
		m.spent = map[string]time.Time{}
	}
	if len(m.spent) >= maxSpent || now.Sub(m.swept) > time.Minute {
		for n, t := range m.spent {
			if !now.Before(t) {
				delete(m.spent, n)
			}
		}
		m.swept = now
	}
	if _, ok := m.spent[nonce]; ok {
		return ErrSpent
	}
	if nonce == "" || len(m.spent) >= maxSpent {
		return errors.New("token: the nonce cannot be remembered")
	}
	m.spent[nonce] = until
	return nil
}
