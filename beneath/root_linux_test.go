package beneath

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound"
)

func TestRoot(t *testing.T) {
	w := newWorld(t)
	w.do("link alias ws", "link via/up ..", "link loop loop", "link plain ws/alive")
	for _, c := range []struct{ dir, want, spelled string }{
		{"$W/ws", "$W/ws", "$W/ws"}, {"$W//./ws/", "$W/ws", "$W/ws"}, {"$W/alias", "$W/ws", "$W/alias"},
		{"$W/via/up/ws", "$W/ws", "$W/via/up/ws"}, {"$W/ws/../out", "$W/out", "$W/ws/../out"},
		{"$W/nope", "root_unusable [missing]", ""}, {"$W/ws/alive", "root_unusable [not_a_directory]", ""},
		{"$W/plain", "root_unusable [not_a_directory]", ""}, {"$W/loop", "root_unusable [special]", ""},
		{"ws", "root_unusable [missing]", ""}, {"", "root_unusable [missing]", ""}, {"$W/ws\x00", "root_unusable [missing]", ""},
		{"/dev/null", "root_unusable [not_a_directory]", ""}, {"/", "/", "/"},
	} {
		full := func(p string) string {
			if len(p) > 1 && p[0] == '$' {
				return w.dir + p[2:]
			}
			return p
		}
		r, err := OpenRoot(full(c.dir))
		if err != nil {
			if outcome(err) != c.want {
				t.Errorf("%s: %v", c.dir, err)
			}
			continue
		}
		if r.Path() != full(c.want) || r.Spelled() != full(c.spelled) {
			t.Errorf("%s: %s spelled %s", c.dir, r.Path(), r.Spelled())
		}
		if i, err := r.Info(); err != nil || i.ID != r.ID() || !i.Mode.IsDir() {
			t.Error(i, err)
		}
		must(t, r.Unmoved())
		r.Release()
	}
	if os.Getenv(surrounding) != "no /proc" {
		for _, p := range []string{"/proc", "/proc/self", "/sys", "/proc/self/cwd"} {
			if _, err := OpenRoot(p); outcome(err) != "root_unusable [special]" {
				t.Errorf("%s: %v", p, err)
			}
		}
	}
}

func TestRootMoves(t *testing.T) {
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		w.do("link alias ws")
		r, a := w.root("ws"), w.root("alias")
		s := NewSet([]Member{{Root: r}}, nil)
		s.walkOnly = walkOnly
		w.do("mv ws old", "file ws/d/f "+secret)
		for _, r := range []*Root{r, a} {
			if err := r.Unmoved(); outcome(err) != "root_replaced" {
				t.Error(err)
			}
		}
		if got, _ := read(s, Ref{0, "d/f"}, File); got != "text:"+inside {
			t.Error("another directory is served:", got)
		}
		w.do("rm ws")
		if err := r.Unmoved(); outcome(err) != "root_replaced [missing]" {
			t.Error(err)
		}
		w.do("mv old ws")
		must(t, r.Unmoved())
		must(t, a.Unmoved())
		w.do("rm alias", "link alias out")
		if err := a.Unmoved(); outcome(err) != "root_replaced" {
			t.Error(err)
		}
		w.do("rm ws")
		if got, _ := read(s, Ref{0, "d/f"}, File); got != "not_found" {
			t.Error(got)
		}
		if got := outcome(write(s, "new", "x")); got != "moved_out" && got != "not_found" {
			t.Error(got)
		}
	})
}

func TestHolds(t *testing.T) {
	w := newWorld(t)
	w.do("mkdir ws/d/e", "link alias ws/d", "file ws-evil/x y")
	ws := w.root("ws")
	for p, want := range map[string]string{"ws": "", "ws/d": "d", "ws/d/e": "d/e", "alias": "d"} {
		if got, ok := ws.Holds(w.root(p)); !ok || got != want {
			t.Errorf("%s: %q %v", p, got, ok)
		}
	}
	for _, p := range []string{"out", ".", "ws-evil"} {
		if got, ok := ws.Holds(w.root(p)); ok {
			t.Errorf("%s: %q", p, got)
		}
	}
	e := w.root("ws/d/e")
	w.do("mv ws/d/e out/e", "mkdir ws/d/e")
	if got, ok := ws.Holds(e); ok {
		t.Errorf("moved out: %q", got)
	}
}

// within fails the test if f takes more than twenty seconds; f goes on in the background then.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s hangs", what)
	}
}

