//go:build linux

package cases

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// quiet are the cases a suite of other surroundings runs: what a file system or a missing system call can change, without
// those that arrange such a thing themselves.
func quiet(a attack) bool {
	switch {
	case a.API == "relative":
		return false
	case a.Kind != "static" && a.Kind != "name":
		return false
	}
	for _, own := range []string{"uid", "deny-syscall", "hide", "device", "chattr", "trace", "nofile", "casefold"} {
		if a.hasStep(own, "") {
			return false
		}
	}
	return true
}

func long() bool { return os.Getenv("RB_LONG") != "" }

// TestSuites runs the static cases on other file systems and under other conditions of the process: all with RB_LONG=1,
// else a part on each. The walk that takes openat2's place is a resolver of its own and gets them all; in the ordinary run
// they are put to it in the era that TestAttacks does not speak.
func TestSuites(t *testing.T) {
	walk := rawmcp.Modern
	if long() {
		walk = rawmcp.Legacy
	}
	for _, fs := range []struct {
		name string
		make func(*testing.T, string) error
	}{
		{"tmpfs", func(t *testing.T, dir string) error { return unix.Mount("none", dir, "tmpfs", 0, "mode=0755") }},
		{"overlayfs", overlay},
		{"xfs", image("xfs", 320<<20, "mkfs.xfs", "-q")},
		{"btrfs", image("btrfs", 256<<20, "mkfs.btrfs", "-q")},
		{"ext4-casefold", image("ext4", 64<<20, "mkfs.ext4", "-q", "-O", "casefold", "-E", "encoding=utf8")},
	} {
		t.Run(fs.name, func(t *testing.T) {
			if !mounts() {
				skip(t, "suites/"+fs.name, "no private mount namespace")
			}
			dir := base + "/fs-" + fs.name
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			var no errNoEffect
			if err := fs.make(t, dir); errors.As(err, &no) {
				skip(t, "suites/"+fs.name, no.why)
			} else if err != nil {
				skip(t, "suites/"+fs.name, "cannot be mounted: "+err.Error())
			}
			t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
			runAttacks(t, surroundings{name: "suites/" + fs.name, dir: dir, version: rawmcp.Legacy, only: quiet, part: shared(t, fs.name)})
		})
	}
	for _, s := range []surroundings{
		{name: "openat2-ENOSYS", version: walk, launch: launch{Deny: []denied{{Call: "openat2", Errno: errnos["ENOSYS"]}}}},
		{name: "openat2-EPERM", launch: launch{Deny: []denied{{Call: "openat2", Errno: errnos["EPERM"]}}}, part: shared(t, "openat2-EPERM")},
		{name: "user", launch: launch{UID: 65534}, chown: 65534, part: shared(t, "user")},
		{name: "no-proc", launch: launch{Hide: []string{"/proc"}}, part: shared(t, "no-proc")},
	} {
		t.Run(s.name, func(t *testing.T) {
			s.name, s.dir, s.version, s.only = "suites/"+s.name, base, cmp.Or(s.version, rawmcp.Legacy), quiet
			if os.Getuid() != 0 && (s.chown != 0 || len(s.launch.Hide) > 0) {
				skip(t, s.name, "needs administrator rights")
			}
			runAttacks(t, s)
		})
	}
}

// overlay mounts an overlay with a fresh upper layer.
func overlay(t *testing.T, dir string) error {
	layers := base + "/layers"
	for _, d := range []string{"/l", "/u", "/k"} {
		if err := os.MkdirAll(layers+d, 0o755); err != nil {
			return err
		}
	}
	return unix.Mount("none", dir, "overlay", 0, "lowerdir="+layers+"/l,upperdir="+layers+"/u,workdir="+layers+"/k")
}

// image makes a file system in a file and mounts it.
func image(kind string, size int64, mkfs ...string) func(*testing.T, string) error {
	return func(t *testing.T, dir string) error {
		if _, err := exec.LookPath(mkfs[0]); err != nil {
			return errNoEffect{mkfs[0] + " is not installed"}
		}
		undo, err := loopMount(dir+".img", dir, kind, size, mkfs)
		if err == nil {
			t.Cleanup(undo)
		}
		return err
	}
}
