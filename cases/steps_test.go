//go:build linux

package cases

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// errNoEffect says that the machine cannot do what a step wants; the case is skipped by name.
type errNoEffect struct{ why string }

func (e errNoEffect) Error() string { return e.why }

// do performs a step that acts on files or mounts. The product's own steps are in product_test.go.
func (w *world) do(s step) error {
	p := ""
	if len(s.args) > 0 {
		p = w.at(s.str(0))
	}
	switch s.name {
	case "mkdir":
		return os.MkdirAll(p, 0o755)
	case "file":
		w.put(p, []byte(w.expand(s.str(1))))
	case "bytes":
		raw, err := hex.DecodeString(s.str(1))
		if err != nil {
			return err
		}
		w.put(p, raw)
	case "fill":
		return w.fill(p, s.num(w.t, 1))
	case "sparse":
		w.put(p, nil)
		return os.Truncate(p, s.num(w.t, 1))
	case "symlink":
		w.parent(p)
		return os.Symlink(w.expand(s.str(1)), p)
	case "relink":
		return w.relink(p, w.expand(s.str(1)))
	case "hardlink":
		w.parent(p)
		return os.Link(w.at(s.str(1)), p)
	case "fifo":
		w.parent(p)
		return unix.Mkfifo(p, 0o644)
	case "socket":
		return w.socket(p)
	case "device":
		mode, dev := uint32(unix.S_IFCHR), unix.Mkdev(uint32(s.num(w.t, 2)), uint32(s.num(w.t, 3)))
		if s.str(1) == "b" {
			mode = unix.S_IFBLK
		}
		w.parent(p)
		return unix.Mknod(p, mode|0o666, int(dev))
	case "many":
		return w.many(p, int(s.num(w.t, 1)), s.str(2), []byte(w.expand(s.str(3))))
	case "chain":
		return chain(p, int(s.num(w.t, 1)), w.expand(s.str(2)), "", "")
	case "fileat":
		return chain(p, int(s.num(w.t, 1)), w.expand(s.str(2)), s.str(3), w.expand(s.str(4)))
	case "linkchain", "linkchainabs":
		n, prefix := int(s.num(w.t, 1)), ""
		if s.name == "linkchainabs" {
			prefix = p + "/"
		}
		for i := 1; i <= n; i++ {
			to := prefix + "c" + strconv.Itoa(i+1)
			if i == n {
				to = prefix + w.expand(s.str(2))
			}
			if err := os.Symlink(to, p+"/c"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	case "linkbomb":
		for i := 1; i <= int(s.num(w.t, 1)); i++ {
			b := "b" + strconv.Itoa(i-1)
			if err := os.Symlink(b+"/../"+b, p+"/b"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	case "chmod":
		mode, err := strconv.ParseUint(s.str(1), 8, 32)
		if err != nil {
			return err
		}
		return unix.Chmod(p, uint32(mode))
	case "chown":
		return os.Lchown(p, int(s.num(w.t, 1)), int(s.num(w.t, 2)))
	case "chattr":
		return w.chattr(p, s.str(1))
	case "rename":
		return os.Rename(p, w.at(s.str(1)))
	case "exchange":
		return unix.Renameat2(unix.AT_FDCWD, p, unix.AT_FDCWD, w.at(s.str(1)), unix.RENAME_EXCHANGE)
	case "remove":
		return os.RemoveAll(p)
	case "program":
		// By a process of its own: had this one the file open for writing, whatever another test starts at that moment would have
		// it too until it becomes its program, and what is written to cannot be run.
		w.parent(p)
		if out, err := exec.Command("cp", "/bin/sleep", p).CombinedOutput(); err != nil {
			return fmt.Errorf("cp: %w: %s", err, out)
		}
	case "run":
		c := exec.Command(p, "60")
		if err := c.Start(); err != nil {
			return err
		}
		w.procs = append(w.procs, c.Process)
	case "casefold":
		return w.casefold(p)
	case "bind", "bindro", "tmpfs", "procfs", "overlay", "unmount-lazy", "fusehang":
		return w.mount(s.name, p, s)
	default:
		return fmt.Errorf("step %q is unknown", s.name)
	}
	return nil
}

// fill writes size bytes of text without newline or NUL, readable for checks of leftovers.
func (w *world) fill(p string, size int64) error {
	w.parent(p)
	f, err := os.Create(p)
	if err != nil {
		return err
	}
	defer f.Close()
	chunk := bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz 012345 "), 32768)
	for size > 0 {
		n := min(size, int64(len(chunk)))
		if _, err := f.Write(chunk[:n]); err != nil {
			return err
		}
		size -= n
	}
	return nil
}

func (w *world) relink(p, target string) error {
	tmp := filepath.Dir(p) + "/.lt-relink"
	os.Remove(tmp)
	if err := os.Symlink(target, tmp); err != nil {
		return err
	}
	return os.Rename(tmp, p)
}

// socket listens at p; the path may be longer than a socket address, so it is bound by a short relative name.
func (w *world) socket(p string) error {
	w.parent(p)
	dir, err := os.Open(filepath.Dir(p))
	if err != nil {
		return err
	}
	defer dir.Close()
	l, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(p)))
	if err != nil {
		return err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	w.after(func() { l.Close() })
	return nil
}

func (w *world) many(dir string, n int, pattern string, text []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	d, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(d)
	for i := range n {
		if len(text) == 0 { // one call: there may be very many
			if err := unix.Mknodat(d, fmt.Sprintf(pattern, i), unix.S_IFREG|0o644, 0); err != nil {
				return err
			}
			continue
		}
		fd, err := unix.Openat(d, fmt.Sprintf(pattern, i), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return err
		}
		if _, err := unix.Write(fd, text); err != nil {
			unix.Close(fd)
			return err
		}
		unix.Close(fd)
	}
	return nil
}

// chain makes n nested directories by handles (the path may be longer than one call takes) and a file at the bottom.
func chain(dir string, n int, name, file, text string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	d, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { unix.Close(d) }()
	for range n {
		if err := unix.Mkdirat(d, name, 0o755); err != nil && err != unix.EEXIST {
			return err
		}
		next, err := unix.Openat(d, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		unix.Close(d)
		d = next
	}
	if file == "" {
		return nil
	}
	fd, err := unix.Openat(d, file, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text))
	return err
}

const (
	flagImmutable = 0x10
	flagCasefold  = 0x40000000
)

func setFlag(p string, flag int, on bool) error {
	f, err := os.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	old, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	if on {
		old |= flag
	} else {
		old &^= flag
	}
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, old)
}

func (w *world) chattr(p, flag string) error {
	if flag != "+i" {
		return fmt.Errorf("chattr %s is unknown", flag)
	}
	if err := setFlag(p, flagImmutable, true); err != nil {
		return errNoEffect{"this file system has no immutable flag"}
	}
	w.after(func() { setFlag(p, flagImmutable, false) })
	return nil
}

// casefold mounts a small ext4 that folds case at p.
func (w *world) casefold(p string) error {
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		return errNoEffect{"mkfs.ext4 is not installed"}
	}
	return w.loopMount(p, "ext4", 8<<20, []string{"mkfs.ext4", "-q", "-O", "casefold", "-E", "encoding=utf8"}, func() error {
		dir := p + "/cf"
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := setFlag(dir, flagCasefold, true); err != nil {
			return errNoEffect{"the kernel does not fold case"}
		}
		return unix.Mount(dir, p, "", unix.MS_BIND, "")
	})
}

// loopMount makes an image with a file system of its own and mounts it at p.
func (w *world) loopMount(p, kind string, size int64, mkfs []string, then func() error) error {
	if err := os.MkdirAll(p, 0o755); err != nil {
		return err
	}
	img := fmt.Sprintf("%s/%s.img", w.state, filepath.Base(p))
	undo, err := loopMount(img, p, kind, size, mkfs)
	if err != nil {
		return err
	}
	w.after(undo)
	if then == nil {
		return nil
	}
	if err := then(); err != nil {
		return err
	}
	w.after(func() { unix.Unmount(p, unix.MNT_DETACH) })
	return nil
}

func loopMount(img, p, kind string, size int64, mkfs []string) (undo func(), err error) {
	if err := os.WriteFile(img, nil, 0o600); err != nil {
		return nil, err
	}
	if err := os.Truncate(img, size); err != nil {
		return nil, err
	}
	if out, err := exec.Command(mkfs[0], append(mkfs[1:], img)...).CombinedOutput(); err != nil {
		return nil, errNoEffect{fmt.Sprintf("%s: %s", mkfs[0], firstLine(out))}
	}
	if out, err := exec.Command("mount", "-t", kind, "-o", "loop", img, p).CombinedOutput(); err != nil {
		return nil, errNoEffect{fmt.Sprintf("mount %s: %s", kind, firstLine(out))}
	}
	return func() {
		unix.Unmount(p, unix.MNT_DETACH)
		os.Remove(img)
	}, nil
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return line
}

func (w *world) mount(name, p string, s step) error {
	if !mounts() {
		return errNoEffect{"no private mount namespace"}
	}
	mount := func(source, kind string, flags uintptr, data string) error {
		if err := unix.Mount(source, p, kind, flags, data); err != nil {
			return fmt.Errorf("%s %s: %w", name, p, err)
		}
		w.after(func() { unix.Unmount(p, unix.MNT_DETACH) })
		return nil
	}
	if name != "bind" && name != "bindro" && name != "unmount-lazy" { // these have a target already
		if err := os.MkdirAll(p, 0o755); err != nil {
			return err
		}
	}
	switch name {
	case "bind":
		return mount(w.at(s.str(1)), "", unix.MS_BIND, "")
	case "bindro":
		if err := mount(w.at(s.str(1)), "", unix.MS_BIND, ""); err != nil {
			return err
		}
		return unix.Mount("", p, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
	case "tmpfs":
		return mount("none", "tmpfs", 0, "mode=0777,size="+s.str(1))
	case "procfs":
		return mount("none", "proc", 0, "")
	case "overlay":
		upper := fmt.Sprintf("%s/upper%d", w.state, len(w.undo))
		for _, d := range []string{upper + "/u", upper + "/k"} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				return err
			}
		}
		return mount("none", "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s/u,workdir=%s/k", w.at(s.str(1)), upper, upper))
	case "unmount-lazy":
		return unix.Unmount(p, unix.MNT_DETACH)
	case "fusehang":
		fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
		if err != nil {
			return errNoEffect{"/dev/fuse cannot be opened"}
		}
		w.after(func() { fuse.Close() }) // ends every call that waits for it
		return mount("none", "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fuse.Fd()))
	}
	return fmt.Errorf("mount %q is unknown", name)
}
