package beneath

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound"
)

func ctx() context.Context { return context.Background() }

// TestResolve is the table of paths and links. want is the text, the names, or the start of the outcome; at, where given,
// is where the object was reached. Every case is asked on both resolvers.
func TestResolve(t *testing.T) {
	const in, alive = "text:" + inside, "text:alive"
	chain := func(n int, last string) []string {
		var s []string
		for i := 1; i < n; i++ {
			s = append(s, fmt.Sprintf("link ws/c%d c%d", i, i+1))
		}
		return append(s, fmt.Sprintf("link ws/c%d %s", n, last))
	}
	bomb := []string{"link ws/b0 d"}
	for i := 1; i <= 24; i++ {
		bomb = append(bomb, fmt.Sprintf("link ws/b%d b%d/../b%d", i, i-1, i-1))
	}
	cases := []struct {
		name  string
		setup []string
		roots []string
		path  string
		want  string
		at    string
	}{
		// Paths.
		{name: "plain", path: "d/f", want: in, at: "0:d/f"},
		{name: "root by nothing", path: "", want: "dir:alive d", at: "0:"},
		{name: "root by dot", path: ".", want: "dir:alive d", at: "0:"},
		{name: "root by noise", path: "./././", want: "dir:alive d", at: "0:"},
		{name: "climb at once", path: "../out/secret", want: "outside_root"},
		{name: "climb in the middle", path: "d/../../out/secret", want: "outside_root"},
		{name: "climb that stays", path: "d/../d/f", want: in, at: "0:d/f"},
		{name: "zigzag", setup: []string{"mkdir ws/a/b/c", "file ws/a/t " + inside}, path: "a/b/../b/c/../../t", want: in, at: "0:a/t"},
		{name: "climb to the root", path: "d/..", want: "dir:alive d", at: "0:"},
		{name: "parent of the root", path: "..", want: "outside_root"},
		{name: "climb behind a missing name", path: "nope/../d/f", want: "not_found"},
		{name: "climb behind a file", path: "alive/../d/f", want: "not_a_directory"},
		{name: "out and in by name", path: "../ws/d/f", want: "outside_root"},
		{name: "absolute", path: "/d/f", want: "path_invalid [absolute]"},
		{name: "noise", path: "d//.///f", want: in, at: "0:d/f"},
		{name: "slash after a directory", path: "d/", want: "dir:f", at: "0:d"},
		{name: "slash after a file", path: "d/f/", want: "path_invalid [trailing_slash]"},
		{name: "dot after a file", path: "d/f/.", want: "path_invalid [trailing_slash]"},
		{name: "below a file", path: "d/f/x", want: "not_a_directory"},
		{name: "NUL", path: "d/f\x00", want: "path_invalid [nul]"},
		{name: "missing", path: "d/missing", want: "not_found"},
		{name: "missing deep", path: "x/y/z", want: "not_found"},
		{name: "percent is literal", setup: []string{"file ws/a%2Fb " + inside}, path: "a%2Fb", want: in},
		{name: "backslash is literal", path: `..\out\secret`, want: "not_found"},
		{name: "URI is a name", path: "file://d/f", want: "not_found"},
		{name: "other case", path: "D/F", want: "not_found"},
		{name: "blanks", setup: []string{"file ws/x " + inside, "mv ws/x ws/y"}, path: " y", want: "not_found"},
		{name: "name of 255", setup: []string{"file ws/" + repeat(255, "n") + " " + inside}, path: repeat(255, "n"), want: in},
		{name: "name of 256", path: repeat(256, "n"), want: "path_invalid [name_too_long]"},
		{name: "twenty thousand climbs", path: repeat(20_000, "d/../") + "d/f", want: "path_invalid"},
		{name: "a thousand climbs", path: repeat(1_000, "d/../") + "d/f", want: in, at: "0:d/f"},
		{name: "a mebibyte of noise", path: repeat(1<<19, "./") + "d/f", want: "path_invalid [too_long]"},
		{name: "raw bytes", setup: []string{"file ws/\xff\xfe " + inside}, path: "\xff\xfe", want: in},

		// Links inside.
		{name: "relative link", setup: []string{"link ws/l d/f"}, path: "l", want: in, at: "0:d/f"},
		{name: "link in the middle", setup: []string{"link ws/l d"}, path: "l/f", want: in, at: "0:d/f"},
		{name: "two links", setup: []string{"link ws/l d", "link ws/d/m f"}, path: "l/m", want: in, at: "0:d/f"},
		{name: "three in a row", setup: []string{"link ws/a b", "link ws/b c", "link ws/c d/f"}, path: "a", want: in, at: "0:d/f"},
		{name: "link that climbs", setup: []string{"link ws/d/l ../alive"}, path: "d/l", want: alive, at: "0:alive"},
		{name: "target with a slash", setup: []string{"link ws/l d/"}, path: "l/f", want: in, at: "0:d/f"},
		{name: "target with a dot", setup: []string{"link ws/l d/."}, path: "l/f", want: in, at: "0:d/f"},
		{name: "target of dots", setup: []string{"link ws/d/l ."}, path: "d/l/l/l/f", want: in, at: "0:d/f"},
		{name: "splice", setup: []string{"mkdir ws/p", "mkdir ws/k/m", "file ws/k/r/end " + inside, "link ws/go p/q/r/end",
			"link ws/p/q s", "link ws/p/s ../t", "link ws/t k/m/n", "link ws/k/m/n .."}, path: "go", want: in, at: "0:k/r/end"},
		{name: "climb after a link is physical", setup: []string{"mkdir ws/b/c", "file ws/b/t " + inside, "file ws/t wrong",
			"link ws/a b/c"}, path: "a/../t", want: in, at: "0:b/t"},
		{name: "link to the root", setup: []string{"link ws/d/up .."}, path: "d/up", want: "dir:alive d", at: "0:"},
		{name: "file through a link to the root", setup: []string{"link ws/d/up .."}, path: "d/up/d/f", want: in, at: "0:d/f"},
		{name: "slash after a link", setup: []string{"link ws/l d"}, path: "l/", want: "dir:f", at: "0:d"},
		{name: "thirty links", setup: chain(30, "d/f"), path: "c1", want: in, at: "0:d/f"},
		{name: "forty links", setup: chain(40, "d/f"), path: "c1", want: in, at: "0:d/f"},
		{name: "forty-one links", setup: chain(41, "d/f"), path: "c1", want: "path_unresolvable"},
		{name: "loop", setup: []string{"link ws/a a"}, path: "a", want: "path_unresolvable"},
		{name: "loop of two", setup: []string{"link ws/x y/z", "link ws/y x"}, path: "x", want: "path_unresolvable"},
		{name: "bomb", setup: bomb, path: "b24/f", want: "path_unresolvable"},
		{name: "dangling", setup: []string{"link ws/l d/none"}, path: "l", want: "not_found"},
		{name: "target of a file with a slash", setup: []string{"link ws/l d/f/"}, path: "l", want: "path_invalid [trailing_slash]"},
		{name: "below a link to a file", setup: []string{"link ws/l d/f"}, path: "l/x", want: "not_a_directory"},
		{name: "climb after a link to a file", setup: []string{"link ws/l d/f"}, path: "l/../f", want: "not_a_directory"},
		{name: "file/.. in a link", setup: []string{"link ws/l alive/../d/f"}, path: "l", want: "not_a_directory"},
		{name: "caller climbs out of a link to the root", setup: []string{"link ws/d/e/up ../.."}, path: "d/e/up/..", want: "outside_root"},

		// Links outside.
		{name: "relative link out", setup: []string{"link ws/l ../out/secret"}, path: "l", want: "outside_root"},
		{name: "relative link out, missing", setup: []string{"link ws/l ../out/nothing"}, path: "l", want: "outside_root"},
		{name: "relative link to a directory outside", setup: []string{"link ws/l ../out"}, path: "l", want: "outside_root"},
		{name: "file below it", setup: []string{"link ws/l ../out"}, path: "l/secret", want: "outside_root"},
		{name: "link to the parent", setup: []string{"link ws/l .."}, path: "l", want: "outside_root"},
		{name: "through the parent and back by the caller", setup: []string{"link ws/l .."}, path: "l/ws/d/f", want: "outside_root"},
		{name: "link to the grandparent", setup: []string{"link ws/d/l ../../"}, path: "d/l", want: "outside_root"},
		{name: "the last of a chain", setup: []string{"link ws/a b", "link ws/b d/c", "link ws/d/c ../../out/secret"}, path: "a", want: "outside_root"},
		{name: "many climbs", setup: []string{"link ws/d/l " + repeat(60, "../") + "etc/passwd"}, path: "d/l", want: "outside_root"},
		{name: "slash after a link out", setup: []string{"link ws/l ../out"}, path: "l/", want: "outside_root"},
		{name: "slash after a link to a file outside", setup: []string{"link ws/l ../out/secret"}, path: "l/", want: "outside_root"},
		{name: "splice out", setup: []string{"mkdir ws/p", "link ws/go p/q/sub/inner", "link ws/p/q s", "link ws/p/s ../../out"}, path: "go", want: "outside_root"},

		// Out and in again: a link's text is mapped like a path.
		{name: "re-enter", setup: []string{"link ws/l ../ws/d/f"}, path: "l", want: in, at: "0:d/f"},
		{name: "re-enter from below", setup: []string{"link ws/d/self ../../ws/"}, path: "d/self", want: "dir:alive d", at: "0:"},
		{name: "re-enter, then the caller goes on", setup: []string{"link ws/l ../ws/d"}, path: "l/f", want: in, at: "0:d/f"},
		{name: "re-enter, then the caller climbs", setup: []string{"link ws/l ../ws/d"}, path: "l/../alive", want: alive, at: "0:alive"},
		{name: "re-enter a sibling", setup: []string{"file ws-evil/s " + secret, "link ws/l ../ws-evil/s"}, path: "l", want: "outside_root"},
		{name: "re-enter through an outside link", setup: []string{"link back ws", "link ws/l ../back/d/f"}, path: "l", want: "outside_root"},
		{name: "re-enter after an outside name", setup: []string{"link ws/l ../out/../ws/d/f"}, path: "l", want: "outside_root"},
		{name: "re-enter in two texts", setup: []string{"link ws/up ..", "link ws/l up/ws/d/f"}, path: "l", want: "outside_root"},
		{name: "re-enter by the whole path", setup: []string{"link ws/l " + repeat(60, "../") + "$W/ws/d/f"}, path: "l", want: in, at: "0:d/f"},

		// Absolute links.
		{name: "absolute link to a file", setup: []string{"link ws/l $ROOT/d/f"}, path: "l", want: in, at: "0:d/f"},
		{name: "absolute link to a directory", setup: []string{"link ws/l $ROOT/d"}, path: "l/f", want: in, at: "0:d/f"},
		{name: "noise and a climb behind the root", setup: []string{"mkdir ws/e", "link ws/e/l $ROOT//d/../d/./"}, path: "e/l/f", want: in, at: "0:d/f"},
		{name: "absolute link to the root", setup: []string{"link ws/d/l $ROOT"}, path: "d/l", want: "dir:alive d", at: "0:"},
		{name: "absolute link out", setup: []string{"link ws/l $OUT/secret"}, path: "l", want: "outside_root"},
		{name: "absolute link out, missing", setup: []string{"link ws/l $OUT/nothing"}, path: "l", want: "outside_root"},
		{name: "absolute link to a directory outside", setup: []string{"link ws/l $OUT"}, path: "l/secret", want: "outside_root"},
		{name: "absolute link to a prefix", setup: []string{"file ws-evil/s " + secret, "link ws/l $W/ws-evil/s"}, path: "l", want: "outside_root"},
		{name: "absolute link that climbs", setup: []string{"link ws/l $ROOT/../out/secret"}, path: "l", want: "outside_root"},
		{name: "link to the top", setup: []string{"link ws/d/l /"}, path: "d/l", want: "outside_root"},
		{name: "above the top", setup: []string{"link ws/l /../../etc/passwd"}, path: "l", want: "outside_root"},
		{name: "the root spelled with climbs", setup: []string{"link ws/l /../..$ROOT/d/f"}, path: "l", want: "outside_root"},
		{name: "no chroot reading", setup: []string{"link ws/l /d"}, path: "l/f", want: "outside_root"},
		{name: "spelling that was not approved", setup: []string{"link alias ws", "link ws/l $W/alias/d/f"}, path: "l", want: "outside_root"},
		{name: "approved alias", setup: []string{"link alias ws", "link ws/l $W/alias/d/f"}, roots: []string{"alias"}, path: "l", want: in, at: "0:d/f"},
		{name: "canonical path beside the alias", setup: []string{"link alias ws", "link ws/l $ROOT/d/f"}, roots: []string{"alias"}, path: "l", want: in, at: "0:d/f"},
		{name: "into another root", setup: []string{"file ws2/x " + inside, "link ws/l $W/ws2/x"}, roots: []string{"ws", "ws2"}, path: "l", want: in, at: "1:x"},
		{name: "relative into another root", setup: []string{"file ws2/x " + inside, "link ws/l ../ws2/x"}, roots: []string{"ws", "ws2"}, path: "l", want: in, at: "1:x"},
		{name: "and back", setup: []string{"link ws2/x ../ws/d", "link ws/l $W/ws2/x"}, roots: []string{"ws", "ws2"}, path: "l/f", want: in, at: "0:d/f"},
		{name: "out of another root by the caller", setup: []string{"mkdir ws2", "link ws/d/l $W/ws2"}, roots: []string{"ws", "ws2"}, path: "d/l/..", want: "outside_root"},
		{name: "the longest root wins", setup: []string{"link ws/l $ROOT/d/f"}, roots: []string{"ws", "ws/d"}, path: "l", want: in, at: "1:f"},
		{name: "magic link", setup: []string{"link ws/l /proc/self/root$OUT/secret"}, path: "l", want: "outside_root"},
		{name: "environment", setup: []string{"link ws/l /proc/self/environ"}, path: "l", want: "outside_root"},
		{name: "hard link", setup: []string{"hard ws/h out/secret"}, path: "h", want: "text:" + secret, at: "0:h"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.do(c.setup...)
			s := w.set(false, c.roots...)
			for _, s.walkOnly = range []bool{false, true} {
				for _, how := range []How{Any, Handle} {
					got, o := read(s, Ref{0, c.path}, how)
					if got == "handle" {
						got = c.want // an O_PATH handle has no content
					}
					if strings.HasPrefix(got, "dir:") {
						var names []string // the setup's own names are not of interest
						for name := range strings.FieldsSeq(strings.TrimPrefix(got, "dir:")) {
							if name == "alive" || name == "d" || name == "f" {
								names = append(names, name)
							}
						}
						got = "dir:" + strings.Join(names, " ")
					}
					if got != c.want && !(strings.HasPrefix(got, c.want+" [") || c.want == "path_invalid" && strings.HasPrefix(got, c.want)) {
						t.Errorf("walk %v, how %d: got %s, want %s", s.walkOnly, how, got, c.want)
					}
					if o == nil {
						continue
					}
					if at := fmt.Sprintf("%d:%s", o.At().Root, o.At().Path); c.at != "" && at != c.at {
						t.Errorf("walk %v: reached %s, want %s", s.walkOnly, at, c.at)
					}
					again, _ := read(s, o.At(), how)
					if how == Any && !strings.HasPrefix(c.want, "dir:") && again != c.want {
						t.Errorf("walk %v: where it was reached (%v) there is %s", s.walkOnly, o.At(), again)
					}
				}
			}
		})
	}
}

