package state

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound/authority/token"
	"github.com/rootbound/rootbound/beneath"
)

// Some promises are about processes: the test program plays their part when this variable names one.
const partVar = "ROOTBOUND_TEST_PART"

func TestMain(m *testing.M) {
	parts := map[string]func(args []string) error{
		"count": childCount, "hold": childHold, "stage": childStage, "open": childOpen, "spend": childSpend,
	}
	if part := parts[os.Getenv(partVar)]; part != nil {
		if err := part(os.Args[1:]); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, part, stateDir string, args ...string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), partVar+"="+part, "ROOTBOUND_STATE_DIR="+stateDir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd, in, bufio.NewReader(out)}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return c
}

func (c *child) expect(t *testing.T, want string) {
	t.Helper()
	line, err := c.out.ReadString('\n')
	if strings.TrimSpace(line) != want {
		t.Fatalf("child said %q (%v), want %q", line, err, want)
	}
}

func (c *child) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.cmd.Wait()
}

func key(name string) beneath.Key {
	return beneath.Key{Dir: beneath.ObjectID{Dev: 1, Ino: 2}, Name: name}
}

// childCount adds one to a number in a file, many times, each time under the entry's lock.
func childCount(args []string) error {
	d, err := Open(os.Getenv)
	if err != nil {
		return err
	}
	l, err := d.Locks()
	if err != nil {
		return err
	}
	times, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	for range times {
		unlock, err := l.Lock(context.Background(), key("a"), key("b"))
		if err != nil {
			return err
		}
		if err := addOne(args[0]); err != nil {
			return err
		}
		unlock()
	}
	fmt.Println("done")
	return nil
}

func addOne(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600)
}

func childHold([]string) error {
	d, err := Open(os.Getenv)
	if err != nil {
		return err
	}
	l, err := d.Locks()
	if err != nil {
		return err
	}
	if _, err := l.Lock(context.Background(), key("a")); err != nil {
		return err
	}
	fmt.Println("held")
	return untilKilled()
}

// childStage makes the files named by its arguments, journals them and waits to be killed.
func childStage(args []string) error {
	d, err := Open(os.Getenv)
	if err != nil {
		return err
	}
	j, err := d.Journal()
	if err != nil {
		return err
	}
	for _, path := range args {
		if err := os.WriteFile(path, []byte("half of a fi"), 0o600); err != nil {
			return err
		}
		id, _ := idOf(os.Lstat, path)
		if _, err := j.Staged(filepath.Dir(path), "", filepath.Base(path), id, nil); err != nil {
			return err
		}
	}
	fmt.Println("staged")
	return untilKilled()
}

// untilKilled waits for a time: the runtime ends a program that waits for nothing, unless cgo keeps it from seeing that.
func untilKilled() error {
	time.Sleep(time.Hour)
	return errors.New("was not killed")
}

func childOpen([]string) error {
	d, err := Open(os.Getenv)
	if err != nil {
		return err
	}
	k, err := d.Key("token")
	if err != nil {
		return err
	}
	fmt.Printf("%x\n", k)
	return nil
}

// childSpend spends the nonces named on its input, says which were fresh, and waits.
func childSpend([]string) error {
	d, err := Open(os.Getenv)
	if err != nil {
		return err
	}
	s, err := d.Spent()
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch err := s.Spend(in.Text(), time.Now().Add(time.Hour)); {
		case err == nil:
			fmt.Println("fresh")
		case errors.Is(err, token.ErrSpent):
			fmt.Println("spent")
		default:
			fmt.Println(err)
		}
	}
	return nil
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// env gives Open an environment of its own.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func open(t *testing.T) *Dir {
	t.Helper()
	d, err := Open(env("ROOTBOUND_STATE_DIR", filepath.Join(t.TempDir(), "state")))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
