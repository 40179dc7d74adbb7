package search

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/search/match"
)

// aloneIn names the directory that a process searches by itself.
const aloneIn = "RB_SEARCHED_ALONE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(aloneIn); dir != "" {
		if err := alone(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// alone searches dir by content and by name and prints the memory that was resident before and at most, in KiB, and how much it
// found.
func alone(dir string) error {
	root, err := beneath.OpenRoot(dir)
	if err != nil {
		return err
	}
	o, err := beneath.NewSet([]beneath.Member{{Root: root}}, nil).Open(beneath.Ref{}, beneath.Dir)
	if err != nil {
		return err
	}
	m, err := match.Compile("needle", match.Options{})
	if err != nil {
		return err
	}
	p, err := Compile("d/entry-*9")
	if err != nil {
		return err
	}
	debug.FreeOSMemory()
	idle := status("VmRSS")
	files, hits := 0, 0
	for cursor, more := "", true; more; {
		r, err := Content(context.Background(), o, m, ContentOptions{Limit: 40, Cursor: cursor})
		if err != nil {
			return err
		}
		files += len(r.Files)
		cursor, more = r.Next, r.Truncated
	}
	for cursor, more := "", true; more; {
		r, err := Files(context.Background(), o, p, Options{Limit: 10_000, Cursor: cursor})
		if err != nil {
			return err
		}
		hits += len(r.Hits)
		cursor, more = r.Next, r.Truncated
	}
	fmt.Println(idle, status("VmHWM"), files, hits)
	return nil
}

// status is a line of what the kernel tells of this process, in KiB (proc_pid_status(5)).
func status(field string) (kib int64) {
	b, _ := os.ReadFile("/proc/self/status")
	for l := range strings.Lines(string(b)) {
		if _, err := fmt.Sscanf(l, field+": %d kB", &kib); err == nil {
			break
		}
	}
	return kib
}

// inMemory has dir searched by a process of its own and compares the greatest resident memory it ever had with what it had
// before it searched: no other test's memory is in it, and none that it gave back in between is missing.
func inMemory(t *testing.T, dir string, entries int) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), aloneIn+"="+dir)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	var idle, peak int64
	var files, hits int
	if _, err := fmt.Sscan(out.String(), &idle, &peak, &files, &hits); err != nil || idle == 0 || peak < idle || files != 100 || hits != entries/10 {
		t.Fatalf("%q: %v", out.String(), err)
	}
	t.Logf("the searches took %d KiB over %d", peak-idle, idle)
	if peak-idle > 64<<10 {
		t.Errorf("the searches took %d MiB", (peak-idle)>>10)
	}
}