func TestHow(t *testing.T) {
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		w.do("link ws/lf d/f", "link ws/ld d")
		s := w.set(walkOnly)
		for _, c := range []struct {
			path string
			how  How
			want string
		}{
			{"d/f", File, "text:" + inside}, {"d", File, "is_a_directory"}, {"", File, "is_a_directory"},
			{"d/f", Dir, "not_a_directory"}, {"d", Dir, "dir:f"}, {"", Dir, "dir:alive d ld lf"},
			{"lf", File, "text:" + inside}, {"ld", File, "is_a_directory"}, {"lf", Dir, "not_a_directory"}, {"ld", Dir, "dir:f"},
			{"lf/", Dir, "path_invalid [trailing_slash]"}, {"d/f/", Dir, "path_invalid [trailing_slash]"},
		} {
			if got, _ := read(s, Ref{0, c.path}, c.how); got != c.want {
				t.Errorf("%q as %d: %s, want %s", c.path, c.how, got, c.want)
			}
		}
		if _, err := s.Open(Ref{1, "d"}, Any); rootbound.ReasonOf(err) != rootbound.OutsideRoot {
			t.Errorf("a root that is not in the set: %v", err)
		}
		if _, err := s.Open(Ref{-1, "d"}, Any); rootbound.ReasonOf(err) != rootbound.OutsideRoot {
			t.Errorf("a root that is not in the set: %v", err)
		}
	})
}

