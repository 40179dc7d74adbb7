package judge

import (
	"context"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/rules"
	"github.com/rootbound/rootbound/guard/spelling"
	"golang.org/x/text/unicode/norm"
)

// Open opens a place; where the exact name is missing, the one entry of the same directory that is listed as it was
// sent, or that is its NFC equivalent, stands for it (reads only).
func (j *Judge) Open(ctx context.Context, p spelling.Place, how beneath.How) (*beneath.Object, string, error) {
	o, err := j.Snap.Set.Open(beneath.Ref{Root: p.Grant, Path: p.Rest}, how)
	if err == nil {
		return o, "", nil
	}
	if rootbound.ReasonOf(err) == rootbound.NotFound && (strings.IndexByte(p.Rest, '\\') >= 0 || !asciiOnly(p.Rest)) {
		if rest, canonical, ok := j.otherName(ctx, p); ok {
			if o, err2 := j.Snap.Set.Open(beneath.Ref{Root: p.Grant, Path: rest}, how); err2 == nil {
				return o, canonical, nil
			}
		}
	}
	return nil, "", err
}

// otherName replaces missing names of a place by the one entry of their directory that is listed so, or that is equal in
// NFC (contract §5: escaped name; case, normalization). Names that a rule hides stand for nothing.
func (j *Judge) otherName(ctx context.Context, p spelling.Place) (rest, canonical string, ok bool) {
	pol, err := j.Law.Policy(j.Snap.Grants[p.Grant].Project)
	if err != nil {
		return "", "", false
	}
	prefix := j.Snap.Grants[p.Grant].Prefix
	done := ""
	for c := range strings.SplitSeq(p.Rest, "/") {
		if c == "" || c == "." {
			continue
		}
		if strings.IndexByte(c, '\\') < 0 && asciiOnly(c) || c == ".." {
			done = join(done, c)
			continue
		}
		if o, err := j.Snap.Set.Open(beneath.Ref{Root: p.Grant, Path: join(done, c)}, beneath.Handle); err == nil {
			o.Close()
			done = join(done, c)
			continue
		}
		name, how, found := j.equivalent(ctx, pol, p.Grant, join(prefix, done), done, c)
		if !found {
			return "", "", false
		}
		done, canonical = join(done, name), how
	}
	return done, canonical, canonical != ""
}

func (j *Judge) equivalent(ctx context.Context, pol *rules.Policy, grant int, within, dir, want string) (name, how string, ok bool) {
	d, err := j.Snap.Set.Open(beneath.Ref{Root: grant, Path: dir}, beneath.Dir)
	if err != nil {
		return "", "", false
	}
	defer d.Close()
	escaped := strings.IndexByte(want, '\\') >= 0
	nfc := ""
	if !asciiOnly(want) {
		nfc = norm.NFC.String(want)
	}
	hits := 0
	err = d.List(ctx, "", func(n *beneath.Node) (beneath.Step, error) {
		entry := n.Name()
		kind := ""
		switch {
		case escaped && rootbound.Listed(entry) == want:
			kind = "escaped_name"
		case nfc != "" && !asciiOnly(entry) && norm.NFC.String(entry) == nfc:
			kind = "nfc_fallback"
		default:
			return beneath.Over, nil
		}
		if pol.Node(entry, n.Type().IsDir(), func() string { return join(within, entry) }) != nil {
			return beneath.Over, nil
		}
		hits++
		name, how = entry, kind
		return beneath.Over, nil
	})
	return name, how, err == nil && hits == 1
}

func asciiOnly(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
