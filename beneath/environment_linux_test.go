package beneath

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/internal/storm"
	"golang.org/x/sys/unix"
)

// surrounding says in which environment this test process shall run the suite.
const surrounding = "RB_TEST_SURROUNDING"

// lacking is the exit code of a process for which this machine cannot make its environment.
const lacking = 4

func TestMain(m *testing.M) {
	if err := surround(os.Getenv(surrounding)); err != nil {
		fmt.Println("cannot make the environment:", err)
		if errors.Is(err, rig.ErrLacking) {
			os.Exit(lacking)
		}
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// surround changes this process for good.
func surround(what string) error {
	switch what {
	case "", "user":
		return nil
	case "openat2=ENOSYS":
		return storm.ForbidOpenat2(unix.ENOSYS)
	case "openat2=EPERM":
		return storm.ForbidOpenat2(unix.EPERM)
	case "few descriptors":
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64})
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if what == "no /proc" {
		return unix.Mount("none", "/proc", "tmpfs", 0, "")
	}
	if slices.Contains(rig.Filesystems(), what) {
		at, err := rig.Mount(what, os.Getenv("TMPDIR"))
		if err != nil {
			return err
		}
		return os.Setenv("TMPDIR", at)
	}
	return fmt.Errorf("no environment %q", what)
}

// elsewhere runs the tests that match in a process of its own in that environment.
func elsewhere(t *testing.T, what, run string) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	// Memory where there is some: the suite syncs a lot, and runs on the disk once anyway.
	dir, err := os.MkdirTemp("/dev/shm", "rootbound-test-")
	if err != nil {
		dir, err = os.MkdirTemp("", "rootbound-test-")
	}
	must(t, err)
	must(t, os.Chmod(dir, 0o755))
	defer os.RemoveAll(dir)
	attr := &syscall.SysProcAttr{}
	switch what {
	case "user":
		self = "/proc/self/exe" // the build's directory is closed to other users
		dir += "/tmp"
		must(t, os.Mkdir(dir, 0o777))
		must(t, os.Chmod(dir, 0o777))
		attr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	default:
		if what == "no /proc" || slices.Contains(rig.Filesystems(), what) {
			attr.Cloneflags = unix.CLONE_NEWNS
		}
	}
	cmd := exec.Command(self, "-test.run="+run, "-test.timeout=600s")
	cmd.Dir = "/"
	cmd.SysProcAttr = attr
	cmd.Env = append(os.Environ(), surrounding+"="+what, "TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() == lacking {
		t.Skipf("%s", out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else if bytes.Contains(out, []byte("no tests to run")) {
		t.Errorf("nothing was run by %s", run)
	}
}

// everywhere is what must hold in every environment.
const everywhere = "^(TestResolve|TestHow|TestMap|TestMarks|TestLongPath|TestEntry|TestPublish|TestPublishNeverLoses|" +
	"TestSwapBack|TestCreateIsExclusive|TestStagedKeepsAttributes|TestStagedName|TestRename|TestRemoveAndMkdir|TestMkdirAll|" +
	"TestMovedOut|TestWalk.*|TestNothingStaysOpen|TestRoot.*|TestHolds|TestG18SpecialFilesNeverBlock|TestNotPermitted|TestTier)$"

func TestElsewhere(t *testing.T) {
	if os.Getenv(surrounding) != "" {
		t.Skip("already elsewhere")
	}
	for _, what := range append([]string{"openat2=ENOSYS", "openat2=EPERM", "user", "no /proc"}, rig.Filesystems()...) {
		t.Run(what, func(t *testing.T) {
			if os.Getuid() != 0 && !strings.HasPrefix(what, "openat2") {
				t.Skip("needs root to make this environment")
			}
			elsewhere(t, what, everywhere)
		})
	}
}

func TestTier(t *testing.T) {
	want := "openat2"
	if strings.HasPrefix(os.Getenv(surrounding), "openat2=") {
		want = "walk"
	}
	if Tier() != want {
		t.Errorf("%s, want %s", Tier(), want)
	}
	r := newWorld(t).root("ws")
	if r.noOpenat2.Load() != (want == "walk") {
		t.Error("the root does not know")
	}
}

// TestOneRefusalIsNoDowngrade: EPERM of a single call says nothing about openat2 as such.
func TestOneRefusalIsNoDowngrade(t *testing.T) {
	if os.Getuid() != 0 || os.Getenv(surrounding) != "" {
		t.Skip("needs root for an immutable file, and openat2")
	}
	w := newWorld(t)
	f, err := os.Open(w.path("ws/d/f"))
	must(t, err)
	defer f.Close()
	flags := func(set, clear uint32) error {
		had, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		if err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(had&^clear|set))
	}
	if err := flags(unix.STATX_ATTR_IMMUTABLE, 0); err != nil {
		t.Skip("no immutable files here:", err)
	}
	defer func() { must(t, flags(0, unix.STATX_ATTR_IMMUTABLE)) }()
	r := w.root("ws")
	m := NewSet([]Member{{Root: r}}, nil).members[0]
	if _, err := m.openat2("d/f", unix.O_WRONLY); err != unix.EPERM {
		t.Fatal(err)
	}
	if r.noOpenat2.Load() {
		t.Error("switched to the walk for good")
	}
}

// TestFilterMayComeLater: the switch to the walk happens in a running process.
func TestFilterMayComeLater(t *testing.T) {
	if !rig.OwnMounts(t) { // the filter stays on the process
		return
	}
	w := newWorld(t)
	r := w.root("ws")
	s := NewSet([]Member{{Root: r}}, nil)
	if got, _ := read(s, Ref{0, "d/f"}, File); got != "text:"+inside || r.noOpenat2.Load() {
		t.Fatal(got)
	}
	must(t, storm.ForbidOpenat2(unix.EPERM))
	if got, _ := read(s, Ref{0, "d/f"}, File); got != "text:"+inside || !r.noOpenat2.Load() {
		t.Fatal(got)
	}
}

// TestNotPermitted runs as another user too: the system's refusals are passed on, nothing is worked around.
func TestNotPermitted(t *testing.T) {
	if os.Getuid() == 0 {
		if os.Getenv(surrounding) == "" {
			elsewhere(t, "user", "^TestNotPermitted$")
			return
		}
		t.Skip("root may do everything")
	}
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		w.do("file ws/locked/x "+inside, "file ws/secret "+inside, "file ws/ro/x "+inside)
		must(t, os.Chmod(w.path("ws/locked"), 0))
		must(t, os.Chmod(w.path("ws/secret"), 0))
		must(t, os.Chmod(w.path("ws/ro"), 0o555))
		defer os.Chmod(w.path("ws/locked"), 0o755)
		defer os.Chmod(w.path("ws/ro"), 0o755)
		s := w.set(walkOnly)
		const denied = "io_error [permission denied]"
		for _, p := range []string{"locked/x", "secret", "locked"} {
			if got, _ := read(s, Ref{0, p}, Any); got != denied {
				t.Errorf("%s: %s", p, got)
			}
		}
		if got := outcome(write(s, "ro/x", "y")); got != denied {
			t.Error(got)
		}
		if _, failed := walkAll(t, s, ""); len(failed) != 1 || failed[0] != "locked: "+denied {
			t.Error(failed)
		}
		if _, err := OpenRoot(w.path("ws/locked")); outcome(err) != "root_unusable [unreadable]" {
			t.Error(err)
		}
		if _, err := OpenRoot(w.path("ws/locked/x")); outcome(err) != "root_unusable [unreadable]" {
			t.Error(err)
		}
	})
}

func TestFewDescriptors(t *testing.T) {
	if os.Getenv(surrounding) != "few descriptors" {
		elsewhere(t, "few descriptors", "^TestFewDescriptors$")
		return
	}
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		s := w.set(walkOnly)
		deep := repeat(30, "s/")
		must(t, os.MkdirAll(w.path("ws/"+deep), 0o755))
		w.do("file ws/" + deep + "f " + inside)
		if _, failed := walkAll(t, s, ""); failed != nil {
			t.Error(failed)
		}
		var held []*Object
		defer func() {
			for _, o := range held {
				o.Close()
			}
		}()
		for {
			o, err := s.Open(Ref{0, "d/f"}, File)
			if err != nil {
				if outcome(err) != "io_error [too many open files]" {
					t.Error(err)
				}
				break
			}
			held = append(held, o)
		}
		if got := outcome(write(s, "new", "x")); got != "io_error [too many open files]" {
			t.Error(got)
		}
		for _, o := range held {
			o.Close()
		}
		held = nil
		if got, _ := read(s, Ref{0, deep + "f"}, File); got != "text:"+inside {
			t.Error(got)
		}
	})
}