func TestG18SpecialFilesNeverBlock(t *testing.T) {
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		must(t, unix.Mkfifo(w.path("ws/fifo"), 0o666))
		w.do("link ws/l fifo", "link ws/abs $ROOT/fifo")
		sock, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		must(t, err)
		defer unix.Close(sock)
		must(t, os.Chdir(w.path("ws"))) // a socket's path must be short
		defer os.Chdir("/")
		must(t, unix.Bind(sock, &unix.SockaddrUnix{Name: "socket"}))
		paths := []string{"fifo", "l", "abs", "socket"}
		if os.Getuid() == 0 {
			must(t, unix.Mknod(w.path("ws/zero"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))))
			must(t, unix.Mknod(w.path("ws/block"), unix.S_IFBLK|0o666, int(unix.Mkdev(7, 200))))
			paths = append(paths, "zero", "block")
		}
		s := w.set(walkOnly)
		for _, p := range paths {
			within(t, p, func() {
				for _, how := range []How{Any, File, Dir, Handle} {
					if got, _ := read(s, Ref{0, p}, how); got[:min(len(got), 12)] != "special_file" {
						t.Errorf("%s as %d: %s", p, how, got)
					}
				}
				if got, _ := read(s, Ref{0, p + "/x"}, Any); got != "not_a_directory" {
					t.Errorf("below %s: %s", p, got)
				}
				if got, _ := read(s, Ref{0, p + "/"}, Any); got != "path_invalid [trailing_slash]" {
					t.Errorf("slash after %s: %s", p, got)
				}
				if got := outcome(write(s, p, "x")); got[:min(len(got), 12)] != "special_file" {
					t.Errorf("write %s: %s", p, got)
				}
				if _, err := OpenRoot(w.path("ws/" + p)); outcome(err) != "root_unusable [not_a_directory]" {
					t.Errorf("%s as a root: %v", p, err)
				}
			})
		}
		within(t, "walk", func() {
			top, err := s.Open(Ref{}, Dir)
			must(t, err)
			defer top.Close()
			must(t, top.Walk(ctx(), func(n *Node) (Step, error) {
				if o, err := n.Open(); err == nil {
					o.Close()
				} else if rootbound.ReasonOf(err) != "special_file" && rootbound.ReasonOf(err) != "path_unresolvable" {
					t.Errorf("%s: %v", n.Name(), err)
				}
				return Into, nil
			}, func(rel string, err error) { t.Error(rel, err) }))
		})
	})
}

// TestG33ClosedHandlesAreNeverReused closes roots, objects and entries and gives their numbers to what is outside.
func TestG33ClosedHandlesAreNeverReused(t *testing.T) {
	w := newWorld(t)
	w.do("file out/d/f "+secret, "file out/alive "+secret)
	fill := func(p string) (done func()) {
		var fds []int
		for range 64 {
			fd, err := unix.Open(w.path(p), unix.O_RDONLY|unix.O_CLOEXEC, 0)
			must(t, err)
			fds = append(fds, fd)
		}
		return func() {
			for _, fd := range fds {
				unix.Close(fd)
			}
		}
	}
	for _, walkOnly := range []bool{false, true} {
		r, err := OpenRoot(w.path("ws"))
		must(t, err)
		s := NewSet([]Member{{Root: r}}, nil)
		s.walkOnly = walkOnly
		e, err := s.Entry(Ref{0, "d/new"}, false)
		must(t, err)
		in, err := s.Entry(Ref{0, "top"}, false)
		must(t, err)
		o, err := s.Open(Ref{0, "d/f"}, File)
		must(t, err)
		r.Retain()
		r.Release()
		r.Release()
		r.Release() // one too many
		e.Close()
		o.Close()
		free := fill("out")
		free2 := fill("out/f")
		if got, _ := read(s, Ref{0, "d/f"}, File); got != "generation_stale [released]" {
			// "top" still holds the root's directory, which is no way back into the Set but keeps the number taken.
			if got != "text:"+inside {
				t.Error("a released root:", got)
			}
		}
		in.Close()
		free3 := fill("out")
		if got, _ := read(s, Ref{0, "d/f"}, File); got != "generation_stale [released]" {
			t.Error("a released root:", got)
		}
		if got := outcome(write(s, "d/f", "x")); got != "generation_stale [released]" {
			t.Error("a released root:", got)
		}
		b := make([]byte, 64)
		if n, err := o.ReadAt(b, 0); err == nil || n > 0 {
			t.Errorf("a closed object: %q", b[:n])
		}
		if _, err := o.Stat(); err == nil {
			t.Error("a closed object is described")
		}
		if err := e.Mkdir(); outcome(err) != "generation_stale [released]" {
			t.Error("a closed entry:", err)
		}
		if _, err := e.Stage(nil, nil); outcome(err) != "generation_stale [released]" {
			t.Error("a closed entry:", err)
		}
		r.Retain() // too late
		if _, err := r.Info(); outcome(err) != "generation_stale [released]" {
			t.Error("a root came back:", err)
		}
		free()
		free2()
		free3()
	}
	closingStorm(t, w)
	if w.names("out") != "alive d f secret sub" || w.text("out/f") != secret {
		t.Error(w.names("out"))
	}
}

// closingStorm closes objects and roots under readers while another program's files take every free number.
func closingStorm(t *testing.T, w *world) {
	stop := make(chan struct{})
	defer func() { <-stop }()
	go func() {
		defer close(stop)
		for end := time.Now().Add(600 * time.Millisecond); time.Now().Before(end); {
			r, err := OpenRoot(w.path("ws"))
			if err != nil {
				t.Error(err)
				return
			}
			s := NewSet([]Member{{Root: r}}, nil)
			o, err := s.Open(Ref{0, "d/f"}, File)
			if err != nil {
				t.Error(err)
				return
			}
			done := make(chan struct{})
			for range 2 {
				go func() {
					defer func() { done <- struct{}{} }()
					b := make([]byte, len(secret))
					for {
						n, err := o.ReadAt(b, 0)
						if string(b[:n]) != inside[:n] {
							t.Errorf("an open object gave %q", b[:n])
							return
						}
						if n == 0 && err != nil {
							break
						}
					}
					for {
						got, _ := read(s, Ref{0, "d/f"}, File)
						if got == "generation_stale [released]" {
							return
						}
						if got != "text:"+inside {
							t.Error("a root gave", got)
							return
						}
					}
				}()
			}
			var fds []int
			o.Close()
			for range 16 {
				if fd, err := unix.Open(w.path("out/f"), unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
					fds = append(fds, fd)
				}
			}
			r.Release()
			for range 16 {
				if fd, err := unix.Open(w.path("out"), unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
					fds = append(fds, fd)
				}
			}
			<-done
			<-done
			for _, fd := range fds {
				unix.Close(fd)
			}
		}
	}()
}
