package beneath

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// model is path resolution as it would be written without a thought of races, speed or descriptors: one name after the other
// is looked at where the names before it led, by lstat and readlink, and a link's text takes the place of its name.
type model struct {
	t     testing.TB
	paths []string   // of the roots
	marks []ObjectID // as NewSet takes them

	root   int
	names  []string // reached, below the root
	todo   []token
	part   string // the caller's path up to the name that was looked at last
	links  int
	passed []Passed
}

// token is one name that is still to be done, or a "." that asks for a directory.
type token struct {
	name string
	of   *source
	end  int // of the caller's own: where it ends in his path
}

// source is a link whose text names come from; nil: the caller.
type source struct {
	at   Ref
	mark int
}

// answer is where a path leads by the model, and why no further; reason is "ok" if something is there.
type answer struct {
	reason string
	trail  Trail
	id     ObjectID
}

func tokens(text string, of *source) (all []token) {
	end := 0
	for i, name := range strings.Split(text, "/") {
		if i > 0 {
			end++
		}
		if end += len(name); name == "" {
			name = "."
		}
		all = append(all, token{name, of, end})
	}
	return all
}

// spelledNames are the names of tokens up to the first "..": what is behind a place as it is spelled.
func spelledNames(all []token) (names []string) {
	for _, k := range all {
		if k.name == ".." {
			break
		}
		if k.name != "." {
			names = append(names, k.name)
		}
	}
	return names
}

// lstat looks at a name in the directory that names lead to below a root, neither of them a link.
func (m *model) lstat(names []string) (unix.Stat_t, string, error) {
	var st unix.Stat_t
	fd, err := unix.Open(m.paths[m.root], unix.O_PATH, 0)
	for _, name := range names {
		if err != nil {
			break
		}
		up := fd
		fd, err = unix.Openat(up, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
		unix.Close(up)
	}
	if err != nil {
		return st, "", err
	}
	defer unix.Close(fd)
	must(m.t, unix.Fstat(fd, &st))
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return st, "", nil
	}
	b := make([]byte, 4096)
	n, err := unix.Readlinkat(fd, "", b)
	must(m.t, err)
	return st, string(b[:n]), nil
}

// mark is the innermost mark at or above the directory that names lead to.
func (m *model) mark(names []string) int {
	marked := func(st unix.Stat_t) int { return slices.IndexFunc(m.marks, ObjectID{Dev: st.Dev, Ino: st.Ino}.Same) }
	for n := len(names); n > 0 && len(m.marks) > 0; n-- {
		st, _, err := m.lstat(names[:n])
		must(m.t, err)
		if i := marked(st); i >= 0 {
			return i
		}
	}
	for p := m.paths[m.root]; p != "" && len(m.marks) > 0; p = p[:strings.LastIndexByte(p, '/')] {
		var st unix.Stat_t
		must(m.t, unix.Stat(p, &st))
		if i := marked(st); i >= 0 {
			return i
		}
	}
	return -1
}

func (m *model) at(more ...string) Ref {
	return Ref{m.root, strings.Join(append(slices.Clone(m.names), more...), "/")}
}

// pass is false if that is one place too many.
func (m *model) pass(at Ref, mark int, dir bool) bool {
	p := Passed{at, mark, dir, m.links > 0}
	if n := len(m.passed); n > 0 && m.passed[n-1] == p {
		return true
	}
	if len(m.passed) == 1024 {
		return false
	}
	m.passed = append(m.passed, p)
	return true
}

