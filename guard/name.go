package guard

import (
	"context"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/rules"
	"github.com/rootbound/rootbound/guard/spelling"
	"golang.org/x/text/unicode/norm"
)

// otherName replaces missing names of a place by the one entry of their directory that is listed so, or that is equal in
// NFC (contract §5: escaped name; case, normalization). Names that a rule hides stand for nothing.
func (g *Guard) otherName(ctx context.Context, t *Target, p spelling.Place) (rest, canonical string, ok bool) {
	pol, err := g.policy(t.snap.Grants[p.Grant].Project)
	if err != nil {
		return "", "", false
	}
	prefix := t.snap.Grants[p.Grant].Prefix
	done := ""
	for c := range strings.SplitSeq(p.Rest, "/") {
		if c == "" || c == "." {
			continue
		}
		if strings.IndexByte(c, '\\') < 0 && asciiOnly(c) || c == ".." {
			done = join(done, c)
			continue
		}
		if o, err := t.snap.Set.Open(beneath.Ref{Root: p.Grant, Path: join(done, c)}, beneath.Handle); err == nil {
			o.Close()
			done = join(done, c)
			continue
		}
		name, how, found := g.equivalent(ctx, t, pol, p.Grant, join(prefix, done), done, c)
		if !found {
			return "", "", false
		}
		done, canonical = join(done, name), how
	}
	return done, canonical, canonical != ""
}

func (g *Guard) equivalent(ctx context.Context, t *Target, pol *rules.Policy, grant int, within, dir, want string) (name, how string, ok bool) {
	d, err := t.snap.Set.Open(beneath.Ref{Root: grant, Path: dir}, beneath.Dir)
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
