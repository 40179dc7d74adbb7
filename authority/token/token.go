// Package token seals and opens the authority token of contract §1: what a plan, a patch or a requestState carries so
// that it is only ever used by whom, for what and under which authority it was made.
//
// A token is text: "rb1." and the unpadded base64url of
//
//	key id (8 bytes) ‖ nonce (12 bytes, random) ‖ AES-256-GCM(claims as JSON; additional data: "rb1." ‖ key id)
//
// The caller sees nothing of the claims and can change nothing of them; there is exactly one text for each sealed token.
// Keys are shared by the replicas of one deployment. A [Ring] seals with its first key and opens with all of them, so a
// key is rotated by putting a new one in front and dropping the old one when its last token has expired.
//
// What Open, Check and Verify refuse falls in four classes, which callers tell apart with errors.Is (what follows from each
// for a repeated call stands in docs/roots.md):
//
//	ErrAskAgain   the key is not ours any more, or the token expired: a restart is normal, start over
//	ErrForged     not made by us, or changed on the way
//	ErrNotThis    ours, but made for another principal, kind, authority, project or request
//	ErrStale      ours and for this request, but of another generation, set of roots or policy
//
// Reasons are for logs; what a peer is told must not depend on more than the class. GCM with random nonces is safe for
// 2^32 tokens a key; rotate long before.
package token

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rootbound/rootbound"
)

// The classes of refusal.
var (
	ErrAskAgain = errors.New("token: cannot be used any more, start over")
	ErrForged   = errors.New("token: not one of ours")
	ErrNotThis  = errors.New("token: made for something else")
	ErrStale    = errors.New("token: made under another generation")
)

// Kind says what a token is for. A token of one kind is never accepted as another.
type Kind string

// The kinds.
const (
	Patch Kind = "patch"
	State Kind = "state" // requestState of 2026-07-28
)

// Claims are what a token binds. A value.
type Claims struct {
	Kind         Kind                 `json:"k"`
	Authority    string               `json:"a"`
	Generation   rootbound.Generation `json:"g"`
	Principal    string               `json:"s,omitempty"`
	Project      rootbound.RootID     `json:"p,omitempty"`
	RootsDigest  string               `json:"r,omitempty"`
	PolicyDigest string               `json:"y,omitempty"`
	PlanDigest   string               `json:"d,omitempty"` // of the plan; for State of method, name and arguments: see Digest
	Expiry       time.Time            `json:"-"`           // to the millisecond
	Nonce        string               `json:"n"`           // made by Seal where empty; unique, spent once for mutations
}

type wire struct {
	Claims
	Expiry int64 `json:"e"` // Unix milliseconds
}

const (
	prefix  = "rb1."
	idLen   = 8
	ivLen   = 12
	tagLen  = 16
	maxText = 8 << 10 // longer than any token we make; bounds the work a stranger can cause
)

// strict refuses stray bits in the last character, so that no two texts decode to one token.
var strict = base64.RawURLEncoding.Strict()

// KeySize is the length of a key in bytes.
const KeySize = 32

// Key is a secret of KeySize random bytes.
type Key [KeySize]byte

// NewKey makes a random key.
func NewKey() Key {
	var k Key
	rand.Read(k[:]) // never fails (crypto/rand, Go 1.24)
	return k
}

// id names a key without telling anything about it.
func (k Key) id() [idLen]byte {
	s := sha256.Sum256(append([]byte("rootbound token key id\x00"), k[:]...))
	return [idLen]byte(s[:idLen])
}

type sealer struct {
	id   [idLen]byte
	aead cipher.AEAD
}

// Ring holds the keys of a deployment. Immutable, safe for concurrent use.
type Ring struct{ keys []sealer }

// NewRing makes a ring: the first key seals, all keys open. At least one key is needed, and none may be all zero.
func NewRing(keys ...Key) (*Ring, error) {
	if len(keys) == 0 {
		return nil, errors.New("token: a ring needs a key")
	}
	r := &Ring{}
	for _, k := range keys {
		if k == (Key{}) {
			return nil, errors.New("token: a key is empty")
		}
		block, err := aes.NewCipher(k[:])
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		r.keys = append(r.keys, sealer{k.id(), aead})
	}
	return r, nil
}

