//go:build linux

package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// judge holds the calls against the verdict, what always holds, and the case's own checks.
func (r *run) judge() {
	t := r.t
	if len(r.calls) == 0 {
		t.Fatal("no call was made")
	}
	ok := 0
	for i, c := range r.calls {
		where := fmt.Sprintf("call %d of %d", i+1, len(r.calls))
		if c.err != nil {
			t.Errorf("%s: %v; stderr: %.400s", where, c.err, r.p.Stderr())
			continue
		}
		if c.r.OK() {
			ok++
		}
		switch r.a.Want {
		case "allow":
			if !c.r.OK() {
				t.Errorf("%s: want success, got %s", where, c.r.Short())
			}
		case "deny":
			if c.r.OK() {
				t.Errorf("%s: want a refusal, got %s", where, c.r.Short())
			}
		case "bounded":
		default:
			t.Fatalf("verdict %q is unknown", r.a.Want)
		}
		if limit := time.Duration(r.a.LimitMS) * time.Millisecond; c.worked > limit {
			t.Errorf("%s: the server worked for %v, the limit is %v", where, c.worked, limit)
		}
		r.secrets(where, c.r)
		if t.Failed() {
			break
		}
	}
	if r.a.Kind == "race" && len(r.loops) > 0 {
		t.Logf("%d calls, %d succeeded, attacker went round %d times", len(r.calls), ok, r.loops[0].turns.Load())
	}
	if d := r.held.diff(r.outside()); len(d) > 0 {
		t.Errorf("outside changed:\n\t%s", strings.Join(d, "\n\t"))
	}
	if r.a.Want == "deny" && len(r.loops) == 0 && len(r.timed) == 0 && len(r.all) > 0 {
		if d := r.all.diff(take(r.dir, nil, r.insideDirs())); len(d) > 0 {
			t.Errorf("a refused call changed:\n\t%s", strings.Join(d, "\n\t"))
		}
	}
	for _, check := range r.a.After {
		for name, want := range check {
			if name == "tier" {
				defer func() { // ends the server, so it comes last
					if err := r.tier(fmt.Sprint(want)); err != nil {
						t.Errorf("tier: %v", err)
					}
				}()
				continue
			}
			if err := r.check(name, want); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	r.aftermath()
}

// aftermath: the server lives and holds no more descriptors than before.
func (r *run) aftermath() {
	t := r.t
	select {
	case <-r.p.Gone():
		if r.a.ID != "root-is-file" && r.a.ID != "fifo-as-root" {
			t.Errorf("the server ended; stderr: %.400s", r.p.Stderr())
		}
		return
	default:
	}
	if !r.a.mayTakeRoot() || r.a.hasStep("loop-exchange", "ws") {
		if err := r.aliveOnce(30 * time.Second); err != nil {
			t.Errorf("ws/alive cannot be read afterwards: %s", err)
		}
	}
	if r.fds == nil {
		return
	}
	var grown []string
	for range 400 { // what the server closes in the background may take a moment
		below, all := descriptors(r.p.PID(), r.dir)
		grown = nil
		for to, n := range below {
			if n > r.fds[to] && !r.isRoot(to) {
				grown = append(grown, to)
			}
		}
		if all > r.fdAll+8 {
			grown = append(grown, fmt.Sprintf("%d descriptors, %d before", all, r.fdAll))
		}
		if len(grown) == 0 {
			return
		}
		wait(50 * time.Millisecond)
	}
	t.Errorf("descriptors stay open: %v", grown)
}

func (r *run) isRoot(path string) bool {
	return slices.ContainsFunc(r.a.Roots, func(spec string) bool {
		p, _ := strings.CutSuffix(spec, ":ro")
		real, _ := filepath.EvalSymlinks(r.at(p))
		return path == r.at(p) || path == real
	})
}

// secrets: no answer holds the canary or the text of $W, unless the client sent it.
func (r *run) secrets(where string, res *rawmcp.Result) {
	t := r.t
	all := strings.Join(append(strs(res.Raw), string(res.Raw)), "\n")
	sent := fmt.Sprint(r.sent(r.expand(r.a.Path)), r.a.Args)
	if pattern, ok := r.a.Args["to"].(string); ok {
		sent += r.sent(r.expand(pattern))
	}
	if !r.a.ShowSecret && strings.Contains(all, secretText) && !strings.Contains(sent, secretText) {
		t.Errorf("%s: the answer holds the canary: %s", where, res.Short())
	}
	if r.p.PID() != 0 && strings.Contains(all, r.dir) && !strings.Contains(sent, r.dir) && !r.startRefusal(res) {
		t.Errorf("%s: the answer shows the host's path: %s", where, res.Short())
	}
}

// startRefusal reports whether the result stands for a server that did not start: it spoke to its operator.
func (r *run) startRefusal(res *rawmcp.Result) bool {
	return res.IsError && res.Text == r.p.Stderr()
}

// strs are all strings of a JSON value, decoded.
func strs(raw []byte) []string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	var out []string
	var walk func(any)
	walk = func(v any) {
		switch x := v.(type) {
		case string:
			out = append(out, x)
		case []any:
			for _, e := range x {
				walk(e)
			}
		case map[string]any:
			for k, e := range x {
				out = append(out, k)
				walk(e)
			}
		}
	}
	walk(v)
	return out
}

func list(v any) []string {
	var out []string
	l, _ := v.([]any)
	for _, e := range l {
		out = append(out, fmt.Sprint(e))
	}
	return out
}

// check is one of the case's own checks.
func (r *run) check(name string, want any) error {
	args := list(want)
	for i := range args {
		args[i] = r.expand(args[i])
	}
	text := ""
	if len(args) == 0 {
		text = r.expand(fmt.Sprint(want))
	}
	last := r.calls[len(r.calls)-1].r
	if last == nil {
		return errors.New("there is no answer")
	}
	switch name {
	case "text":
		got, err := os.ReadFile(r.at(args[0]))
		if err != nil {
			return err
		}
		if string(got) != args[1] {
			return fmt.Errorf("%s holds %.100q, want %q", args[0], got, args[1])
		}
	case "one_of_text":
		for _, p := range args[:len(args)-1] {
			if got, err := os.ReadFile(r.at(p)); err == nil && string(got) == args[len(args)-1] {
				return nil
			}
		}
		return fmt.Errorf("none of %v holds the text", args[:len(args)-1])
	case "absent":
		if _, err := os.Lstat(r.at(text)); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is there (%v)", text, err)
		}
	case "link":
		if to, err := os.Readlink(r.at(args[0])); err != nil || to != args[1] {
			return fmt.Errorf("%s is %q (%v), want a link to %q", args[0], to, err, args[1])
		}
	case "kind":
		return r.isKind(args[0], args[1])
	case "size":
		st, err := os.Lstat(r.at(args[0]))
		if err != nil {
			return err
		}
		if fmt.Sprint(st.Size()) != args[1] {
			return fmt.Errorf("%s has %d bytes, want %s", args[0], st.Size(), args[1])
		}
	case "mode_max":
		var st unix.Stat_t
		if unix.Lstat(r.at(args[0]), &st) != nil {
			return nil
		}
		most, err := strconv.ParseUint(args[1], 8, 32)
		if err != nil {
			return err
		}
		if mode := uint64(st.Mode) & 0o7777; mode&^most != 0 {
			return fmt.Errorf("mode %o, at most %o", mode, most)
		}
	case "entries_in":
		entries, err := os.ReadDir(r.at(args[0]))
		if err != nil {
			return err
		}
		if fmt.Sprint(len(entries)) != args[1] {
			return fmt.Errorf("%s has %d entries, want %s: %v", args[0], len(entries), args[1], entries)
		}
	case "answer_has":
		if !strings.Contains(last.Text, text) {
			return fmt.Errorf("%q is not in the answer %s", text, last.Short())
		}
	case "answer_lacks":
		for _, c := range r.calls {
			if all := strings.Join(strs(c.r.Raw), "\n"); strings.Contains(all, text) {
				return fmt.Errorf("%q is in the answer %s", text, c.r.Short())
			}
		}
	case "no_line_starts":
		for line := range strings.Lines(last.Text) {
			if strings.HasPrefix(line, text) {
				return fmt.Errorf("a line starts so: %q", line)
			}
		}
	case "distinct_entries":
		seen := map[string]bool{}
		for line := range strings.Lines(last.Text) {
			if line = strings.TrimSpace(line); line != "" {
				seen[line] = true
			}
		}
		if fmt.Sprint(len(seen)) != text {
			return fmt.Errorf("%d distinct entries, want %s: %q", len(seen), text, last.Text)
		}
	case "hits":
		for i, c := range r.calls {
			var matches []json.RawMessage
			if ok := c.r.Get("matches", &matches); ok != c.r.OK() {
				return fmt.Errorf("call %d: matches are there: %v, in %s", i+1, ok, c.r.Short())
			}
			if fmt.Sprint(len(matches)) != text && c.r.OK() {
				return fmt.Errorf("call %d: %d hits, want %s: %s", i+1, len(matches), text, c.r.Short())
			}
		}
	case "same_refusal":
		return r.sameRefusal(last, text)
	case "each":
		return r.eachInside()
	case "loop_clean":
		for _, l := range r.loops {
			if other := l.dirty.Load(); other != nil {
				return fmt.Errorf("the attacker's file was overwritten by %q", *other)
			}
		}
	case "mem_mib":
		return r.memory(asInt(want))
	case "syscall_order":
		return r.order(args)
	default:
		return fmt.Errorf("check %q is unknown", name)
	}
	return nil
}

