package decision

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
)

// Hashed stands in front of next and replaces what could tell a path by a keyed HMAC ("audit.paths: hash"): paths as sent
// and as reached, root URIs, digests, and every detail, note, rule, principal's resource name or outcome detail that is
// not a plain word. Equal values stay equal under one key. The key stays with the caller; 32 random bytes are enough.
func Hashed(next Sink, key []byte) Sink {
	return &hashed{next: next, key: slices.Clone(key)}
}

type hashed struct {
	next Sink
	key  []byte
}

func (h *hashed) Decided(r *Record, mutation bool) error { return h.next.Decided(h.hide(r), mutation) }
func (h *hashed) Completed(r *Record)                    { h.next.Completed(h.hide(r)) }
func (h *hashed) Event(r *Record)                        { h.next.Event(h.hide(r)) }
func (h *hashed) Close() error                           { return h.next.Close() }

func (h *hashed) hide(r *Record) *Record {
	c := *r
	for _, p := range []*string{
		&c.PathSent, &c.Path, &c.DestSent, &c.Dest,
		&c.Authority.RootsDigest, &c.Authority.ProjectDigest, &c.Authority.PolicyDigest,
	} {
		*p = h.mac(*p)
	}
	c.Detail = h.detail(c.Reason, c.Detail)
	for _, p := range []*string{&c.Note, &c.Tool} {
		*p = h.word(*p)
	}
	if len(c.Rules) > 0 {
		c.Rules = slices.Clone(c.Rules)
		for i := range c.Rules {
			c.Rules[i] = h.rule(c.Rules[i])
		}
	}
	if c.Outcome != nil {
		o := *c.Outcome
		o.Detail, o.Stopped = h.detail(o.Reason, o.Detail), h.word(o.Stopped)
		c.Outcome = &o
	}
	if len(c.Roots) > 0 {
		c.Roots = slices.Clone(c.Roots)
		for i := range c.Roots {
			e := &c.Roots[i]
			e.URI, e.Detail, e.Warn = h.mac(e.URI), h.detail(e.Reason, e.Detail), h.word(e.Warn)
		}
	}
	return &c
}

// mac is empty for the empty text, which tells nothing.
func (h *hashed) mac(s string) string {
	if s == "" {
		return ""
	}
	m := hmac.New(sha256.New, h.key)
	m.Write([]byte(s))
	return "hmac:" + hex.EncodeToString(m.Sum(nil)[:16])
}

// detail keeps our own words and hides all others: a name may look like a word, and where something is missing the detail is
// its name, whatever that looks like.
func (h *hashed) detail(r rootbound.Reason, s string) string {
	named := r == rootbound.ParentMissing || r == rootbound.NotFound
	if !named && (slices.Contains(ownWords(), s) || slices.Contains(rootbound.Reasons(), rootbound.Reason(s))) {
		return s
	}
	return h.mac(s)
}

// ownWords are the details that hold no name. One that is not among them is hashed, which loses no more than its plain text.
func ownWords() []string {
	return []string{
		"absolute", "allow_extensions", "authority", "changing", "dangling_link", "gone", "hardlinks", "into_itself", "kernel", "link", "links",
		"magic_link", "missing", "mounts", "name_not_possible", "name_too_long", "names", "no_name", "no_scheme", "no_temporary_name", "not_empty",
		"nul", "own_files", "released", "root", "same_object", "scheme", "too_deep", "too_long", "trailing_slash",
	}
}

// word keeps words of our own and hides what may hold a name.
func (h *hashed) word(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_0123456789") == "" {
		return s
	}
	return h.mac(s)
}

// rule keeps the rule's kind and hides the pattern behind it.
func (h *hashed) rule(s string) string {
	kind, pattern, found := strings.Cut(s, ":")
	if !found {
		return h.word(s)
	}
	return h.word(kind) + ":" + h.mac(pattern)
}
