package probe

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/rootbound/rootbound/probe/script"
	"github.com/rootbound/rootbound/probe/truth"
	"github.com/rootbound/rootbound/probe/wire"
)

// prior is what the tree held before a call.
type prior struct {
	path, to string // on the disk
	bytes    []byte
	names    []string
}

// where is the place on the disk that a path means: relative ones start at the first directory.
func (p *player) where(path string) string {
	path = p.w.Fill(path)
	if !filepath.IsAbs(path) {
		return p.w.Fill("{app}/") + path
	}
	return path
}

func (p *player) prior(s script.Step) prior {
	b := prior{path: p.where(s.Path), to: p.where(s.To)}
	if info, err := os.Stat(b.path); err == nil && info.Mode().IsRegular() && info.Size() <= 1<<20 {
		b.bytes, _ = os.ReadFile(b.path)
	} else if err == nil && info.IsDir() {
		list, _ := os.ReadDir(b.path)
		for _, e := range list[:min(len(list), 100)] {
			b.names = append(b.names, e.Name())
		}
	}
	return b
}

// judge waits for a call and holds what came and what happened against what the step wants. It returns the answer, or nil
// where none came.
func (p *player) judge(g *ongoing) *wire.Result {
	s := g.step
	before := p.prior(s)
	ctx, stop := p.run.patience(p.ctx)
	defer stop()
	r, err := p.conn.Finish(ctx, g.call, g.p)
	p.mu.Lock()
	p.settle()
	changed := p.inside
	p.inside = nil
	p.mu.Unlock()
	if err != nil {
		p.lost(s, err)
		return nil
	}
	p.got = append(p.got, said(r))
	key := p.run.profile.Ops[s.Op].Keep
	if key != "" {
		json.Unmarshal(r.Data[key], &p.kept)
	}
	if s.Needed && r.Refused {
		p.missing = "what the case needs was refused: " + s.Op + ": " + p.w.Blank(firstLine(r.Text))
		return r
	} else if s.Needed && key != "" && p.kept == "" { // going on without it would be refused, and prove nothing
		p.missing = "what the case needs is not in the answer: " + key
		return r
	}
	switch s.Want {
	case script.Allow:
		p.allowed(s, before, r)
	case script.Deny:
		p.denied(s, before, r, changed)
	}
	p.texts(s, r)
	return r
}

func said(r *wire.Result) string {
	switch {
	case r.Open:
		return "an open question"
	case r.Refused && r.Reason != "":
		return "refused: " + r.Reason
	case r.Refused:
		return "refused"
	}
	return "done"
}

// lost: no answer came.
func (p *player) lost(s script.Step, err error) {
	p.got = append(p.got, short(err))
	switch {
	case errors.Is(err, wire.ErrSilent):
		p.against("%s: no answer within %s", s.Op, p.run.o.Timeout)
	default:
		p.against("%s: %v", s.Op, err)
	}
}

// short is the kind of an end, without its particulars.
func short(err error) string {
	for _, kind := range []error{wire.ErrSilent, wire.ErrFlood, wire.ErrGarbage, wire.ErrGone} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}

func (p *player) allowed(s script.Step, b prior, r *wire.Result) {
	if r.Refused || r.Open {
		p.against("%s %s was refused: %s", s.Op, s.Path, firstLine(r.Text))
		return
	}
	if why := p.effect(s, b, r); why != "" {
		p.against("%s %s: %s", s.Op, s.Path, why)
	}
}

// effect says what is missing after an operation that is said to be done.
func (p *player) effect(s script.Step, b prior, r *wire.Result) string {
	v := p.values(s, 0)
	switch s.Op {
	case "read":
		if want := bytes.TrimRight(b.bytes, "\n"); !strings.Contains(r.Text, string(want)) && !bytes.Contains(r.Blob, want) {
			return "the file's text did not come back"
		}
	case "list", "tree":
		for _, n := range b.names {
			if ascii(n) && !strings.Contains(r.Text, n) {
				return "the list lacks " + n
			}
		}
	case "create", "write":
		return holds(b.path, []byte(v.Content))
	case "edit":
		return holds(b.path, bytes.Replace(b.bytes, []byte(v.Old), []byte(v.New), 1))
	case "mkdir":
		if info, err := os.Stat(b.path); err != nil || !info.IsDir() {
			return "no directory was made"
		}
	case "move":
		if _, err := os.Lstat(b.path); err == nil {
			return "the source is still there"
		}
		return holds(b.to, b.bytes)
	case "delete":
		if _, err := os.Lstat(b.path); err == nil {
			return "it is still there"
		}
	}
	return ""
}

