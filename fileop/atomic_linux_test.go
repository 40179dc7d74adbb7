package fileop

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/text"
	"github.com/rootbound/rootbound/internal/rig"
)

func init() { rig.FirstThread() }

// TestMain does, in a child of the tests below, one operation in one directory.
func TestMain(m *testing.M) {
	if told := rig.Told(); told != nil {
		rig.Leave(child(told[0], told[1]))
	}
	os.Exit(onFilesystem(m))
}

const (
	oldLine = "the old line\r\n"
	newLine = "the new line\r\n"
)

// oldBytes and newBytes are what "f" holds before and after each operation; create begins without a file.
func oldBytes() string { return strings.Repeat(oldLine, 2000) + "edit me\r\n" }

func newBytes(op string) string {
	if op == "edit" {
		return strings.Repeat(oldLine, 2000) + "edited\r\n"
	}
	if op == "append" {
		return oldBytes() + newLine
	}
	return strings.Repeat(newLine, 3000)
}

func child(op, dir string) error {
	p, err := placeAt(dir, "f")
	if err != nil {
		return err
	}
	defer p.close()
	rig.Begin()
	switch op {
	case "append":
		_, err = Append(bg, p, []byte(newLine), Expected{}, 0)
	case "copy":
		if p.source, err = p.entry.Lstat(); err == nil {
			var to *place
			if to, err = placeAt(dir, "g"); err == nil {
				defer to.close()
				both := *p
				both.dest = to.entry
				_, err = Copy(bg, &both, Expected{})
			}
		}
	case "delete":
		if p.source, err = p.entry.Lstat(); err == nil {
			_, err = Delete(bg, p, Expected{})
		}
	case "edit":
		_, err = EditFile(bg, p, []text.Edit{{Old: "edit me\n", New: "edited\n"}}, EditOptions{})
	default:
		_, err = Write(bg, p, []byte(newBytes(op)), Expected{})
	}
	rig.End()
	return err
}

func prepare(t *testing.T, op string) string {
	t.Helper()
	dir := t.TempDir()
	if op != "create" {
		put(t, dir+"/f", oldBytes())
	}
	return dir
}

// oldOrNew checks what a crash left: the old bytes or the new ones, and beside them nothing but known names.
func oldOrNew(t *testing.T, op, dir string) {
	t.Helper()
	got, err := os.ReadFile(dir + "/f")
	switch {
	case errors.Is(err, os.ErrNotExist) && op == "create":
	case err != nil:
		t.Errorf("%s: %v", op, err)
	case string(got) == newBytes(op), op != "create" && string(got) == oldBytes():
	default:
		t.Errorf("%s: %d bytes that are neither the old ones nor the new ones", op, len(got))
	}
	all, _ := os.ReadDir(dir)
	if known := len(leftovers(t, dir)); len(all) > known+1 {
		t.Errorf("%s: unknown names are left: %v", op, all)
	}
}

// TestG15WritesAreAtomic kills the process in front of every call that changes something, and replays what a crash of the
// machine could have left at each of them.
func TestG15WritesAreAtomic(t *testing.T) {
	for _, op := range []string{"create", "replace", "edit", "append"} {
		t.Run(op, func(t *testing.T) {
			dir := prepare(t, op)
			calls := rig.Trace(t, rig.Child(op, dir))
			if got := get(t, dir+"/f"); got != newBytes(op) {
				t.Fatalf("without a kill: %d bytes", len(got))
			}
			oldOrNew(t, op, dir)
			replay(t, op, calls)

			killed := 0
			for _, c := range calls {
				if !c.Changes() {
					continue
				}
				if dir := prepare(t, op); rig.Kill(t, rig.Child(op, dir), c) {
					killed++
					oldOrNew(t, op, dir)
				}
			}
			t.Logf("killed at %d calls", killed)
			if killed < 4 {
				t.Errorf("killed at %d calls only", killed)
			}
		})
	}
}

