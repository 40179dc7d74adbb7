package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
)

// A restriction cannot be undone, so each test confines a process of its own: this program, started anew.
const planVar = "ROOTBOUND_TEST_PLAN"

type plan struct {
	Mode     Mode
	Needs    Needs
	World    string // directory that holds everything
	Listener string // address of a TCP listener outside
	NoProc   bool   // hide /proc first
}

type report struct {
	Status Status
	Err    string
	Did    map[string]string // what was tried, and its error
}

func TestMain(m *testing.M) {
	if text := os.Getenv(planVar); text != "" {
		var p plan
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			panic(err)
		}
		json.NewEncoder(os.Stdout).Encode(p.play())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func (p *plan) play() report {
	if p.NoProc {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return report{Err: "mount: " + err.Error()}
		}
		if err := unix.Mount("tmpfs", "/proc", "tmpfs", 0, ""); err != nil {
			return report{Err: "mount: " + err.Error()}
		}
	}
	r := report{Did: make(map[string]string)}
	log := (*decision.JSONL)(nil)
	if p.Needs.Audit != "" {
		var err error
		log, err = decision.OpenJSONL(p.Needs.Audit, decision.JSONLOptions{MaxSize: 2000, Keep: 3, Sync: decision.SyncAlways})
		if err != nil {
			return report{Err: err.Error()}
		}
	}
	// Threads that are there before must be restricted as well as those that come later.
	const threads = 6
	var early, done sync.WaitGroup
	confined := make(chan struct{})
	failed := make(chan string, 2*threads)
	try := func() {
		defer done.Done()
		runtime.LockOSThread()
		early.Done()
		<-confined
		_, err := os.ReadFile(p.World + "/outside/secret")
		failed <- reason(err)
	}
	for range threads {
		early.Add(1)
		done.Add(1)
		go try()
	}
	early.Wait()

	status, err := Confine(p.Mode, p.Needs)
	r.Status = status
	if err != nil {
		r.Err = err.Error()
	}
	for range threads {
		early.Add(1)
		done.Add(1)
		go try()
	}
	close(confined)
	done.Wait()
	close(failed)
	var all []string
	for f := range failed {
		all = append(all, f)
	}
	slices.Sort(all)
	r.Did["threads read outside"] = strings.Join(slices.Compact(all), ", ")
	for name, do := range p.deeds(log) {
		r.Did[name] = reason(do())
	}
	return r
}

func reason(err error) string {
	var e syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e):
		return unix.ErrnoName(e)
	}
	return err.Error()
}

