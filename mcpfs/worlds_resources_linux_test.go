package mcpfs_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/mcpfs/resource"
)

// told is one answer of a world; nothing that is sent for resources holds a path of the host, so none may come back.
func told(t *testing.T, what, base string, v any, err error) string {
	t.Helper()
	got := mask("\x00", v, err)
	if strings.Contains(got, base) {
		t.Errorf("%s: names the host: %s", what, got)
	}
	return got
}

// drawResource is a path of a resource, which need not be one.
func drawResource(r *rand.Rand) string {
	p := drawPath(r, mcpfs.Project)
	if r.IntN(4) > 0 {
		p = strings.TrimPrefix(filepath.Clean("/"+p), "/")
	}
	return p
}

// Two worlds that differ only in what is hidden give the same resources: what is read, listed, completed, subscribed to. What
// changes in hidden places is not told to those who subscribed, and ends no subscription.
func TestResourcesOfWorldsThatDifferInWhatIsHidden(t *testing.T) {
	d := drawing(4, 60)
	calls, allowed, records, subscribed, changes := 0, 0, 0, 0, 0
	way := func(i int) (mcpfs.Tools, string) {
		_, revision := everyWay(i * 2)
		return mcpfs.Project, revision
	}
	d.each(t, 9, way, func(w *pair) {
		t, r, l, base := w.t, w.r, w.live, w.base
		same := func(what string, ask func(*live) (any, error)) {
			t.Helper()
			ok, same := w.twice(what, func(k int) (any, error) { return ask(l[k]) }, func(k int, v any, err error) string { return told(t, what, base[k], v, err) })
			calls++
			if ok && same {
				allowed++
			}
		}
		same("templates", func(l *live) (any, error) { return l.session.ListResourceTemplates(t.Context(), nil) })
		cursors := map[*live]string{}
		for range 4 {
			same("list", func(l *live) (any, error) {
				res, err := l.session.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: cursors[l]})
				if err == nil {
					cursors[l], res.NextCursor = res.NextCursor, ""
				}
				return res, err
			})
			if cursors[l[0]] == "" {
				break
			}
		}
		uris := map[string]bool{}
		for range d.calls {
			id := pick(r, "p", "p", "p", "inner", "closed", "q", "none")
			p := drawResource(r)
			uri := resource.URI("", p)
			uri = resource.Scheme + id + "/" + strings.TrimPrefix(uri, resource.Scheme+"/")
			same("read "+uri, func(l *live) (any, error) {
				return l.session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			})
			typed := drawResource(r)
			if r.IntN(2) == 0 {
				typed = typed[:r.IntN(len(typed)+1)]
			}
			at := &mcp.CompleteContext{Arguments: map[string]string{"project": id}}
			if r.IntN(4) == 0 {
				at = nil
			}
			same("complete "+id+" "+typed, func(l *live) (any, error) {
				return l.session.Complete(t.Context(), &mcp.CompleteParams{
					Ref: &mcp.CompleteReference{Type: "ref/resource", URI: resource.Template}, Argument: mcp.CompleteParamsArgument{Name: "path", Value: typed}, Context: at,
				})
			})
			if r.IntN(3) == 0 {
				uris[uri] = true
			}
		}
		records += w.recorded()
		for _, at := range sortedKeys(w.plots[0]) {
			if id, rel, _ := strings.Cut(at, "/"); r.IntN(3) == 0 && id != "out" {
				uris[resource.Scheme+id+"/"+rel] = true
				uris[resource.Scheme+id+"/"+path.Dir(rel+"/x")+pick(r, "/a", "/f", "/l", "/l/f", "")] = true
			}
		}
		var subs [2]*subscriber
		for k := range l {
			subs[k] = subscribe(t, l[k], w.revision, sortedNames(uris))
		}
		if !slices.Equal(subs[0].got, subs[1].got) {
			t.Errorf("subscribed\n0: %s\n1: %s", subs[0].got, subs[1].got)
		}
		subscribed += subs[1].n
		if !t.Failed() {
			changes += w.stir(t, r, subs[1], base[1])
		}
	})
	t.Logf("%d calls, %d allowed, %d records, %d subscribed, %d hidden changes", calls, allowed, records, subscribed, changes)
	if d.ordinary && (allowed < calls/10 || records < calls/2 || subscribed <= d.worlds || changes == 0) {
		t.Error("too little was met: the worlds are not what they were")
	}
}

