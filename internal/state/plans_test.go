package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
)

func plans(t *testing.T) (*Plans, *Dir) {
	t.Helper()
	at := t.TempDir()
	if err := os.Chmod(at, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := Open(func(k string) string {
		if k == "ROOTBOUND_STATE_DIR" {
			return at
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Plans()
	if err != nil {
		t.Fatal(err)
	}
	return p, d
}

func TestPlansWait(t *testing.T) {
	p, d := plans(t)
	now := time.Now()
	p.now = func() time.Time { return now }
	if err := p.Put("second", now.Add(2*time.Minute), []byte("two")); err != nil {
		t.Fatal(err)
	}
	if err := p.Put("first", now.Add(time.Minute), []byte("one\nbody")); err != nil {
		t.Fatal(err)
	}
	if err := p.Put("first", now.Add(time.Minute), []byte("other")); err == nil {
		t.Error("a plan was replaced")
	}
	again, err := d.Plans() // another process
	if err != nil {
		t.Fatal(err)
	}
	all, strange, err := again.List()
	if err != nil || strange != 0 || len(all) != 2 || all[0].ID != "first" || string(all[0].Body) != "one\nbody" || string(all[1].Body) != "two" {
		t.Fatalf("%v %d %v", all, strange, err)
	}
	st, err := os.Stat(filepath.Join(p.dir, "first"))
	if err != nil || st.Mode() != 0o600 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	if err := p.Drop("second"); err != nil {
		t.Error(err)
	}
	if err := p.Drop("second"); err != nil {
		t.Error(err)
	}
	now = now.Add(time.Minute)
	if _, err := p.Get("first"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("expired: %v", err)
	}
	for _, id := range []string{"", "..", "a/b", "../keys/plans", strings.Repeat("a", 33), "UPPER"} {
		if _, err := p.Get(id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", id, err)
		}
		if err := p.Put(id, now.Add(time.Minute), nil); err == nil {
			t.Errorf("%q was kept", id)
		}
		if err := p.Drop(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// What another program puts there is no plan.
func TestPlansOfOthersAreRefused(t *testing.T) {
	p, _ := plans(t)
	until := time.Now().Add(time.Hour)
	if err := p.Put("good", until, []byte("body")); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(p.dir, "good"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"moved":    string(b),
		"changed":  strings.Replace(string(b), "body", "bodi", 1),
		"longer":   strings.Replace(string(b), fmt.Sprint(until.UnixMilli()), fmt.Sprint(until.UnixMilli()+1), 1),
		"nomac":    "rootbound-plan 1 " + fmt.Sprint(until.UnixMilli()) + "\nbody",
		"nothing":  "",
		"anything": "a plan, trust me",
	} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if w, err := p.Get(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %+v %v", name, w, err)
		}
	}
	if err := os.Symlink("good", filepath.Join(p.dir, "link")); err != nil {
		t.Fatal(err)
	}
	all, strange, err := p.List()
	if err != nil || len(all) != 1 || strange != 7 {
		t.Errorf("%v %d %v", all, strange, err)
	}
}

func TestPlansAreBounded(t *testing.T) {
	p, _ := plans(t)
	now := time.Now()
	p.now = func() time.Time { return now }
	p.most, p.bytes = 3, 1000
	for i := range 3 {
		if err := p.Put(fmt.Sprint(i), now.Add(time.Duration(i+1)*time.Minute), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Put("more", now.Add(time.Hour), nil); rootbound.ReasonOf(err) != rootbound.LimitReached {
		t.Errorf("%v", err)
	}
	now = now.Add(time.Minute)
	if err := p.Put("more", now.Add(time.Hour), nil); err != nil {
		t.Errorf("what expired takes no room: %v", err)
	}
	if err := p.Drop("more"); err != nil {
		t.Fatal(err)
	}
	if err := p.Put("large", now.Add(time.Hour), make([]byte, 900)); rootbound.ReasonOf(err) != rootbound.LimitReached {
		t.Errorf("%v", err)
	}
}