// TestLongPath needs the walk, which goes beyond what one system call takes.
func TestLongPath(t *testing.T) {
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		s := w.set(walkOnly)
		name := repeat(200, "n")
		deep := strings.TrimSuffix(repeat(40, name+"/"), "/")
		o, made, err := s.MkdirAll(Ref{0, deep}, allow, direct)
		if err != nil || made != 40 {
			t.Fatal(made, err)
		}
		o.Close()
		put(t, s, deep+"/f", "deep")
		if got, o := read(s, Ref{0, deep + "/f"}, File); got != "text:deep" || o.At().Path != deep+"/f" {
			t.Fatal(got)
		}
		// os.RemoveAll copes with such a tree, but only from a directory handle on.
		r, err := os.OpenRoot(w.path("ws"))
		must(t, err)
		defer r.Close()
		must(t, r.RemoveAll(name))
	})
}

func TestMap(t *testing.T) {
	w := newWorld(t)
	w.do("mkdir ws/d/inner", "link alias ws")
	s := NewSet([]Member{{Root: w.root("alias"), Spelled: []string{"/private/x", "/has/../dots"}}, {Root: w.root("ws/d/inner")}}, nil)
	for _, c := range []struct {
		abs, want string
	}{
		{"$ROOT", "0:"}, {"$ROOT/", "0:"}, {"$ROOT/d/f", "0:d/f"}, {"$ROOT//d///f", "0:d///f"}, {"/./$ROOT/./d", "0:./d"},
		{"$W/alias/d", "0:d"}, {"/private/x/y", "0:y"}, {"/private/xy", ""}, {"/has/../dots/f", ""}, {"/dots/f", ""},
		{"$ROOT/d/inner/x", "1:x"}, {"$ROOT/d/inner", "1:"}, {"$ROOT/d/innermost", "0:d/innermost"}, {"$ROOT/d/../../out", "0:d/../../out"},
		{"$ROOT/d/inner/../x", "1:../x"}, {"$W/out/../ws/d", ""}, {"$W/ws-evil", ""}, {"$OUT", ""}, {"/", ""}, {"", ""}, {"d/f", ""},
		{"$ROOT/../ws/d", "0:../ws/d"},
	} {
		got := ""
		if ref, ok := s.Map(strings.NewReplacer("$ROOT", w.dir+"/ws", "$OUT", w.dir+"/out", "$W", w.dir).Replace(c.abs)); ok {
			got = fmt.Sprintf("%d:%s", ref.Root, ref.Path)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.abs, got, c.want)
		}
	}
}