// enter goes on at the root that text names by its longest path; false if none does.
func (m *model) enter(text string, of *source, tail []token) bool {
	var names []string
	for _, name := range strings.Split(text, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	best, depth := -1, -1
	for i, p := range m.paths {
		parts := strings.Split(p[1:], "/")
		if len(parts) > depth && len(parts) <= len(names) && slices.Equal(names[:len(parts)], parts) {
			best, depth = i, len(parts)
		}
	}
	if best < 0 {
		return false
	}
	skip, rest := depth, text
	for rest = strings.TrimLeft(rest, "/"); skip > 0; rest = strings.TrimLeft(rest, "/") {
		name, more, _ := strings.Cut(rest, "/")
		if rest = more; name != "." {
			skip--
		}
	}
	m.root, m.names = best, nil
	m.todo = append(tokens(rest, of), tail...)
	return true
}

// text spells tokens.
func text(all []token) string {
	var names []string
	for _, k := range all {
		names = append(names, k.name)
	}
	return strings.Join(names, "/")
}

// end is the answer at a place with what is behind it.
func (m *model) end(reason string, end End, last Ref, mark int, rest []token) answer {
	a := answer{reason: reason, trail: Trail{Passed: m.passed, Last: last, Mark: mark, End: end, Linked: m.links > 0}}
	names := spelledNames(rest)
	if last.Path != "" {
		names = append([]string{last.Path}, names...)
	}
	a.trail.To = Ref{last.Root, strings.Join(names, "/")}
	if m.links == 0 {
		a.trail.Part = strings.TrimRight(m.part, "/")
	}
	return a
}

// lost is the answer where a link cannot be followed.
func (m *model) lost(reason string, of *source) answer {
	return m.end(reason, Unknown, of.at, of.mark, nil)
}

// resolve follows a path from a root, a final link too.
func (m *model) resolve(at Ref) answer {
	m.root, m.todo = at.Root, tokens(at.Path, nil)
	for len(m.todo) > 0 {
		k, rest := m.todo[0], m.todo[1:]
		switch k.name {
		case ".":
			m.todo = rest
			continue
		case "..":
			if len(m.names) > 0 {
				if !m.pass(m.at(), m.mark(m.names), true) {
					return m.end("path_invalid [too_long]", Unknown, m.at(), m.mark(m.names), nil)
				}
				m.names, m.todo = m.names[:len(m.names)-1], rest
				continue
			}
			if k.of == nil {
				return m.end("outside_root", Unknown, m.at(), m.mark(nil), nil)
			}
			n := 0 // what of the same link is left
			for n < len(m.todo) && m.todo[n].of == k.of {
				n++
			}
			up, of := m.paths[m.root], m.todo[:n]
			for len(of) > 0 && (of[0].name == ".." || of[0].name == ".") {
				if of[0].name == ".." && up != "" {
					up = up[:strings.LastIndexByte(up, '/')]
				}
				of = of[1:]
			}
			if !m.enter(up+"/"+text(of), k.of, m.todo[n:]) {
				return m.lost("outside_root", k.of)
			}
			continue
		}
		m.part = at.Path[:min(k.end, len(at.Path))]
		dir := m.mark(m.names)
		final := !slices.ContainsFunc(rest, func(k token) bool { return k.name != "." })
		switch {
		case len(k.name) > 255:
			return m.end("path_invalid [name_too_long]", Unknown, m.at(k.name), dir, rest)
		case len(m.names) >= 2048 && !final:
			return m.end("path_invalid [too_deep]", Unknown, m.at(k.name), dir, rest)
		}
		here := append(slices.Clone(m.names), k.name)
		st, target, err := m.lstat(here)
		if err == unix.ENOENT {
			return m.end("not_found", Missing, m.at(k.name), dir, rest)
		}
		must(m.t, err)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			of := &source{m.at(k.name), dir}
			passed := m.pass(of.at, dir, false)
			if m.links++; !passed {
				return m.lost("path_invalid [too_long]", of)
			}
			if m.links > 40 {
				return m.lost("path_unresolvable [links]", of)
			}
			if target[0] != '/' {
				m.todo = append(tokens(target, of), rest...)
			} else if !m.enter(target, of, rest) {
				return m.lost("outside_root", of)
			}
		case unix.S_IFDIR:
			m.names, m.todo = here, rest
		default:
			if len(rest) == 0 {
				a := m.end("ok", There, m.at(k.name), dir, nil)
				a.id = ObjectID{Dev: st.Dev, Ino: st.Ino}
				return a
			}
			reason := "not_a_directory"
			if final {
				reason = "path_invalid [trailing_slash]"
			}
			return m.end(reason, NoDir, m.at(k.name), dir, rest)
		}
	}
	st, _, err := m.lstat(m.names)
	must(m.t, err)
	m.part = at.Path
	a := m.end("ok", There, m.at(), m.mark(m.names), nil)
	a.trail.Dir, a.id = true, ObjectID{Dev: st.Dev, Ino: st.Ino}
	return a
}

// brief tells what was found, long names short.
func brief(v any) string {
	s := strings.ReplaceAll(fmt.Sprintf("%+v", v), longName, "LONG")
	return s[:min(len(s), 2000)]
}

var longName = repeat(255, "n")