func ascii(s string) bool {
	for _, r := range s {
		if r < 0x20 || r > 0x7e {
			return false
		}
	}
	return true
}

func holds(path string, want []byte) string {
	got, err := os.ReadFile(path)
	switch {
	case err != nil:
		return "nothing can be read there afterwards"
	case !bytes.Equal(got, want):
		return fmt.Sprintf("it holds %d bytes that are not the ones that were asked for", len(got))
	}
	return ""
}

func (p *player) denied(s script.Step, b prior, r *wire.Result, changed []string) {
	if script.Mutating(s.Op) {
		for _, c := range changed {
			p.against("inside, %s", c)
		}
		if !r.Refused && !r.Open && len(changed) == 0 {
			p.against("%s %s is said to be done", s.Op, s.Path)
		}
		return
	}
	if text := bytes.TrimSpace(b.bytes); s.Op == "read" && len(text) > 0 && (bytes.Contains(whole(r), text) || bytes.Contains(r.Blob, text)) {
		p.against("read %s gave the text of the file", s.Path)
	}
	if s.Op == "stat" && !r.Refused && !r.Open {
		p.against("stat %s was answered", s.Path)
	}
	for _, n := range b.names { // of what a list, tree or search was asked for
		if !r.Refused && strings.Contains(r.Text, n) {
			p.against("%s %s gave the name %s", s.Op, s.Path, n)
			return
		}
	}
}

// whole is an answer with everything beside its text.
func whole(r *wire.Result) []byte { return truth.Unescaped(r.Raw) }

// mentions reports whether a text holds another, a number not as a part of a longer one.
func mentions(text, part string) bool {
	digit := func(s string, at int) bool { return at >= 0 && at < len(s) && s[at] >= '0' && s[at] <= '9' }
	for from := 0; ; {
		at := strings.Index(text[from:], part)
		if at < 0 || part == "" {
			return false
		}
		at += from
		if end := at + len(part); !(digit(part, 0) && digit(text, at-1)) && !(digit(part, len(part)-1) && digit(text, end)) {
			return true
		}
		from = at + 1
	}
}

// texts checks what the answer says.
func (p *player) texts(s script.Step, r *wire.Result) {
	for _, t := range s.Has {
		if !strings.Contains(r.Text, p.w.Fill(t)) {
			p.against("the answer lacks %q: %s", t, firstLine(r.Text))
		}
	}
	text := string(whole(r))
	for _, t := range s.Lacks {
		if mentions(text, p.w.Fill(t)) {
			p.against("the answer holds %q", t)
		}
	}
	if s.Most > 0 && len(r.Text) > s.Most {
		p.against("the answer has %d bytes", len(r.Text))
	}
	for _, sent := range []string{s.Path, s.To} {
		if sent != "" {
			text = strings.ReplaceAll(text, p.w.Fill(sent), "")
		}
	}
	for _, t := range s.Hides {
		if strings.Contains(text, p.w.Fill(t)) {
			p.against("the answer tells %s: %s", t, firstLine(r.Text))
		}
	}
}