func TestMarks(t *testing.T) {
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		w.do("file ws/p/q/x "+inside, "link ws/l p/q/x", "mkdir ws/p/q/r/s")
		outer, inner := w.root("ws/p"), w.root("ws/p/q")
		marks := []ObjectID{w.root("ws").ID(), outer.ID(), inner.ID()}
		s := NewSet([]Member{{Root: w.root("ws")}, {Root: w.root("ws/p/q/r")}}, marks)
		s.walkOnly = walkOnly
		for _, c := range []struct {
			at   Ref
			want int
		}{
			{Ref{0, "alive"}, 0}, {Ref{0, ""}, 0}, {Ref{0, "p"}, 1}, {Ref{0, "p/q"}, 2}, {Ref{0, "p/q/x"}, 2}, {Ref{0, "l"}, 2},
			{Ref{0, "p/q/../q/x"}, 2}, {Ref{0, "p/q/.."}, 1}, {Ref{1, ""}, 2}, {Ref{1, "s"}, 2},
		} {
			o, err := s.Open(c.at, Any)
			must(t, err)
			if o.Mark() != c.want {
				t.Errorf("%v: mark %d, want %d", c.at, o.Mark(), c.want)
			}
			o.Close()
		}
		for p, want := range map[string]int{"new": 0, "p": 0, "p/new": 1, "p/q/new": 2, "p/q": 1} {
			e, err := s.Entry(Ref{0, p}, false)
			must(t, err)
			if e.Mark() != want {
				t.Errorf("entry %s: mark %d, want %d", p, e.Mark(), want)
			}
			e.Close()
		}
		got := map[string]int{}
		top, err := s.Open(Ref{}, Dir)
		must(t, err)
		defer top.Close()
		must(t, top.Walk(ctx(), func(n *Node) (Step, error) { got[n.At().Path] = n.Mark(); return Into, nil }, nil))
		for p, want := range map[string]int{"alive": 0, "d/f": 0, "p": 1, "p/q": 2, "p/q/x": 2, "p/q/r/s": 2, "l": 0} {
			if got[p] != want {
				t.Errorf("walk, %s: mark %d, want %d", p, got[p], want)
			}
		}
		// The mark follows the directory, not its name.
		w.do("mv ws/p/q ws/moved")
		o, err := s.Open(Ref{0, "moved/x"}, File)
		must(t, err)
		defer o.Close()
		if o.Mark() != 2 {
			t.Errorf("moved: mark %d", o.Mark())
		}
	})
}

