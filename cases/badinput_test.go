//go:build linux

package cases

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// Bad input, through the real process: what a client, a file system or an operator's machine can do wrong is answered with
// a clear text, changes nothing on disk and leaves the process alive. The parts: what the client says of its roots (here),
// spellings (badspelling_test.go), lines that are no requests and clients that misbehave (badwire_test.go), files and
// systems that fail (badfiles_test.go), trees that are searched (badsearch_test.go).
//
// Covered elsewhere and not repeated:
//
//	what                                                          where
//	the table of contract §2 inside one process, at most 3 asks   authority: TestModes, TestAtMostThreeAsks, TestEmptyFirst
//	each published root URI, parsed and recorded                  TestRootURIs
//	256 entries, 4 KiB: the last that are taken                   authority: TestMalformedAnswers
//	spellings of one root in tool arguments; two of one root      authority: TestSpellings
//	dots, links, encodings, names through the process             TestAttacks: path-*, name-*, link-*
//	FIFO, device, socket, procfs, sparse file read as a whole     TestAttacks: fifo-*, device-*, socket-*, proc-mounted-*, sparse-read
//	a full disk under a whole-file write                          TestAttacks: nospace-write; fileop: TestFullDiskLeavesTheOldBytes
//	few descriptors under reads                                   TestAttacks: fd-limit-parallel; beneath: TestFewDescriptors
//	a hung file system                                            TestAttacks: fuse-hang
//	the audit log on a full disk                                  decision: TestJSONLOnAFullDisk; mcpfs: TestRefusals
//	bad lines one by one in each decoder                          mcpscope/pipe: FuzzPipeLine; mcpscope: TestWire; cmd/rootbound: TestBadLinesDoNotEndTheSession
//	the end of a session whose client never reads again           internal/serve: TestStalledClientEndsTheSession; cmd/rootbound: TestClientThatStopsReading
//	a panic in a handler                                          mcpscope: TestG24PanicsAreContained; guard: TestPanicInAWorkerIsContained
//	refused starts, wrong flags, --strict-start                   cmd/rootbound: TestScripts; internal/config: TestProblems
//	every refusal text, read as a set                             mcpfs: TestRefusals

// said is what a client answers when it is asked, changed by the test while the server runs.
type said struct{ now atomic.Pointer[rawmcp.Answer] }

func says(a rawmcp.Answer) *said {
	s := &said{}
	s.set(a)
	return s
}

func (s *said) set(a rawmcp.Answer)      { s.now.Store(&a) }
func (s *said) answer(int) rawmcp.Answer { return *s.now.Load() }

