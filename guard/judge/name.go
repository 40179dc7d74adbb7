package judge

import (
	"context"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
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
			if lerr := j.way(spelling.Place{Grant: p.Grant, Rest: rest}, Looks); lerr != nil {
				return nil, "", lerr
			}
		}
	}
	return nil, "", err
}

// otherName replaces missing names of a place by the one entry of their directory that is listed so, or that is equal in
// NFC (contract §5: escaped name; case, normalization). Names that a rule hides stand for nothing.
func (j *Judge) otherName(ctx context.Context, p spelling.Place) (rest, canonical string, ok bool) {
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
		name, how, found := j.equivalent(ctx, beneath.Ref{Root: p.Grant, Path: done}, c)
		if !found {
			return "", "", false
		}
		done, canonical = join(done, name), how
	}
	return done, canonical, canonical != ""
}

// equivalent finds the entry by the rules of the project that the directory lies in, where it lies there.
func (j *Judge) equivalent(ctx context.Context, dir beneath.Ref, want string) (name, how string, ok bool) {
	d, err := j.Snap.Set.Open(dir, beneath.Dir)
	if err != nil {
		return "", "", false
	}
	defer d.Close()
	var project *rootbound.Project
	var within string
	if err := j.Arrived(d, &project, &within); err != nil {
		return "", "", false
	}
	pol, err := j.Law.Policy(project)
	if err != nil {
		return "", "", false
	}
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
		if j.Law.own.Path(j.Absolute(n.At())) || pol.Node(entry, n.Type().IsDir(), func() string { return join(within, entry) }) != nil {
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