func (r *run) isKind(p, kind string) error {
	st, err := os.Lstat(r.at(p))
	if err != nil {
		return err
	}
	got := map[os.FileMode]string{0: "file", os.ModeDir: "dir", os.ModeNamedPipe: "fifo", os.ModeSymlink: "link", os.ModeSocket: "socket"}[st.Mode().Type()]
	if got != kind {
		return fmt.Errorf("%s is a %s, want a %s", p, got, kind)
	}
	return nil
}

// sameRefusal makes the same call on another path and compares the words, paths and ids aside.
func (r *run) sameRefusal(first *rawmcp.Result, path string) error {
	other := r.call(operation{op: r.a.Operation, path: path, args: r.a.Args})
	if other.err != nil {
		return other.err
	}
	plain := func(res *rawmcp.Result, path string) string { return strings.ReplaceAll(res.Text, path, "PATH") }
	a, b := plain(first, r.expand(r.a.Path)), plain(other.r, path)
	if a != b || first.Reason != other.r.Reason || first.Detail != other.r.Detail {
		return fmt.Errorf("refusals differ:\n\t%s\n\t%s", first.Short(), other.r.Short())
	}
	return nil
}

// eachInside: every answer is the text of an inside file or an error.
func (r *run) eachInside() error {
	for i, c := range r.calls {
		if c.r == nil || !c.r.OK() {
			continue
		}
		if text := strings.TrimSpace(c.r.Text); text != inText && text != "alive" {
			return fmt.Errorf("call %d of %d gave %q", i+1, len(r.calls), text)
		}
	}
	return nil
}

func (r *run) memory(mib int64) error {
	if _, peak := resident(r.p.PID()); peak-r.rss > mib<<10 {
		return fmt.Errorf("grew by %d MiB", (peak-r.rss)>>10)
	}
	return nil
}

// order asserts that the marks come in this order among what the tracer saw below the root.
func (r *run) order(marks []string) error {
	fmt.Fprintln(r.p.in, "log")
	var seen []string
	for {
		line, err := r.p.out.ReadString('\n')
		if err != nil {
			return err
		}
		line = strings.TrimSpace(line)
		if line == "." {
			break
		}
		if line == "answer" || strings.Contains(line, " "+r.dir) {
			seen = append(seen, line)
		}
	}
	at := 0
	for _, m := range marks {
		i := slices.IndexFunc(seen, func(s string) bool { return s == m || strings.HasPrefix(s, m+" ") })
		if i < 0 {
			return fmt.Errorf("no %q in %q", m, seen)
		}
		if i < at {
			return fmt.Errorf("%q comes too early in %q", m, seen)
		}
		at = i
	}
	return nil
}
