package decision

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync/atomic"
)

// IDs makes record ids: 64 random bits of the process in hex, "-", and a counter in base 36. Unique without a lock or a
// system call per id; not a secret. Safe for concurrent use.
type IDs struct {
	prefix string
	n      atomic.Uint64
}

// NewIDs draws the random prefix.
func NewIDs() *IDs {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return &IDs{prefix: hex.EncodeToString(b[:]) + "-"}
}

// Next returns an id that no other call of any process returns.
func (s *IDs) Next() string {
	var b [32]byte
	return string(strconv.AppendUint(append(b[:0], s.prefix...), s.n.Add(1), 36))
}