// Seal makes a token. An empty Nonce is filled with 128 random bits. Claims without kind, authority or expiry are a
// mistake of the caller and are refused: such a token would bind nothing.
func (r *Ring) Seal(c Claims) (string, error) {
	if c.Kind == "" || c.Authority == "" || c.Expiry.IsZero() {
		return "", errors.New("token: kind, authority and expiry are required")
	}
	if c.Nonce == "" {
		c.Nonce = rand.Text()
	}
	plain, err := json.Marshal(wire{c, c.Expiry.UnixMilli()})
	if err != nil {
		return "", err
	}
	k := r.keys[0]
	out := make([]byte, idLen+ivLen, idLen+ivLen+len(plain)+tagLen)
	copy(out, k.id[:])
	rand.Read(out[idLen:])
	out = k.aead.Seal(out, out[idLen:], plain, k.bound())
	text := prefix + strict.EncodeToString(out)
	if len(text) > maxText {
		return "", errors.New("token: the claims are too long")
	}
	return text, nil
}

// bound is the additional data: version and key id are authenticated too.
func (s sealer) bound() []byte { return append([]byte(prefix), s.id[:]...) }

// Open decrypts a token and returns what it binds, without judging it: ErrForged, or ErrAskAgain for a key that is not in
// the ring. It never panics and never accepts a text that Seal did not return.
func (r *Ring) Open(text string) (Claims, error) {
	if len(text) > maxText || len(text) < len(prefix) || text[:len(prefix)] != prefix {
		return Claims{}, fmt.Errorf("%w: no such format", ErrForged)
	}
	raw, err := strict.DecodeString(text[len(prefix):])
	if err != nil || len(raw) < idLen+ivLen+tagLen {
		return Claims{}, fmt.Errorf("%w: cut or not base64", ErrForged)
	}
	if prefix+strict.EncodeToString(raw) != text { // the decoder skips line ends
		return Claims{}, fmt.Errorf("%w: another spelling", ErrForged)
	}
	for _, k := range r.keys {
		if !bytes.Equal(k.id[:], raw[:idLen]) {
			continue
		}
		plain, err := k.aead.Open(nil, raw[idLen:idLen+ivLen], raw[idLen+ivLen:], k.bound())
		if err != nil {
			return Claims{}, fmt.Errorf("%w: the seal is broken", ErrForged)
		}
		var w wire
		if err := json.Unmarshal(plain, &w); err != nil {
			return Claims{}, fmt.Errorf("%w: unreadable claims", ErrForged)
		}
		w.Claims.Expiry = time.UnixMilli(w.Expiry)
		return w.Claims, nil
	}
	return Claims{}, fmt.Errorf("%w: unknown key", ErrAskAgain)
}

// Verify opens a token and compares it with what this request needs. Compared are kind, authority, principal, project
// and plan digest (ErrNotThis), then the expiry against now (ErrAskAgain), then generation, roots and policy digest
// (ErrStale). Nonce and Expiry of want are ignored. An empty RootsDigest or PolicyDigest in want is not compared: a
// requestState is made before its roots are known. The nonce is not spent: see [Spender].
func (r *Ring) Verify(text string, want Claims, now time.Time) (Claims, error) {
	c, err := r.Open(text)
	if err != nil {
		return Claims{}, err
	}
	return c, c.Check(want, now)
}

// Check is the judging part of Verify.
func (c Claims) Check(want Claims, now time.Time) error {
	for _, f := range [...]struct {
		name     string
		got, exp string
	}{
		{"kind", string(c.Kind), string(want.Kind)},
		{"authority", c.Authority, want.Authority},
		{"principal", c.Principal, want.Principal},
		{"project", string(c.Project), string(want.Project)},
		{"request", c.PlanDigest, want.PlanDigest},
	} {
		if f.got != f.exp {
			return fmt.Errorf("%w: other %s", ErrNotThis, f.name)
		}
	}
	switch {
	case !now.Before(c.Expiry):
		return fmt.Errorf("%w: expired", ErrAskAgain)
	case c.Generation != want.Generation:
		return fmt.Errorf("%w: other generation", ErrStale)
	case want.RootsDigest != "" && c.RootsDigest != want.RootsDigest:
		return fmt.Errorf("%w: other roots", ErrStale)
	case want.PolicyDigest != "" && c.PolicyDigest != want.PolicyDigest:
		return fmt.Errorf("%w: other policy", ErrStale)
	}
	return nil
}

// Digest binds a request or a plan: SHA-256 over the parts, each preceded by its length, so that no two lists of parts
// have one digest. For a requestState the parts are method, tool or URI, and the raw arguments.
func Digest(parts ...[]byte) string {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write(p)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