// TestDeepPathHoldsFewDescriptors: a path of many names leaves descriptors to others, and finds its way back up through what
// it closed, which must be the same directory.
func TestDeepPathHoldsFewDescriptors(t *testing.T) {
	w := newWorld(t)
	unix.Close(makeDeep(t, w.path("ws"), strings.TrimSuffix(repeat(2000, "e/"), "/")))
	s := w.set(true)
	before := openFDs(t)
	for _, c := range []struct{ path, want string }{
		{repeat(2000, "e/") + "none", strings.TrimSuffix(repeat(2000, "e/"), "/") + "/none"},
		{repeat(2000, "e/") + repeat(1000, "../") + "none", strings.TrimSuffix(repeat(1000, "e/"), "/") + "/none"},
		{repeat(40, "e/") + repeat(40, "../") + "d/f", "d/f"},
	} {
		r := walk{set: s}
		must(t, r.run(0, c.path, true))
		if got := r.reached(); got != c.want {
			t.Errorf("reached %.100s, want %.100s", got, c.want)
		}
		if n := openFDs(t) - before; n > heldLevels+2 {
			t.Errorf("%d descriptors for one path", n)
		}
		r.close()
		if after := openFDs(t); after != before {
			t.Errorf("%d descriptors, %d before", after, before)
		}
	}

	r := walk{set: s}
	defer r.close()
	r.object, r.sent, r.text = -1, "", repeat(40, "e/")
	must(t, r.enter(0))
	for range 40 {
		_, err := r.down("e", "")
		must(t, err)
	}
	must(t, os.Rename(w.path("ws/"+repeat(15, "e/")+"e"), w.path("out/away")))
	for range 40 {
		if !r.stack[len(r.stack)-1].settled {
			must(t, r.settle())
		}
		if err := r.up(""); err != nil {
			if outcome(err) != "moved_out" || len(r.stack) != 16 {
				t.Errorf("at level %d: %v", len(r.stack), err)
			}
			return
		}
	}
	t.Error("it went up through what was moved")
}
