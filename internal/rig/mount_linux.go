package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// Filesystems are the names Mount knows.
func Filesystems() []string {
	return []string{"tmpfs", "overlay", "ext4", "ext4-casefold", "xfs", "btrfs"}
}

// ErrLacking says that this machine has not what a file system needs: the kernel's part, a loop device, or the program
// that makes it.
var ErrLacking = errors.New("not on this machine")

// Mount makes an empty file system of that name and mounts it; room is an existing directory for its image or layers, at
// the place it is mounted. The caller is root in a mount namespace of its own, with which all of it ends.
func Mount(kind, room string) (at string, err error) {
	at = room + "/mounted"
	if err := os.Mkdir(at, 0o777); err != nil {
		return "", err
	}
	switch kind {
	case "tmpfs":
		return at, unix.Mount("none", at, "tmpfs", 0, "mode=0777")
	case "overlay":
		layers := room + "/layers"
		for _, d := range []string{"/lower", "/upper", "/work"} {
			if err := os.MkdirAll(layers+d, 0o777); err != nil {
				return "", err
			}
		}
		return at, unix.Mount("none", at, "overlay", 0, fmt.Sprintf("lowerdir=%s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", layers))
	case "ext4":
		return at, image(room+"/image", at, "ext4", 64<<20, "mkfs.ext4", "-q")
	case "xfs":
		return at, image(room+"/image", at, "xfs", 320<<20, "mkfs.xfs", "-q")
	case "btrfs":
		return at, image(room+"/image", at, "btrfs", 256<<20, "mkfs.btrfs", "-q")
	case "ext4-casefold":
		if err := image(room+"/image", at, "ext4", 64<<20, "mkfs.ext4", "-q", "-O", "casefold", "-E", "encoding=utf8"); err != nil {
			return "", err
		}
		return at + "/folds", fold(at + "/folds")
	}
	return "", fmt.Errorf("no file system %q", kind)
}

// image makes a file system in a sparse file and mounts it by a loop device, which goes with the mount.
func image(file, at, kind string, size int64, mkfs ...string) error {
	if known, err := os.ReadFile("/proc/filesystems"); err != nil || !strings.Contains(string(known), "\t"+kind+"\n") {
		return fmt.Errorf("%w: %s in the kernel", ErrLacking, kind)
	}
	if _, err := exec.LookPath(mkfs[0]); err != nil {
		return fmt.Errorf("%w: %s", ErrLacking, mkfs[0])
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		return fmt.Errorf("%w: loop devices", ErrLacking)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(file, size); err != nil {
		return err
	}
	if out, err := exec.Command(mkfs[0], append(mkfs[1:], file)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", mkfs[0], err, out)
	}
	if out, err := exec.Command("mount", "-t", kind, "-o", "loop", file, at).CombinedOutput(); err != nil {
		if strings.Contains(string(out), "casefold") || strings.Contains(string(out), "wrong fs type") {
			return fmt.Errorf("%w: %s", ErrLacking, out)
		}
		return fmt.Errorf("mount: %w: %s", err, out)
	}
	return os.Chmod(at, 0o777)
}

// fold makes a directory in which names that differ in case are one.
func fold(dir string) error {
	const casefold = 0x40000000
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	old, err := unix.IoctlGetInt(int(d.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(int(d.Fd()), unix.FS_IOC_SETFLAGS, old|casefold); err != nil {
		return fmt.Errorf("%w: case folding: %v", ErrLacking, err)
	}
	return nil
}
