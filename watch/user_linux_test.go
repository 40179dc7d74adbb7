package watch

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// As an ordinary user: a directory that may not be read is left out until it may be.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() == 0 {
		dir := t.TempDir()
		for p := dir; p != "/"; p = filepath.Dir(p) { // the user needs to get there
			if i, err := os.Stat(p); err == nil && i.Mode().Perm()&0o001 == 0 {
				must(t, os.Chmod(p, i.Mode().Perm()|0o011))
			}
		}
		must(t, os.Chmod(dir, 0o777))
		bin := dir + "/test"
		b, err := os.ReadFile(os.Args[0])
		must(t, err)
		must(t, os.WriteFile(bin, b, 0o755))
		c := exec.Command(bin, "-test.run=^(TestOrdinaryUser|TestTree|TestFile|TestMovedOut)$")
		c.Env = append(os.Environ(), "TMPDIR="+dir)
		c.Dir = dir
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	w := newWorld(t)
	w.do("mkdir ws/open", "file ws/shut/sub/f 1")
	must(t, os.Chmod(w.dir+"/ws/shut", 0))
	in := newWatcher(t, Options{Window: -1})
	_, l := w.watch(in, "", true, nil)
	must(t, os.Chmod(w.dir+"/ws/shut", 0o755))
	l.until(Event{Rel: "shut", Kind: Changed})
	w.do("file ws/shut/sub/f 2")
	l.until(Event{Rel: "shut/sub/f", Kind: Changed})
	must(t, os.Mkdir(w.dir+"/ws/locked", 0))
	o := w.open("locked")
	defer o.Close()
	if _, err := in.Add(context.Background(), o, true, nil, l.add); err == nil {
		t.Error("watches what may not be read")
	}
	must(t, os.Chmod(w.dir+"/ws/locked", 0o755))
}