// compare has Trace, and Open on both resolvers, agree with the model on a path. Nothing changes meanwhile.
func compare(t testing.TB, s *Set, at Ref) answer {
	t.Helper()
	m := model{t: t, marks: s.marks}
	for i := range s.members {
		m.paths = append(m.paths, s.members[i].root.Path())
	}
	want := m.resolve(at)
	got, ok := s.Trace(at)
	if !ok || !reflect.DeepEqual(got, want.trail) {
		t.Errorf("%s of %d is %s: %t\n%s\nwant\n%s", brief(at.Path), at.Root, want.reason, ok, brief(got), brief(want.trail))
	}
	for _, s.walkOnly = range []bool{false, true} {
		o, err := s.Open(at, Handle)
		if got := outcome(err); got != want.reason {
			t.Errorf("%s: %s, want %s (only by the walk: %t)", brief(at.Path), got, want.reason, s.walkOnly)
		}
		if err != nil {
			continue
		}
		if !o.Info().ID.Same(want.id) || o.At() != want.trail.Last || o.Mark() != want.trail.Mark {
			t.Errorf("%s: %v at %s, mark %d; want %v, %s", brief(at.Path), o.Info().ID, brief(o.At()), o.Mark(), want.id, brief(want.trail))
		}
		if o.Linked() != want.trail.Linked || o.Linked() && !slices.Equal(o.Passed(), want.trail.Passed) {
			t.Errorf("%s passed %s, want %s", brief(at.Path), brief(o.Passed()), brief(want.trail.Passed))
		}
		o.Close()
	}
	return want
}

// wild is a path of few names, so that many are there, with whatever may be between them.
func wild(r *rand.Rand, names []string) string {
	parts := make([]string, 1+r.IntN(5))
	for i := range parts {
		switch n := r.IntN(20); {
		case n < 4:
			parts[i] = ".."
		case n < 6:
			parts[i] = "."
		case n == 6:
			parts[i] = ""
		default:
			parts[i] = names[r.IntN(len(names))]
		}
	}
	return strings.Join(parts, "/") + []string{"", "", "", "", "/", "/."}[r.IntN(6)]
}

// TestTraceIsTheNaiveResolution: in worlds of links, relative and absolute, through "..", in chains and loops, dangling and out
// of the roots, every path leads where looking at one name after the other leads, and what is told of the way is the same.
func TestTraceIsTheNaiveResolution(t *testing.T) {
	worlds := 40
	if os.Getenv("RB_LONG") != "" {
		worlds = 3000
	}
	r := rand.New(rand.NewPCG(40, 4096))
	seen := map[string]int{}
	for n := range worlds {
		w := newWorld(t)
		dirs := []string{"ws", "ws/a", "ws2", "out"}
		w.do("mkdir ws/a", "mkdir ws2")
		names := []string{"a", "b", "l0", "l1", "l2", "d", longName, "none"}
		for range 40 {
			p := dirs[r.IntN(len(dirs))] + "/" + names[r.IntN(len(names)-1)]
			if _, err := os.Lstat(w.path(p)); err == nil {
				continue
			}
			switch k := r.IntN(10); {
			case k < 3:
				w.do("mkdir " + p)
				dirs = append(dirs, p)
			case k < 4:
				w.do("file " + p + " x")
			default:
				to := wild(r, append(names, longName+"n"))
				switch r.IntN(6) {
				case 0:
					to = w.path([]string{"ws", "ws2", "ws/a", "ws//./a", "out", ""}[r.IntN(6)]) + "/" + to
				case 1:
					to = strings.Repeat("../", 1+r.IntN(3)) + []string{"ws/", "ws2/", "ws/../ws2/", "out/", ""}[r.IntN(5)] + to
				}
				must(t, os.Symlink(cmp.Or(to, "."), w.path(p)))
			}
		}
		members := func(s *Set) (all []Member) {
			for i := range s.members {
				all = append(all, Member{Root: s.members[i].root})
			}
			return all
		}
		roots := [][]string{{"ws"}, {"ws", "ws2"}, {"ws2", "ws", "ws/a"}}[n%3]
		s := w.set(false, roots...)
		var marks []ObjectID
		for len(marks) < n%4 {
			var st unix.Stat_t
			must(t, unix.Stat(w.path(dirs[r.IntN(len(dirs))]), &st))
			marks = append(marks, ObjectID{Dev: st.Dev, Ino: st.Ino})
		}
		s = NewSet(members(s), marks)
		for range 60 {
			at := Ref{r.IntN(len(roots)), wild(r, names)}
			if _, err := checkPath(at.Path); err != nil {
				continue
			}
			seen[compare(t, s, at).reason]++
		}
		if t.Failed() {
			break
		}
	}
	for _, reason := range []string{"ok", "not_found", "outside_root", "not_a_directory", "path_invalid [trailing_slash]", "path_unresolvable [links]",
		"path_invalid [name_too_long]"} {
		if seen[reason] == 0 {
			t.Errorf("nothing was %s", reason)
		}
	}
	t.Log(seen)
}

