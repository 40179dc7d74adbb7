package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound/authority/token"
)

func spent(t *testing.T, d *Dir) *Spent {
	t.Helper()
	s, err := d.Spent()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A nonce that was spent stays spent when the process that did it is killed right after it said so.
func TestSpentOutlivesAKill(t *testing.T) {
	d := open(t)
	c := start(t, "spend", d.Path())
	c.expect(t, "ready")
	fmt.Fprintln(c.in, "n1")
	c.expect(t, "fresh")
	c.kill(t)
	if err := spent(t, d).Spend("n1", time.Now().Add(time.Hour)); !errors.Is(err, token.ErrSpent) {
		t.Errorf("after a kill: %v", err)
	}
	if err := spent(t, d).Spend("n2", time.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
}

// Two processes race for each of many nonces: exactly one of them gets it.
func TestSpentBetweenProcesses(t *testing.T) {
	d := open(t)
	a, b := start(t, "spend", d.Path()), start(t, "spend", d.Path())
	a.expect(t, "ready")
	b.expect(t, "ready")
	for i := range 50 {
		fmt.Fprintln(a.in, i)
		fmt.Fprintln(b.in, i)
		x, err := a.out.ReadString('\n')
		y, err2 := b.out.ReadString('\n')
		if err = errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if got := strings.Fields(x + y); !(got[0] == "fresh" && got[1] == "spent" || got[0] == "spent" && got[1] == "fresh") {
			t.Fatalf("nonce %d: %v", i, got)
		}
	}
}

func TestSpentIsBoundedByExpiry(t *testing.T) {
	s := spent(t, open(t))
	now := time.Now()
	s.now = func() time.Time { return now }
	for _, n := range []string{"short", "long"} {
		if err := s.Spend(n, now.Add(map[string]time.Duration{"short": time.Minute, "long": time.Hour}[n])); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"empty": "", "cut": "17"} { // of processes that died while they wrote
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int {
		t.Helper()
		e, err := os.ReadDir(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(e)
	}
	now = now.Add(2 * time.Minute)
	if err := s.Spend("long", now.Add(time.Hour)); !errors.Is(err, token.ErrSpent) {
		t.Errorf("forgotten early: %v", err)
	}
	if n := count(); n != 3 { // long, empty, cut
		t.Errorf("%d files", n)
	}
	now = now.Add(spentFor + time.Hour)
	if err := s.Spend("another", now.Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if n := count(); n != 1 {
		t.Errorf("%d files after everything expired", n)
	}
}

// What cannot be remembered is refused, and may be tried again when it can.
func TestSpentFailsClosed(t *testing.T) {
	s := spent(t, open(t))
	soon := time.Now().Add(time.Hour)
	for name, err := range map[string]error{
		"no nonce":    s.Spend("", soon),
		"a long life": s.Spend("n", time.Now().Add(spentFor+time.Hour)),
		"no store":    (&Spent{dir: filepath.Join(s.dir, "none"), now: time.Now, max: 9}).Spend("n", soon),
	} {
		if err == nil || errors.Is(err, token.ErrSpent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Spend("n", soon); err != nil {
		t.Error(err)
	}
	full := &Spent{dir: s.dir, now: time.Now, max: 1}
	if err := full.Spend("m", soon); err == nil || errors.Is(err, token.ErrSpent) {
		t.Errorf("full: %v", err)
	}
}
