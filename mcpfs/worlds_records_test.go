//go:build unix

package mcpfs_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/mcpfs/resource"
)

// audit keeps records in a log outside both worlds, and in memory.
type audit struct {
	path   string
	file   *decision.JSONL
	memory *decision.Memory
	hashed *decision.Memory // as with audit.paths: hash
	calls  []uint64         // how many records there were after each call
}

func newAudit(t *testing.T) *audit {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	f, err := decision.OpenJSONL(path, decision.JSONLOptions{Sync: decision.SyncNever})
	must(t, err)
	return &audit{path: path, file: f, memory: decision.NewMemory(0), hashed: decision.NewMemory(0)}
}

func (a *audit) sink() decision.Sink {
	return decision.Tee(a.memory, a.file, decision.Hashed(a.hashed, []byte("key")))
}

// called ends what belongs to one call, whose records may come in any order.
func (a *audit) called() { a.calls = append(a.calls, a.memory.Total()) }

// logged checks that the log holds what memory does, and gives the records by calls. The log is valid, and no operation is
// completed that was not decided.
func (a *audit) logged(t *testing.T) (calls [][]decision.Record) {
	t.Helper()
	kept := a.memory.Records()
	must(t, a.file.Flush())
	f, err := os.Open(a.path)
	must(t, err)
	defer f.Close()
	var inLog, inMemory []string
	broken, err := decision.Read(f, func(r *decision.Record) error {
		inLog = append(inLog, string(r.AppendJSON(nil)))
		return nil
	})
	must(t, err)
	decided, last := map[string]bool{}, uint64(0)
	for i := range kept {
		r := &kept[i]
		inMemory = append(inMemory, string(r.AppendJSON(nil)))
		if r.Phase == decision.Decided {
			decided[r.ID] = true
		} else if r.Phase == decision.Completed && !decided[r.ID] {
			t.Errorf("completed and not decided: %s", inMemory[i])
		}
	}
	slices.Sort(inLog)
	slices.Sort(inMemory)
	if broken > 0 || !slices.Equal(inLog, inMemory) {
		t.Errorf("%d records in the log, %d in memory, %d broken: they differ", len(inLog), len(inMemory), broken)
	}
	for _, n := range a.calls {
		calls, last = append(calls, kept[last:n]), n
	}
	return calls
}

// timed are the events that come with time, and so with another call in each world: roots that are asked for again because the
// last answer is old, and many denials within seconds.
var timed = []string{decision.Asked, decision.Answered, decision.Confirmed, decision.Alert}

// recorded compares what both worlds have recorded of each call. A record is for the operator and may tell more than an answer
// does: which objects were reached, digests that are made of them, how much was hidden, and where a refused call came to. In that
// the worlds may differ, and in nothing else (contract §7).
func (p *pair) recorded() (records int) {
	p.t.Helper()
	var calls [2][][]decision.Record
	for k := range calls {
		calls[k] = p.audit[k].logged(p.t)
		p.hashesAll(k)
	}
	for i := range min(len(calls[0]), len(calls[1])) {
		var said [2][]string
		for k := range said {
			for _, r := range calls[k][i] {
				p.namesNoHost(k, r)
				if !slices.Contains(timed, r.Phase) {
					said[k] = append(said[k], p.alike(k, r))
				}
			}
			slices.Sort(said[k])
		}
		records += len(said[0])
		if !slices.Equal(said[0], said[1]) {
			p.t.Errorf("records of call %d\n0: %s\n1: %s", i, strings.Join(said[0], "\n   "), strings.Join(said[1], "\n   "))
			return records
		}
	}
	return records
}

// namesNoHost: no path of the host stands in a record but in what the caller sent.
func (p *pair) namesNoHost(k int, r decision.Record) {
	p.t.Helper()
	line := string(r.AppendJSON(nil))
	r.PathSent, r.DestSent, r.Roots = "", "", nil
	kept := string(r.AppendJSON(nil))
	for _, host := range []string{p.base[k], filepath.Dir(p.base[k]), "/nowhere", "/etc/hosts"} {
		if strings.Contains(kept, host) {
			p.t.Errorf("a record names the host: %s", line)
		}
	}
}

// hashesAll: with hashed paths a record holds no path at all, neither of the host nor inside a project, nor a digest.
func (p *pair) hashesAll(k int) {
	p.t.Helper()
	for _, r := range p.audit[k].hashed.Records() {
		r.ID, r.Correlate, r.Authority.ID, r.Session.ID = "", "", "", "" // random letters
		line := string(r.AppendJSON(nil))
		for _, name := range slices.Concat(hiddenNames, []string{p.base[k], "..", "/b", "/f", "g.txt", "h.go", "file:", resource.Scheme}) {
			if strings.Contains(line, name) {
				p.t.Errorf("a record with hashed paths holds %q: %s", name, line)
				return
			}
		}
	}
}

// alike is a record as a line without that in which the worlds may differ.
func (p *pair) alike(k int, r decision.Record) string {
	based := func(s string) string { return strings.ReplaceAll(s, p.base[k], "BASE") }
	r.PathSent, r.DestSent = based(r.PathSent), based(r.DestSent)
	r.Roots = slices.Clone(r.Roots)
	for i := range r.Roots {
		r.Roots[i].URI, r.Roots[i].Root = based(r.Roots[i].URI), anyRoot(r.Roots[i].Root)
	}
	r.Root = anyRoot(r.Root)
	r.ID, r.Time, r.Correlate = "", time.Time{}, ""
	r.Authority.ID, r.Session.ID = "", ""
	r.Authority.RootsDigest, r.Authority.ProjectDigest, r.Authority.PolicyDigest = "", "", ""
	for _, o := range []**decision.Object{&r.Object, &r.Parent, &r.DestDir} {
		if *o != nil {
			c := **o
			if c.Dev, c.Ino, c.Mount = 0, 0, 0; c.Type == "directory" {
				c.Links = 0 // counts directories that are hidden too
			}
			*o = &c
		}
	}
	if r.Decision != decision.Allow { // how far it came, and what it met there
		r.Root, r.Project, r.Path, r.Dest, r.DestRoot, r.Canonical, r.Object, r.Parent, r.DestDir = "", "", "", "", "", "", nil, nil, nil
		if r.Method == "resources/read" { // of a file or of a directory, by what is there
			r.Operation, r.Rights, r.Detail = "", nil, ""
		}
	}
	if r.Outcome != nil {
		o := *r.Outcome
		o.Duration, o.Counts = 0, maps.Clone(o.Counts)
		delete(o.Counts, "hidden")
		maps.DeleteFunc(o.Counts, func(_ string, n int64) bool { return n == 0 }) // none are left out where none were hidden either
		if o.Stopped != "" {                                                      // several read ahead of the one that has enough
			o.Counts = nil
		}
		r.Outcome = &o
	}
	return string(r.AppendJSON(nil))
}

// anyRoot stands for the id of a client's root, which comes from its object.
func anyRoot(id rootbound.RootID) rootbound.RootID {
	if strings.HasPrefix(string(id), "r-") {
		return "r-"
	}
	return id
}