// makeDeep makes directories one in the other, and gives the last one.
func makeDeep(t testing.TB, top, path string) (fd int) {
	t.Helper()
	fd, err := unix.Open(top, unix.O_PATH, 0)
	must(t, err)
	for name := range strings.SplitSeq(path, "/") {
		must(t, unix.Mkdirat(fd, name, 0o755))
		up := fd
		fd, err = unix.Openat(up, name, unix.O_PATH, 0)
		must(t, err)
		unix.Close(up)
	}
	return fd
}

// TestTraceAtTheBounds: where a path is one link, place, name or byte too many, the trail ends at what is too many, not at
// what would have come behind it.
func TestTraceAtTheBounds(t *testing.T) {
	w := newWorld(t)
	w.do("link ws/l1 d/f", "link ws/to d", "mkdir ws/a", "mkdir ws/b", "link ws/many "+repeat(800, "d/../")+"d")
	for n := range 41 {
		w.do(fmt.Sprintf("link ws/l%d l%d", n+2, n+1))
	}
	s := w.set(false)
	for _, p := range []string{"l40", "l41", "l41/", "to/../l39", "to/../l40/x"} {
		compare(t, s, Ref{0, p})
	}

	// places: 1024 are told
	leaves := repeat(512, "a/../b/../")
	for _, p := range []string{leaves + "d/f", leaves + "none", leaves + "d/../a", leaves[:len(leaves)-5] + "d/../to/f", leaves + "to", leaves + "to/f", leaves + "to/../a"} {
		if want := compare(t, s, Ref{0, p}); strings.HasSuffix(want.reason, "[too_long]") && !strings.HasPrefix(want.trail.Last.Path, "d") && want.trail.Last.Path != "to" {
			t.Errorf("%s at %q", want.reason, want.trail.Last.Path)
		}
	}

	// far below PATH_MAX, with links back
	deep := strings.TrimSuffix(repeat(30, repeat(200, "p")+"/"), "/")
	fd := makeDeep(t, w.path("ws"), deep)
	must(t, unix.Symlinkat(repeat(30, "../")+"d/f", fd, "back"))
	must(t, unix.Symlinkat(w.path("ws")+"/"+repeat(15, repeat(200, "p")+"/"), fd, "half"))
	unix.Close(fd)
	for _, p := range []string{"", "/back", "/half/..", "/half/" + deep[15*201:] + "/half", "/none", "/none/x", "/" + longName, "/back/x", "/../none"} {
		compare(t, s, Ref{0, deep + p})
	}

	// one directory more than a walk holds, and a link in its place
	fd = makeDeep(t, w.path("ws"), strings.TrimSuffix(repeat(2047, "e/"), "/"))
	must(t, unix.Symlinkat("..", fd, "up"))
	must(t, unix.Mkdirat(fd, "e", 0o755))
	unix.Close(fd)
	e := func(n int) string { return repeat(n-1, "e/") + "e" }

	for _, c := range []struct {
		path string
		want Trail
	}{
		{e(2048) + "/e", Trail{Last: Ref{0, e(2049)}, To: Ref{0, e(2049)}, Mark: -1, End: Missing, Part: e(2049)}},
		{e(2048) + "/e/x", Trail{Last: Ref{0, e(2049)}, To: Ref{0, e(2049) + "/x"}, Mark: -1, End: Unknown, Part: e(2049)}},
		{e(2047) + "/up/y/z", Trail{
			Passed: []Passed{{Ref{0, e(2047) + "/up"}, -1, false, false}, {Ref{0, e(2047)}, -1, true, true}},
			Last:   Ref{0, e(2046) + "/y"}, To: Ref{0, e(2046) + "/y/z"}, Mark: -1, End: Missing, Linked: true,
		}},
		{repeat(2048, "d/") + "f", Trail{Last: Ref{0, "d/d"}, To: Ref{0, strings.TrimSuffix(repeat(2048, "d/"), "/") + "/f"}, Mark: -1, End: Missing, Part: "d/d"}},
		// the text that a link leaves is too long, or all of it takes too many steps
		{"many" + repeat(64<<10-400, "/.") + repeat(200, "/d"), Trail{Passed: []Passed{{Ref{0, "many"}, -1, false, false}}, Last: Ref{0, "many"}, To: Ref{0, "many"}, Mark: -1, End: Unknown, Linked: true}},
		{repeat(20_000, "d/../") + "to/x", Trail{Passed: []Passed{{Ref{0, "d"}, -1, true, false}}, Last: Ref{0, "d"}, To: Ref{0, "d"}, Mark: -1, End: Unknown}},
	} {
		got, ok := s.Trace(Ref{0, c.path})
		if len(c.path) > 50_000 {
			got.Part = ""
		}
		if !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%.40q: %t\n%s\nwant\n%s", c.path, ok, brief(got), brief(c.want))
		}
	}
}