// alike asks the same of another path and compares the words, paths apart: who may not know must not be able to tell. Beside
// the words, what has a digit may be the number of the call and says nothing.
func (p *player) alike(s script.Step, first *wire.Result) {
	g, err := p.begin(s, s.Like)
	if err != nil {
		p.against("%v", err)
		return
	}
	second := p.judge(g)
	if first == nil || second == nil { // no answer, which was judged
		return
	}
	blank := func(t, path string) string {
		for _, part := range []string{p.w.Fill(path), filepath.Base(path)} {
			t = strings.ReplaceAll(t, part, "")
		}
		return t
	}
	all := func(r *wire.Result, path string) string {
		return numbers.ReplaceAllString(blank(string(whole(r)), path), "#")
	}
	if a, b := blank(first.Text, s.Path), blank(second.Text, s.Like); a != b {
		p.against("what exists and what does not can be told apart: %q and %q", firstLine(a), firstLine(b))
	} else if a, b := all(first, s.Path), all(second, s.Like); a != b {
		p.against("what exists and what does not can be told apart beside the text: %q and %q", tail(a, b), tail(b, a))
	}
}

var numbers = regexp.MustCompile(`[\w-]*[0-9][\w-]*`)

// tail is the start of what differs.
func tail(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return firstLine(a[max(0, at-20):])
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}

// check is one look at the tree at the end.
func (p *player) check(c script.Check) error {
	switch {
	case c.Text != "":
		if why := holds(p.where(c.Text), []byte(p.w.Fill(c.Is))); why != "" {
			return fmt.Errorf("%s: %s", c.Text, why)
		}
	case c.Hex != "":
		want, err := hex.DecodeString(c.Is)
		if err != nil {
			return err
		}
		if why := holds(p.where(c.Hex), want); why != "" {
			return fmt.Errorf("%s: %s", c.Hex, why)
		}
	case c.Starts != "":
		return edge(c.Starts, p.where(c.Starts), c.Is, bytes.HasPrefix)
	case c.Ends != "":
		return edge(c.Ends, p.where(c.Ends), c.Is, bytes.HasSuffix)
	case c.Absent != "":
		if _, err := os.Lstat(p.where(c.Absent)); err == nil {
			return fmt.Errorf("%s was made", c.Absent)
		}
	case c.Link != "":
		if to, err := os.Readlink(p.where(c.Link)); err != nil || to != p.w.Fill(c.Is) {
			return fmt.Errorf("%s is no longer the link it was", c.Link)
		}
	case c.Kind != "":
		if kind := kindOf(p.where(c.Kind)); kind != c.Is {
			return fmt.Errorf("%s is now %s, not %s", c.Kind, kind, c.Is)
		}
	case c.Mode != "":
		if info, err := os.Stat(p.where(c.Mode)); err != nil || strconv.FormatUint(uint64(info.Mode().Perm()), 8) != c.Is {
			return fmt.Errorf("%s has not the mode %s", c.Mode, c.Is)
		}
	case c.Held != "":
		return p.stillReads(c.Held)
	case c.Count != "":
		list, err := os.ReadDir(p.where(c.Count))
		if err != nil || strconv.Itoa(len(list)) != c.Is {
			return fmt.Errorf("%s has %d entries, not %s", c.Count, len(list), c.Is)
		}
	}
	return nil
}

// edge compares the start or the end of a file with any of some bytes.
func edge(name, path, any string, has func(b, part []byte) bool) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s cannot be read afterwards", name)
	}
	for part := range strings.SplitSeq(any, ",") {
		want, err := hex.DecodeString(part)
		if err != nil {
			return err
		}
		if has(b, want) {
			return nil
		}
	}
	return fmt.Errorf("%s holds bytes that nobody asked for", name)
}

func kindOf(path string) string {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return "gone"
	case info.IsDir():
		return "dir"
	case info.Mode()&os.ModeSymlink != 0:
		return "link"
	case info.Mode()&os.ModeNamedPipe != 0:
		return "fifo"
	case info.Mode().IsRegular():
		return "file"
	}
	return "special"
}

// stillReads: who opened a file before it was written reads the old bytes to the end, never a part of the new ones.
func (p *player) stillReads(path string) error {
	o := p.opened[path]
	b, err := io.ReadAll(o.file)
	if err != nil {
		return err
	}
	if !bytes.Equal(b, o.bytes) {
		return fmt.Errorf("%s was written in place: a reader in the middle sees part of the new bytes", path)
	}
	return nil
}