// serveBad starts a server for bad input: unconfined, since the resolver alone must hold, and not slowed by its denials.
func (w *world) serveBad(s start, argv ...string) *product {
	w.t.Helper()
	s.argv = append([]string{"--confine=off", "--no-slow", "--audit", w.state + "/audit.jsonl"}, argv...)
	p, err := w.begin(s)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// ask makes a call that must be answered.
func (w *world) ask(p *product, tool string, args rawmcp.Args) *rawmcp.Result {
	w.t.Helper()
	r, _, err := p.call(20*time.Second, tool, args)
	if err != nil {
		w.t.Fatalf("%s %.200v: %v; stderr: %.400s", tool, args, err, p.Stderr())
	}
	return r
}

// refusedAs: the refusal has this reason, and a text a person can act on that tells nothing of the host or of Go.
func (w *world) refusedAs(what string, r *rawmcp.Result, reason string, sent ...string) {
	w.t.Helper()
	if r.OK() || r.Reason != reason {
		w.t.Errorf("%s: want %s, got %s", what, reason, r.Short())
		return
	}
	w.clear(what, r, sent...)
}

func (w *world) clear(what string, r *rawmcp.Result, sent ...string) {
	w.t.Helper()
	if n := len(r.Text); n < 30 || n > 1500 {
		w.t.Errorf("%s: a text of %d bytes: %s", what, n, r.Short())
	}
	all := string(r.Raw)
	for _, s := range sent {
		all = strings.ReplaceAll(all, s, "")
	}
	for _, never := range []string{base, secretText, "goroutine", "runtime error", "Go value", "json:", "errno", "openat", "0x"} {
		if strings.Contains(all, never) {
			w.t.Errorf("%s: the answer tells %q: %s", what, never, r.Short())
		}
	}
}

// reads: a good call succeeds, and so the process is alive.
func (w *world) reads(p *product, path, text string) {
	w.t.Helper()
	if r := w.ask(p, "read_text_file", rawmcp.Args{"path": path}); !r.OK() || r.Text != text {
		w.t.Errorf("a good read of %s afterwards: %s; stderr: %.400s", strings.TrimPrefix(path, w.dir), r.Short(), p.Stderr())
	}
}

// alive: the process answers, though nothing may be granted.
func (w *world) alive(p *product) {
	w.t.Helper()
	method := "tools/list"
	if _, err := p.Request(w.t.Context(), method, map[string]any{}); err != nil {
		w.t.Errorf("%s afterwards: %v; stderr: %.400s", method, err, p.Stderr())
	}
}

func (w *world) unchanged(before picture) {
	w.t.Helper()
	if d := before.diff(take(w.dir, nil, nil)); len(d) > 0 {
		w.t.Errorf("changed on disk:\n\t%s", strings.Join(d, "\n\t"))
	}
}

// scopes is the table of contract §2: what each mode makes of what the client says. An error, silence and -32601 have no
// form in 2026-07-28: that client does not send its call again.
var scopes = struct {
	columns []string
	rows    map[string][]string
}{
	[]string{"not declared", "list", "empty", "malformed", "error", "silence", "-32601"},
	map[string][]string{
		"narrow":  {"ceiling", "roots", "roots_empty", "roots_malformed", "authority_unavailable", "authority_unavailable", "ceiling"},
		"client":  {"no_scope", "roots", "roots_empty", "roots_malformed", "authority_unavailable", "authority_unavailable", "no_scope"},
		"ignore":  {"ceiling", "ceiling", "ceiling", "ceiling", "ceiling", "ceiling", "ceiling"},
		"require": {"no_scope", "roots", "roots_empty", "roots_malformed", "authority_unavailable", "authority_unavailable", "no_scope"},
	},
}

// answerOf is what a client says in a column. The directory in is what it declares.
func answerOf(column, in string) rawmcp.Answer {
	switch column {
	case "list":
		return rawmcp.Answer{Roots: []string{fileURI(in)}}
	case "malformed":
		return rawmcp.Answer{Raw: json.RawMessage(`{"roots":null}`)}
	case "error":
		return rawmcp.Answer{Error: -32603}
	case "silence":
		return rawmcp.Answer{Silent: true}
	case "-32601":
		return rawmcp.Answer{Error: -32601}
	}
	return rawmcp.Answer{} // an empty list
}

func TestBadScopes(t *testing.T) {
	for era, version := range eras {
		for mode, row := range scopes.rows {
			for i, column := range scopes.columns {
				if version == rawmcp.Modern && i > 3 {
					continue
				}
				t.Run(era+"/"+mode+"/"+column, func(t *testing.T) {
					t.Parallel()
					badScope(t, version, mode, column, row[i])
				})
			}
		}
	}
}

func badScope(t *testing.T, version, mode, column, want string) {
	w := newWorld(t, base+"/scopes-"+version[:4], mode+"-"+strings.ReplaceAll(column, " ", "-"))
	defer w.close()
	in := w.dir + "/ws/d"
	answer := says(answerOf(column, in))
	s := start{version: version, changes: true, roots: answer.answer}
	if column == "not declared" {
		s.roots = nil
	}
	argv := []string{"--roots=" + mode}
	if column == "silence" {
		argv = append(argv, "--roots-timeout=1s")
	}
	if mode != "client" {
		argv = append(argv, w.dir+"/ws")
	}
	p := w.serveBad(s, argv...)
	before := take(w.dir, nil, nil)
	began := time.Now()
	read := w.ask(p, "read_text_file", rawmcp.Args{"path": in + "/f"})
	write := w.ask(p, "write_file", rawmcp.Args{"path": w.dir + "/ws/new", "content": "x"})
	switch want {
	case "ceiling":
		if !read.OK() || read.Text != inText || !write.OK() {
			t.Errorf("want the ceiling: %s, %s", read.Short(), write.Short())
		}
	case "roots":
		if !read.OK() || read.Text != inText {
			t.Errorf("want the root: %s", read.Short())
		}
		w.refusedAs("write beside the root", write, "outside_root", w.dir+"/ws/new")
		w.unchanged(before)
	default:
		for what, r := range map[string]*rawmcp.Result{"read": read, "write": write} {
			if version == rawmcp.Modern && mode == "require" && column == "not declared" {
				if r.Code != -32021 || !strings.Contains(r.Text, "roots") {
					t.Errorf("%s: want -32021 naming the capability, got %s", what, r.Short())
				}
				continue
			}
			w.refusedAs(what, r, want, in+"/f", w.dir+"/ws/new")
		}
		w.unchanged(before)
	}
	if took := time.Since(began); column == "silence" && mode != "ignore" && (took < time.Second || took > time.Minute) {
		t.Errorf("two calls that wait 1 s each took %v", took)
	}
	if mode == "ignore" && p.Asks() > 0 {
		t.Error("the client was asked")
	}
	w.alive(p)
	if s.roots != nil { // and it can learn to answer
		answer.set(answerOf("list", in))
		p.RootsChanged()
		w.reads(p, in+"/f", inText)
	}
}

// TestBadRefresh is the second answer: what came after a good one is never the good one again, nor the ceiling.
func TestBadRefresh(t *testing.T) {
	type second struct{ column, want string }
	all := []second{{"empty", "roots_empty"}, {"malformed", "roots_malformed"}, {"error", "authority_unavailable"}, {"silence", "authority_unavailable"}, {"-32601", "authority_unavailable"}}
	for era, version := range eras {
		for _, onEmpty := range []string{"deny", "ceiling"} {
			for _, first := range []string{"list", "empty"} {
				if first == "empty" && onEmpty == "deny" {
					continue // denied from the start: TestBadScopes
				}
				for _, c := range all {
					if version == rawmcp.Modern && (c.column != "empty" && c.column != "malformed") {
						continue
					}
					if version == rawmcp.Modern && first == "empty" && c.column == "empty" {
						continue // an empty list that never changed is no revocation
					}
					t.Run(fmt.Sprintf("%s/on-empty=%s/%s then %s", era, onEmpty, first, c.column), func(t *testing.T) {
						t.Parallel()
						w := newWorld(t, base+"/refresh-"+version[:4], onEmpty+"-"+first+"-"+c.column)
						defer w.close()
						in := w.dir + "/ws/d"
						answer := says(answerOf(first, in))
						p := w.serveBad(start{version: version, roots: answer.answer, changes: true}, "--on-empty="+onEmpty, "--roots-timeout=1s", w.dir+"/ws")
						w.reads(p, in+"/f", inText)
						if first == "empty" {
							w.reads(p, w.dir+"/ws/alive", "alive") // the ceiling
						}
						before := take(w.dir, nil, nil)
						answer.set(answerOf(c.column, in))
						p.RootsChanged()
						w.refusedAs("read", w.ask(p, "read_text_file", rawmcp.Args{"path": in + "/f"}), c.want, in+"/f")
						w.refusedAs("write", w.ask(p, "write_file", rawmcp.Args{"path": in + "/new", "content": "x"}), c.want, in+"/new")
						w.unchanged(before)
						answer.set(answerOf("list", in))
						w.reads(p, in+"/f", inText)
					})
				}
			}
		}
	}
}
