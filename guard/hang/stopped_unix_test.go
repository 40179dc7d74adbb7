//go:build unix

package hang

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAStoppedProcessGivesNothingUp: what a process did not wait for, because it was stopped, did not hang. A child stops
// itself in the middle of an operation, while somebody waits for its worker, for longer than the time limit.
func TestAStoppedProcessGivesNothingUp(t *testing.T) {
	const child, limit = "RB_HANG_CHILD", 2 * time.Second
	if os.Getenv(child) != "" {
		stops(limit)
		os.Exit(0)
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"=1")
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill() // it has ended, if all went well
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("%v %v", status, err)
	}
	time.Sleep(limit + limit/4) // the time that must not count
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if want := "operation: answered, gave up: false\nworker: <nil>\n"; out.String() != want {
		t.Errorf("%q %v, want %q", &out, err, want)
	}
}

// stops is the child. The answer of the file system comes when it was looked for it a few times more.
func stops(limit time.Duration) {
	var g Gates
	leave, _ := g.Enter(context.Background(), "p", 1, limit)
	worker := make(chan error, 1)
	go func() {
		_, err := g.Enter(context.Background(), "p", 1, limit)
		worker <- err
	}()
	var p Pulse
	done := make(chan error, 1)
	p.Touch()
	go func() {
		for p.beat.Load() { // until Await looked
			time.Sleep(time.Millisecond)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		time.Sleep(2 * every(limit))
		leave()
		done <- errors.New("answered")
	}()
	err, gaveUp := p.Await(done, limit)
	fmt.Printf("operation: %v, gave up: %v\n", err, gaveUp)
	fmt.Printf("worker: %v\n", <-worker)
}