// replay checks the order write < fsync < rename < fsync of the directory by its purpose: at every prefix of the trace,
// with whatever number of the directory's changes on disk and no byte that was not synced, the name holds the old bytes
// or the new ones; and at the end the new ones for sure.
func replay(t *testing.T, op string, calls []rig.Call) {
	t.Helper()
	type change struct{ synced bool } // of the directory: a rename, and whether the new bytes were on disk by then
	var renames []change
	temp, tempFd, dirFd := "", "", ""
	written, synced, durable := false, false, false
	for _, c := range calls {
		fd, _, _ := strings.Cut(c.Args, ",")
		switch c.Name {
		case "openat", "openat2":
			if strings.Contains(c.Args, "O_CREAT") {
				temp, tempFd = quoted(c.Args), c.Result
				if !strings.HasPrefix(temp, beneath.TempPrefix) || !strings.Contains(c.Args, "O_EXCL") || strings.Contains(c.Args, "O_TRUNC") {
					t.Errorf("%s: created by %s(%s)", op, c.Name, c.Args)
				}
			} else if strings.Contains(c.Args, "O_DIRECTORY") && c.Result != tempFd {
				dirFd = c.Result
			}
		case "write":
			if fd != tempFd {
				t.Errorf("%s: written elsewhere: %s", op, c.Args)
			}
			written, synced = true, false
		case "fsync":
			switch {
			case fd == tempFd:
				synced = written
			case fd == dirFd && len(renames) > 0:
				durable = true
			}
		case "renameat2":
			renames = append(renames, change{synced})
			durable = false
		case "rename", "renameat", "link", "linkat", "ftruncate", "fallocate", "pwrite64":
			t.Errorf("%s: unexpected %s(%s)", op, c.Name, c.Args)
		case "unlinkat":
			if !strings.HasPrefix(quoted(c.Args), beneath.TempPrefix) {
				t.Errorf("%s: removed %s", op, c.Args)
			}
		}
		for _, r := range renames { // a crash now: the rename may be on disk
			if !r.synced {
				t.Fatalf("%s: after %s(%s) a crash can leave the name without its bytes", op, c.Name, c.Args)
			}
		}
	}
	if len(renames) != 1 || !durable {
		t.Errorf("%s: %d renames, made durable %v", op, len(renames), durable)
	}
}

func quoted(args string) string {
	parts := strings.Split(args, `"`)
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

// TestEffectOutlivesAFailedDirectorySync is G32 with the kernel's error instead of a double.
func TestEffectOutlivesAFailedDirectorySync(t *testing.T) {
	dir := prepare(t, "replace")
	if msg, err := rig.Failing(t, rig.Child("replace", dir), "fsync", 2, "EIO").CombinedOutput(); err != nil {
		t.Errorf("done, but reported as %s", msg)
	}
	if get(t, dir+"/f") != newBytes("replace") {
		t.Error("not done")
	}
	// an error of the first one, that of the file, is in front of the effect
	dir = prepare(t, "replace")
	err := rig.Failing(t, rig.Child("replace", dir), "fsync", 1, "EIO").Run()
	if err == nil || get(t, dir+"/f") != oldBytes() || len(leftovers(t, dir)) > 0 {
		t.Errorf("%v: published although it could not be synced", err)
	}
}

// TestFullDiskLeavesTheOldBytes runs on a small file system of its own.
func TestFullDiskLeavesTheOldBytes(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	dir := t.TempDir()
	rig.Tmpfs(t, dir, 256<<10)
	old := strings.Repeat("good bytes\n", 4000) + "edit me\n"
	put(t, dir+"/f", old)
	full := func(what string, do func(p *place) error) {
		p, err := placeAt(dir, "f")
		if err != nil {
			t.Fatal(err)
		}
		defer p.close()
		if err := do(p); rootbound.ReasonOf(err) != rootbound.IOError || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s on a full disk: %v", what, err)
		}
		if got := get(t, dir+"/f"); got != old {
			t.Errorf("%s on a full disk left %d bytes", what, len(got))
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
			t.Errorf("%s on a full disk left %v, %v", what, all, err)
		}
	}
	full("write", func(p *place) error {
		_, err := Write(bg, p, make([]byte, 1<<20), Expected{})
		return err
	})
	full("edit", func(p *place) error {
		_, err := EditFile(bg, p, []text.Edit{{Old: "edit me", New: strings.Repeat("x", 1<<20)}}, EditOptions{})
		return err
	})
}