// deeds are independent of each other.
func (p *plan) deeds(log *decision.JSONL) map[string]func() error {
	w := p.World
	return map[string]func() error{
		"read rw":         func() error { _, err := os.ReadFile(w + "/rw/file"); return err },
		"list rw":         func() error { _, err := os.ReadDir(w + "/rw"); return err },
		"create rw":       func() error { return os.WriteFile(w+"/rw/new", []byte("x"), 0o600) },
		"truncate rw":     func() error { return os.Truncate(w+"/rw/long", 1) },
		"mkdir rw":        func() error { return os.Mkdir(w+"/rw/dir", 0o700) },
		"remove rw":       func() error { return os.Remove(w + "/rw/old") },
		"rmdir rw":        func() error { return os.Remove(w + "/rw/olddir") },
		"move between rw": func() error { return os.Rename(w+"/rw/a/moved", w+"/rw/b/moved") },
		"move a link":     func() error { return os.Rename(w+"/rw/a/link", w+"/rw/b/link") },
		"move a tree":     func() error { return os.Rename(w+"/rw/a/tree", w+"/rw/b/tree") },
		"exchange": func() error {
			return unix.Renameat2(unix.AT_FDCWD, w+"/rw/x", unix.AT_FDCWD, w+"/rw/y", unix.RENAME_EXCHANGE)
		},
		"sync": func() error {
			f, err := os.Open(w + "/rw")
			if err != nil {
				return err
			}
			defer f.Close()
			return f.Sync()
		},
		"read ro":                  func() error { _, err := os.ReadFile(w + "/ro/file"); return err },
		"write ro":                 func() error { return os.WriteFile(w+"/ro/file", []byte("x"), 0o600) },
		"create ro":                func() error { return os.WriteFile(w+"/ro/new", nil, 0o600) },
		"remove ro":                func() error { return os.Remove(w + "/ro/file") },
		"move rw to ro":            func() error { return os.Rename(w+"/rw/stays", w+"/ro/stays") },
		"read outside":             func() error { _, err := os.ReadFile(w + "/outside/secret"); return err },
		"list outside":             func() error { _, err := os.ReadDir(w + "/outside"); return err },
		"list above":               func() error { _, err := os.ReadDir(w); return err },
		"create outside":           func() error { return os.WriteFile(w+"/outside/new", nil, 0o600) },
		"through a link":           func() error { _, err := os.ReadFile(w + "/rw/way-out"); return err },
		"through dots":             func() error { _, err := os.ReadFile(w + "/rw/../outside/secret"); return err },
		"move outside":             func() error { return os.Rename(w+"/rw/stays", w+"/outside/stays") },
		"move in":                  func() error { return os.Rename(w+"/outside/taken", w+"/rw/taken") },
		"link in":                  func() error { return os.Link(w+"/outside/linked", w+"/rw/hard") },
		"make a link":              func() error { return os.Symlink("x", w+"/ro/link") },
		"execute":                  func() error { return exec.Command("/bin/true").Run() },
		"make a device":            func() error { return unix.Mknod(w+"/rw/fifo", unix.S_IFIFO|0o600, 0) },
		"lock state":               func() error { return lock(w + "/state/locks") },
		"create in state":          func() error { return os.WriteFile(w+"/state/journal", nil, 0o600) },
		"read config":              func() error { _, err := os.ReadFile(w + "/etc/config.yaml"); return err },
		"write config":             func() error { return os.WriteFile(w+"/etc/config.yaml", nil, 0o600) },
		"read the log's neighbour": func() error { _, err := os.ReadFile(w + "/log/other"); return err },
		"dial": func() error {
			c, err := net.DialTimeout("tcp4", p.Listener, time.Minute)
			if err == nil {
				c.Close()
			}
			return err
		},
		"local time": func() error {
			if time.Unix(0, 0).Local().IsZero() {
				return errors.New("no local time")
			}
			return nil
		},
		"rotate the log": func() error {
			if log == nil {
				return nil
			}
			for i := range 60 {
				r := decision.Record{ID: fmt.Sprint(i), Phase: decision.Decided, Time: time.Now(), Operation: "write"}
				if err := log.Decided(&r, true); err != nil {
					return err
				}
			}
			return log.Close()
		},
	}
}

func lock(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Len: 1})
}

