package token

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rootbound/rootbound"
)

var at = time.UnixMilli(1_800_000_000_123)

func claims() Claims {
	return Claims{Kind: Patch, Authority: "0123456789abcdef", Generation: 7, Principal: "user", Project: "app",
		RootsDigest: "roots", PolicyDigest: "policy", PlanDigest: Digest([]byte("plan")), Expiry: at.Add(time.Minute)}
}

func ring(t testing.TB, keys ...Key) *Ring {
	t.Helper()
	r, err := NewRing(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func seal(t testing.TB, r *Ring, c Claims) string {
	t.Helper()
	s, err := r.Seal(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func is(t *testing.T, name string, err, want error) {
	t.Helper()
	for _, class := range []error{ErrAskAgain, ErrForged, ErrNotThis, ErrStale} {
		if errors.Is(err, class) != (class == want) {
			t.Errorf("%s: %v, want %v", name, err, want)
			return
		}
	}
}

func TestRoundTrip(t *testing.T) {
	r := ring(t, NewKey())
	s := seal(t, r, claims())
	got, err := r.Verify(s, claims(), at)
	if err != nil {
		t.Fatal(err)
	}
	if got.Nonce == "" || !got.Expiry.Equal(claims().Expiry) {
		t.Errorf("%+v", got)
	}
	got.Nonce, got.Expiry = "", claims().Expiry
	if got != claims() {
		t.Errorf("%+v", got)
	}
	if s == seal(t, r, claims()) {
		t.Error("two tokens are equal")
	}
	for _, secret := range []string{"user", "app", "0123456789abcdef", base64.RawURLEncoding.EncodeToString([]byte("user"))[:4]} {
		if strings.Contains(s, secret) {
			t.Errorf("%q can be read in the token", secret)
		}
	}
	c := claims()
	c.Nonce = "mine"
	if got, err := r.Open(seal(t, r, c)); err != nil || got.Nonce != "mine" {
		t.Error(got, err)
	}
}

func TestClasses(t *testing.T) {
	key := NewKey()
	r := ring(t, key)
	change := func(f func(*Claims)) Claims { c := claims(); f(&c); return c }
	for name, c := range map[string]struct {
		sealed, want Claims
		now          time.Time
		class        error
	}{
		"good":              {claims(), claims(), at, nil},
		"last millisecond":  {claims(), claims(), at.Add(time.Minute - time.Millisecond), nil},
		"expired":           {claims(), claims(), at.Add(time.Minute), ErrAskAgain},
		"other kind":        {change(func(c *Claims) { c.Kind = State }), claims(), at, ErrNotThis},
		"other authority":   {change(func(c *Claims) { c.Authority = "x" }), claims(), at, ErrNotThis},
		"other principal":   {change(func(c *Claims) { c.Principal = "x" }), claims(), at, ErrNotThis},
		"no principal":      {change(func(c *Claims) { c.Principal = "" }), claims(), at, ErrNotThis},
		"other project":     {change(func(c *Claims) { c.Project = "x" }), claims(), at, ErrNotThis},
		"other arguments":   {change(func(c *Claims) { c.PlanDigest = "x" }), claims(), at, ErrNotThis},
		"stolen, expired":   {claims(), change(func(c *Claims) { c.Principal = "x" }), at.Add(time.Hour), ErrNotThis},
		"other generation":  {change(func(c *Claims) { c.Generation++ }), claims(), at, ErrStale},
		"other roots":       {change(func(c *Claims) { c.RootsDigest = "x" }), claims(), at, ErrStale},
		"other policy":      {change(func(c *Claims) { c.PolicyDigest = "x" }), claims(), at, ErrStale},
		"roots not known":   {change(func(c *Claims) { c.RootsDigest = "" }), change(func(c *Claims) { c.RootsDigest = "" }), at, nil},
		"roots not sealed":  {change(func(c *Claims) { c.RootsDigest = "" }), claims(), at, ErrStale},
		"expired and stale": {change(func(c *Claims) { c.Generation++ }), claims(), at.Add(time.Hour), ErrAskAgain},
	} {
		_, err := r.Verify(seal(t, r, c.sealed), c.want, c.now)
		is(t, name, err, c.class)
	}
	_, err := ring(t, NewKey()).Verify(seal(t, r, claims()), claims(), at)
	is(t, "unknown key", err, ErrAskAgain)
}

func TestRotation(t *testing.T) {
	old, young := NewKey(), NewKey()
	s := seal(t, ring(t, old), claims())
	both := ring(t, young, old)
	if _, err := both.Verify(s, claims(), at); err != nil {
		t.Error(err)
	}
	if _, err := ring(t, young).Open(seal(t, both, claims())); err != nil {
		t.Error("not sealed with the first key:", err)
	}
	_, err := ring(t, young).Open(s)
	is(t, "dropped key", err, ErrAskAgain)
}

func TestForged(t *testing.T) {
	key := NewKey()
	r := ring(t, key)
	s := seal(t, r, claims())
	for n := range len(s) { // every cut
		_, err := r.Open(s[:n])
		is(t, fmt.Sprintf("cut at %d", n), err, ErrForged)
	}
	for i := range len(s) { // every character
		for _, c := range "A-_b\n= " {
			forged := s[:i] + string(c) + s[i+1:]
			if forged == s {
				continue
			}
			if _, err := r.Open(forged); err == nil {
				t.Errorf("accepted with %q at %d", c, i)
			}
		}
		if _, err := r.Open(s[:i] + "\n" + s[i:]); err == nil {
			t.Errorf("accepted with a line end at %d", i)
		}
	}
	// The key id of one key with the seal of another, and parts of two tokens of one key.
	other := NewKey()
	two := ring(t, key, other)
	a, b := raw(t, s), raw(t, seal(t, ring(t, other), claims()))
	_, err := two.Open(text(append(bytes.Clone(b[:idLen]), a[idLen:]...)))
	is(t, "other key's id", err, ErrForged)
	c := raw(t, seal(t, r, claims()))
	_, err = r.Open(text(append(bytes.Clone(a[:idLen+ivLen]), c[idLen+ivLen:]...)))
	is(t, "other token's body", err, ErrForged)
	for _, junk := range []string{"", "rb1.", "rb2." + s[4:], "RB1." + s[4:], s + "A", s + "=", " " + s, s + " ", strings.Repeat("A", 1<<20), "rb1." + strings.Repeat("A", 1<<20)} {
		_, err := r.Open(junk)
		is(t, "junk", err, ErrForged)
	}
}

func raw(t *testing.T, s string) []byte {
	t.Helper()
	b, err := strict.DecodeString(strings.TrimPrefix(s, prefix))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func text(b []byte) string { return prefix + strict.EncodeToString(b) }

func TestSealRefuses(t *testing.T) {
	r := ring(t, NewKey())
	for _, c := range []Claims{{}, {Kind: Patch, Authority: "a"}, {Kind: Patch, Expiry: at}, {Authority: "a", Expiry: at},
		{Kind: Patch, Authority: strings.Repeat("a", maxText), Expiry: at}} {
		if s, err := r.Seal(c); err == nil {
			t.Errorf("sealed %.40s", s)
		}
	}
	if _, err := NewRing(); err == nil {
		t.Error("a ring without keys")
	}
	if _, err := NewRing(Key{}); err == nil {
		t.Error("an empty key")
	}
}

func TestDigestBindsBoundaries(t *testing.T) {
	b := func(s string) []byte { return []byte(s) }
	seen := map[string]bool{}
	for _, d := range []string{Digest(), Digest(nil), Digest(b("ab"), b("c")), Digest(b("a"), b("bc")), Digest(b("abc")), Digest(b("abc"), nil), Digest(nil, b("abc"))} {
		if seen[d] {
			t.Error("two lists of parts have one digest")
		}
		seen[d] = true
	}
}

// A token of a mutation works once, also for twenty at a time.
func TestReplay(t *testing.T) {
	var m Memory
	r := ring(t, NewKey())
	c, err := r.Open(seal(t, r, claims()))
	if err != nil {
		t.Fatal(err)
	}
	c.Expiry = time.Now().Add(time.Minute)
	var fresh atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			switch err := m.Spend(c.Nonce, c.Expiry); {
			case err == nil:
				fresh.Add(1)
			case !errors.Is(err, ErrSpent):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if fresh.Load() != 1 {
		t.Errorf("spent %d times", fresh.Load())
	}
	if err := m.Spend("", c.Expiry); err == nil {
		t.Error("an empty nonce")
	}
}

func TestMemoryIsBoundedAndForgetsNothingEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Memory
		until := time.Now().Add(10 * time.Minute)
		for i := range maxSpent {
			if err := m.Spend(fmt.Sprint(i), until); err != nil {
				t.Fatal(i, err)
			}
		}
		if err := m.Spend("one more", until); err == nil || errors.Is(err, ErrSpent) {
			t.Error(err)
		}
		if err := m.Spend("0", until); !errors.Is(err, ErrSpent) {
			t.Error(err)
		}
		time.Sleep(10 * time.Minute)
		if err := m.Spend("one more", time.Now().Add(time.Minute)); err != nil || len(m.spent) != 1 {
			t.Error(err, len(m.spent))
		}
	})
}

func FuzzOpen(f *testing.F) {
	key := Key{1, 2, 3}
	r := ring(f, key)
	good := map[string]bool{}
	for range 3 {
		s := seal(f, r, claims())
		good[s] = true
		f.Add(s)
		f.Add(s[:len(s)-1])
	}
	f.Add("rb1.")
	f.Add("")
	id := key.id()
	junk := make([]byte, 64)
	rand.Read(junk)
	f.Add(text(append(id[:], junk...)))
	f.Fuzz(func(t *testing.T, s string) {
		c, err := r.Open(s)
		if err == nil && !good[s] && c.PlanDigest != claims().PlanDigest {
			t.Fatalf("%q was never sealed", s)
		}
		if err == nil { // seeds of another process of this fuzz run were sealed with the same key
			again, err := strict.DecodeString(strings.TrimPrefix(s, prefix))
			if err != nil || text(again) != s {
				t.Fatalf("%q is another spelling of a token", s)
			}
		}
		if err != nil && c != (Claims{}) {
			t.Fatal("refused with claims")
		}
	})
}

// Any single change of a sealed token is refused.
func FuzzModified(f *testing.F) {
	r := ring(f, Key{4, 5, 6})
	f.Add(uint16(10), byte(1))
	f.Add(uint16(0), byte(0x80))
	f.Fuzz(func(t *testing.T, pos uint16, flip byte) {
		c := claims()
		c.Generation = rootbound.Generation(pos)
		s := seal(t, r, c)
		b := []byte(s)
		b[int(pos)%len(b)] ^= flip
		_, err := r.Open(string(b))
		if (err == nil) != (flip == 0) {
			t.Fatalf("%d ^ %#x: %v", pos, flip, err)
		}
	})
}

func BenchmarkSealOpen(b *testing.B) {
	r := ring(b, NewKey())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Verify(seal(b, r, claims()), claims(), at); err != nil {
			b.Fatal(err)
		}
	}
}