func sortedNames(m map[string]bool) []string {
	p := plot{}
	for k := range m {
		p[k] = ""
	}
	return sortedKeys(p)
}

// seen is a file that changes where all may see it, and its resource.
const seen, seenURI = "p/zz.txt", resource.Scheme + "p/zz.txt"

// subscriber is a client that has subscribed to resources; got is what it was answered.
type subscriber struct {
	*joined.Peer
	got []string
	n   int
}

func subscribe(t *testing.T, l *live, revision string, uris []string) *subscriber {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(filepath.Dir(l.dir), seen), []byte("1"), 0o644))
	uris = append(uris, seenURI)
	s := &subscriber{Peer: joined.Dial(t, l.connect, joined.Pipe)}
	next := func() joined.Message {
		for {
			if m := s.Recv(); m.Method != "notifications/resources/updated" { // seen was made a moment ago
				return m
			}
		}
	}
	if revision == legacy {
		s.Initialize(legacy, "{}")
		for i, uri := range uris {
			s.Send(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":%q}}`, i, uri)
			m := next()
			if m.Error == nil {
				s.n++
			}
			s.got = append(s.got, uri+" "+m.Line)
		}
		return s
	}
	all, err := json.Marshal(uris)
	must(t, err)
	s.Send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":%s},%s}}`, all, joined.Meta)
	m := next()
	s.got, s.n = []string{m.Line}, strings.Count(m.Line, resource.Scheme)
	return s
}

// stir changes hidden places only, and now and then what is seen: nothing but that is told.
func (w *worlds) stir(t *testing.T, r *rand.Rand, s *subscriber, base string) (changes int) {
	t.Helper()
	var hidden []string
	must(t, filepath.WalkDir(base, func(p string, e os.DirEntry, err error) error {
		must(t, err)
		if p == base || !e.IsDir() {
			return nil
		}
		rel := p[len(base)+1:]
		for _, n := range slices.Concat([]string{"state"}, linkNames, hiddenNames, openNames) {
			if at := rel + "/" + n; w.hides(at, false) && w.hides(at, true) {
				hidden = append(hidden, at)
			}
		}
		return nil
	}))
	var since []string
	tick := func() {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(base, seen), []byte(fmt.Sprint(changes)), 0o644))
		for {
			m := s.Recv()
			if m.Method != "notifications/resources/updated" || !strings.HasSuffix(m.Params.URI, "/zz.txt") { // which links may lead to
				t.Errorf("told %s after %q", m.Line, since)
				return
			}
			if len(s.Lines) == 0 {
				since = nil
				return
			}
		}
	}
	tick()
	for range 60 {
		at := pick(r, hidden...)
		full := filepath.Join(base, at)
		if up, err := filepath.EvalSymlinks(filepath.Dir(full)); err != nil || up != filepath.Dir(full) {
			continue
		}
		what, err := "", error(nil)
		switch r.IntN(6) {
		case 0:
			what, err = "removal", os.RemoveAll(full)
		case 1, 2:
			var f *os.File
			what = "write"
			if f, err = os.OpenFile(full, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600); err == nil {
				_, err = f.WriteString("needle")
				f.Close()
			}
		case 3:
			what, err = "mkdir", os.Mkdir(full, 0o755)
		case 4:
			to := pick(r, hidden...)
			if up, err := filepath.EvalSymlinks(filepath.Dir(filepath.Join(base, to))); err != nil || up != filepath.Dir(filepath.Join(base, to)) {
				continue
			}
			what, err = "move to "+to, os.Rename(full, filepath.Join(base, to))
		case 5:
			what, err = "link", os.Symlink(pick(r, "a", "../a", "..", "f", ".env"), full)
		}
		if err != nil {
			continue
		}
		since = append(since, what+" of "+at)
		changes++
		if r.IntN(2) == 0 {
			if tick(); t.Failed() {
				return changes
			}
		}
	}
	tick()
	tick()
	return changes
}