// world makes the directories of one test; everything in it belongs to uid.
func world(t *testing.T, uid int) string {
	t.Helper()
	w, err := os.MkdirTemp("", "rootbound-sandbox-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(w) })
	for _, d := range []string{"rw/a/tree/deep", "rw/b", "rw/olddir", "ro", "outside", "state", "log", "etc"} {
		must(t, os.MkdirAll(filepath.Join(w, d), 0o700))
	}
	for _, f := range []string{"rw/file", "rw/long", "rw/old", "rw/stays", "rw/x", "rw/y", "rw/a/moved", "ro/file", "outside/secret", "outside/taken", "outside/linked", "etc/config.yaml", "log/other"} {
		must(t, os.WriteFile(filepath.Join(w, f), []byte("content"), 0o600))
	}
	must(t, os.Symlink("../outside/secret", w+"/rw/way-out"))
	must(t, os.Symlink("../file", w+"/rw/a/link"))
	must(t, filepath.Walk(w, func(path string, _ os.FileInfo, err error) error {
		if err == nil {
			err = os.Lchown(path, uid, uid)
		}
		return err
	}))
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func dirOf(t *testing.T, id, path string, write bool) Dir {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Stat(path, &st))
	return Dir{ID: rootbound.RootID("p-" + id), Path: path, Dev: st.Dev, Ino: st.Ino, Write: write}
}

func needs(t *testing.T, w string) Needs {
	return Needs{
		Dirs:  []Dir{dirOf(t, "rw", w+"/rw", true), dirOf(t, "ro", w+"/ro", false)},
		State: []string{w + "/state"}, Audit: w + "/log/audit.jsonl", Rotates: true,
		Read: []string{w + "/etc/config.yaml", w + "/etc/missing"},
	}
}

// play runs the plan in a process of its own as uid.
func play(t *testing.T, p plan, uid int) report {
	t.Helper()
	text, err := json.Marshal(p)
	must(t, err)
	cmd := exec.Command("/proc/self/exe") // the program's own path may be closed to uid
	cmd.Env = append(os.Environ(), planVar+"="+string(text))
	cmd.Stderr = os.Stderr
	attr := &syscall.SysProcAttr{}
	if uid != os.Getuid() {
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	}
	if p.NoProc {
		attr.Cloneflags = syscall.CLONE_NEWNS
	}
	cmd.SysProcAttr = attr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var r report
	must(t, json.Unmarshal(out, &r))
	return r
}

// users are who the tests run as: this user, and, if that is root, an ordinary one too.
func users() map[string]int {
	u := map[string]int{"as this user": os.Getuid()}
	if os.Getuid() == 0 {
		u["as an ordinary user"] = 65534
	}
	return u
}

func needLandlock(t *testing.T) int {
	t.Helper()
	abi := abiOf()
	if abi == 0 {
		t.Skip("this kernel has no Landlock")
	}
	return abi
}

func TestConfined(t *testing.T) {
	abi := needLandlock(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			w := world(t, uid)
			r := play(t, plan{Mode: Require, Needs: needs(t, w), World: w, Listener: l.Addr().String()}, uid)
			if r.Err != "" || !r.Status.Confined || !strings.HasPrefix(r.Status.Text, fmt.Sprintf("landlock abi %d: files below 2 directories", abi)) {
				t.Fatalf("%+v, %s", r.Status, r.Err)
			}
			want := map[string]string{
				"threads read outside": "EACCES",
				"write ro":             "EACCES", "create ro": "EACCES", "remove ro": "EACCES", "make a link": "EACCES",
				"read outside": "EACCES", "list outside": "EACCES", "list above": "EACCES", "create outside": "EACCES",
				"through a link": "EACCES", "through dots": "EACCES", "move rw to ro": "EACCES", "move outside": "EACCES",
				"move in": "EACCES", "link in": "EACCES", "execute": "EACCES", "make a device": "EACCES",
				"write config": "EACCES", "read the log's neighbour": "EACCES", "dial": "EACCES",
			}
			if abi < 4 {
				want["dial"] = "ok"
			}
			for what, got := range r.Did {
				wanted := want[what]
				if wanted == "" {
					wanted = "ok"
				}
				// The kernel answers EXDEV where a move would gain rights.
				if got != wanted && !(wanted == "EACCES" && got == "EXDEV" && (strings.HasPrefix(what, "move") || what == "link in")) {
					t.Errorf("%s: %s, want %s", what, got, wanted)
				}
			}
			if logs, _ := filepath.Glob(w + "/log/audit.jsonl*"); len(logs) != 4 {
				t.Errorf("logs %v: want the current one and three set aside", logs)
			}
		})
	}
}

