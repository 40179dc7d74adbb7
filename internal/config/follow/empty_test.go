package follow

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config"
)

// TestEmptyFileIsBeingWritten: who writes a file in place empties it first. If it is read then, however long that takes,
// nothing is taken out of force that would not come back when the file is whole; who means it says so, or accepts it.
func TestEmptyFileIsBeingWritten(t *testing.T) {
	dir := tree(t, "p")
	const whole = "projects: [{dir: p, rights: rw}]\nlimits: {text: 1 KiB}\n"
	file := write(t, dir+"/c.yaml", whole)
	var record []byte
	in := config.Input{File: file, Getenv: env(), Cwd: dir, Accepted: func(string) ([]byte, error) {
		if record == nil {
			return nil, fs.ErrNotExist
		}
		return record, nil
	}}
	accept := func(at int64) *config.Config {
		t.Helper()
		c, _, err := config.Load(config.Input{File: file, Getenv: env(), Cwd: dir})
		if err == nil {
			record, err = c.Accept(time.Unix(at, 0))
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	r, err := NewReloader(in, accept(1), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "\n \n"} {
		write(t, file, text)
		if c, _, err := r.Next(); err == nil {
			t.Fatalf("%q counts: %+v, %q", text, c.Projects, r.Took(c))
		} else if !strings.Contains(err.Error(), "holds nothing") || !strings.Contains(err.Error(), "projects: []") {
			t.Error(err)
		}
		write(t, file, whole)
		c, lines, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if lines = append(lines, r.Took(c)...); len(lines) > 0 || len(c.Projects) != 1 || !c.Projects[0].Rights.Has(rootbound.Write) || len(r.Waits()) > 0 {
			t.Errorf("after %q: %+v %q %q", text, c.Projects, lines, r.Waits())
		}
	}

	write(t, file, "projects: []\n")
	c, _, err := r.Next()
	if err != nil || len(c.Projects) > 0 {
		t.Fatalf("%+v %v", c, err)
	}
	r.Took(c)

	write(t, file, whole)
	accept(2)
	if c, _, err = r.Next(); err != nil || len(c.Projects) != 1 {
		t.Fatalf("%+v %v", c, err)
	}
	r.Took(c)
	write(t, file, "")
	accept(3)
	for range 2 { // also when it is looked at again
		if c, _, err = r.Next(); err != nil || len(c.Projects) > 0 {
			t.Fatalf("an empty file that was accepted: %+v %v", c, err)
		}
		r.Took(c)
	}
}