// TestUnconfinedControl shows that the deeds which TestConfined refuses are possible without confinement.
func TestUnconfinedControl(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	w := world(t, os.Getuid())
	r := play(t, plan{Mode: Off, Needs: needs(t, w), World: w, Listener: l.Addr().String()}, os.Getuid())
	if r.Status.Confined || r.Status.Text != "off" || r.Err != "" {
		t.Errorf("%+v, %s", r.Status, r.Err)
	}
	for _, what := range []string{"threads read outside", "read outside", "list above", "create outside", "through a link", "execute", "make a device", "dial", "write ro", "write config"} {
		if r.Did[what] != "ok" {
			t.Errorf("%s: %s", what, r.Did[what])
		}
	}
}

func TestReasonsNotToConfine(t *testing.T) {
	needLandlock(t)
	for name, c := range map[string]struct {
		spoil func(t *testing.T, w string, p *plan)
		want  string
	}{
		"missing project": {func(_ *testing.T, _ string, p *plan) { p.Needs.Missing = append(p.Needs.Missing, "later") },
			"the directory of project later is missing, and could not be served when it appears"},
		"no project": {func(_ *testing.T, _ string, p *plan) { p.Needs.Dirs = nil },
			"no project is configured, so the client says what may be reached"},
		"project replaced": {func(t *testing.T, w string, _ *plan) {
			must(t, os.Rename(w+"/ro", w+"/ro.old"))
			must(t, os.Mkdir(w+"/ro", 0o700))
		}, "the path of project p-ro leads to another directory now"},
		"project gone": {func(t *testing.T, w string, _ *plan) { must(t, os.Rename(w+"/ro", w+"/ro.old")) },
			"the directory of project p-ro cannot be opened: no such file or directory"},
		"state gone": {func(t *testing.T, w string, _ *plan) { must(t, os.RemoveAll(w+"/state")) },
			"the state directory cannot be opened: no such file or directory"},
		"no /proc": {func(t *testing.T, w string, p *plan) {
			if os.Getuid() != 0 {
				t.Skip("hiding /proc needs root")
			}
			p.NoProc = true
		}, "/proc is not mounted"},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(t, os.Getuid())
			p := plan{Needs: needs(t, w), World: w}
			c.spoil(t, w, &p)
			p.Mode = Auto
			r := play(t, p, os.Getuid())
			if r.Err != "" || r.Status.Confined || r.Status.Text != "unconfined: "+c.want || r.Did["read outside"] != "ok" {
				t.Errorf("auto: %+v, %s; outside: %s", r.Status, r.Err, r.Did["read outside"])
			}
			p.Mode = Require
			if r = play(t, p, os.Getuid()); r.Err != "--confine=require: "+c.want || r.Status.Confined {
				t.Errorf("require: %+v, %s", r.Status, r.Err)
			}
			if strings.Contains(r.Err, w) {
				t.Errorf("a path of the host in %q", r.Err)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	for abi, want := range map[int]string{
		1:  "landlock abi 1: files below 1 directory; not covered: truncation, network, device ioctls, signals and abstract sockets, socket files, UDP",
		7:  "landlock abi 7: files below 1 directory; not covered: socket files, UDP",
		11: "landlock abi 11: files below 1 directory",
	} {
		if got := describe(abi, 1); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if len(levels()) != 11 {
		t.Error("the library knows another number of levels")
	}
}

// TestOldKernels confines with the strict level of each older ABI: what a kernel of that age would enforce.
func TestOldKernels(t *testing.T) {
	newest := needLandlock(t)
	for abi := 1; abi <= newest; abi++ {
		w := world(t, os.Getuid())
		n := needs(t, w)
		must(t, os.WriteFile(n.Audit, nil, 0o600))
		m := ruleMaker{config: levels()[abi-1]}
		for _, d := range n.Dirs {
			must(t, m.project(d))
		}
		must(t, m.ours(n))
		fd, _, err := m.config.NewRulesetFD(m.made...)
		if err != nil {
			t.Errorf("abi %d: %v", abi, err)
			continue
		}
		unix.Close(fd)
		m.close()
	}
}
