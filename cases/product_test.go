//go:build linux

package cases

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound/internal/rawmcp"
	"github.com/rootbound/rootbound/internal/rig"
)

// handshake bounds the start of a server; no case is about it.
const handshake = time.Minute

func (l *launch) text() string {
	b, _ := json.Marshal(l)
	return string(b)
}

// fsTimeout is how long a call waits for the file system: longer than by default, for the disk of a busy machine is slow, but
// where a case is about one that does not answer.
func fsTimeout(d time.Duration) string { return "ROOTBOUND_FS_TIMEOUT=" + d.String() }

// start is how a product is started for one case.
type start struct {
	bin     string   // another build of the server
	argv    []string // after the binary: serve and its flags
	env     []string // NAME=VALUE beyond the usual
	launch  launch
	cwd     string
	cwdDir  *os.File // instead of cwd: a directory that may be deleted
	version string
	roots   func(int) rawmcp.Answer
	changes bool // listChanged is declared
	raw     func([]byte, bool)
}

// product is a server under test with the files its records go to.
type product struct {
	*rawmcp.Client
	audit   string
	project string   // the project form: the id that calls name which name none
	in      *os.File // tracer's commands
	out     *bufio.Reader
}

// begin starts the server in the world and does the handshake. An error is a refused start.
func (w *world) begin(s start) (*product, error) {
	env := []string{
		"PATH=/usr/bin:/bin", "HOME=" + w.state + "/home", "XDG_STATE_HOME=" + w.state + "/state",
		"XDG_RUNTIME_DIR=" + w.state + "/run", "XDG_CONFIG_HOME=" + w.state + "/config", "TZ=UTC", fsTimeout(time.Minute),
	}
	for _, d := range []string{"state", "run", "config"} {
		if err := os.MkdirAll(w.state+"/"+d, 0o700); err != nil {
			return nil, err
		}
		if s.launch.UID != 0 {
			os.Chown(w.state+"/"+d, s.launch.UID, s.launch.UID)
			os.Chown(w.state, s.launch.UID, s.launch.UID)
		}
	}
	env = append(env, s.env...)
	p := &product{audit: w.state + "/audit.jsonl"}
	argv := append(rig.Server(w.t), s.argv...)
	if s.bin != "" {
		argv[0] = s.bin
	}
	o := rawmcp.Options{Argv: argv, Dir: s.cwd, Env: env, Version: s.version, Roots: s.roots, ListChanged: s.changes, Raw: s.raw}
	if o.Dir == "" {
		o.Dir = w.state + "/home"
	}
	if s.cwdDir != nil {
		s.launch.CwdFD = 3
		o.Files = append(o.Files, s.cwdDir)
	}
	if s.launch.Trace {
		inR, inW, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		outR, outW, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		o.Files = append(o.Files, inR, outW)
		p.in, p.out = inW, bufio.NewReader(outR)
		defer inR.Close()
		defer outW.Close()
		w.after(func() { inW.Close(); outR.Close() })
	}
	if s.launch.needed() {
		s.launch.Argv = argv
		o.Argv = []string{"/proc/self/exe"}
		o.Env = append(env, roleEnv+"="+s.launch.text())
	}
	c, err := rawmcp.Start(o)
	if err != nil {
		return nil, err
	}
	p.Client = c
	w.after(func() { c.Kill(); c.Close(time.Second) })
	ctx, cancel := context.WithTimeout(context.Background(), handshake)
	defer cancel()
	if _, err := c.Open(ctx); err != nil {
		return p, fmt.Errorf("%w (stderr: %s)", err, c.Stderr())
	}
	return p, nil
}

// tell sends a command to the tracer and reads one line back, if there is one.
func (p *product) tell(t *testing.T, command string, answer bool) string {
	t.Helper()
	fmt.Fprintln(p.in, command)
	if !answer {
		return ""
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("tracer: %v", err)
	}
	return strings.TrimSpace(line)
}

// patience is how much longer than a limit an answer is waited for: a busy machine is slower, and what blocks or has no
// bound is never done.
const patience = 10

// call makes one tool call with a limit and gives the time for which the server worked meanwhile, which is what a limit is
// about and no other process adds to. A call without an answer is a failure that names the limit.
func (p *product) call(limit time.Duration, tool string, args rawmcp.Args) (*rawmcp.Result, time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), min(patience*limit, max(limit, time.Minute)))
	defer cancel()
	if p.project != "" {
		args = inProject(p.project, args)
	}
	began := p.worked()
	r, err := p.Call(ctx, tool, args)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer; the limit is %v", limit)
	}
	return r, p.worked() - began, err
}

// worked is the processor time of the server so far; 0 when it has ended. clock_getres(2) tells how the clock of another
// process is named.
func (p *product) worked() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(int32(^p.PID()<<3|2), &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// operation is a call in the words of attacks.yaml.
type operation struct {
	op   string
	path string
	args map[string]any
}

// tool maps an operation to our tools. Paths are bytes; what needs no bytes is sent as plain text.
func (o operation) tool(w *world) (string, rawmcp.Args) {
	args := rawmcp.Args{"path": rawmcp.Text(o.path)}
	str := func(key string) string {
		s, _ := o.args[key].(string)
		return w.expand(s)
	}
	switch o.op {
	case "read":
		if v, ok := o.args["offset"]; ok { // lines count from one
			args["line"] = asInt(v) + 1
			if asInt(v) < 0 {
				args["line"] = asInt(v)
			}
		}
		if v, ok := o.args["limit"]; ok {
			args["lines"] = v
		}
		return "read_text_file", args
	case "list":
		if o.args["details"] == true {
			return "list_directory_with_sizes", args
		}
		return "list_directory", args
	case "tree":
		return "directory_tree", args
	case "search":
		args["pattern"], args["literal"] = str("pattern"), o.args["regex"] != true
		return "search_content", args
	case "stat":
		return "get_file_info", args
	case "create":
		if o.args["kind"] == "dir" {
			return "create_directory", args
		}
		args["expected_version"] = "absent"
		if m, ok := o.args["mode"]; ok {
			args["mode"] = m
		}
		args["content"] = str("content")
		return "write_file", args
	case "write":
		args["content"] = str("content")
		if n, ok := o.args["fill"]; ok {
			args["content"] = strings.Repeat("x", int(asInt(n)))
		}
		return "write_file", args
	case "edit":
		args["edits"] = []map[string]string{{"oldText": str("old"), "newText": str("new")}}
		return "edit_file", args
	case "rename":
		args = rawmcp.Args{"source": rawmcp.Text(o.path), "destination": rawmcp.Text(str("to"))}
		if o.args["overwrite"] == true {
			args["overwrite"] = true
		}
		return "move_file", args
	case "delete":
		if o.args["recursive"] == true {
			args["recursive"] = true
		}
		return "delete_file", args
	}
	w.t.Fatalf("operation %q has no tool", o.op)
	return "", nil
}

func asInt(v any) int64 {
	switch n := v.(type) {
	case int:
		return int64(n)
	case int64:
		return n
	case uint64:
		return int64(n)
	}
	return 0
}

// published are the roots a client declares, which a step may change.
type published struct {
	mu    sync.Mutex
	uris  []string
	then  func() // run inside the next answer
	hooks atomic.Int64
}

func (r *published) answer(int) rawmcp.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.then != nil {
		r.then()
		r.then = nil
		r.hooks.Add(1)
	}
	return rawmcp.Answer{Roots: append([]string{}, r.uris...)}
}

func (r *published) set(uris []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.uris = uris
}

// fileURI is how a careful client spells a path.
func fileURI(path string) string {
	var b strings.Builder
	b.WriteString("file://")
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("/-._~", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// open descriptors of a process whose target lies below dir, and how many there are in all.
func descriptors(pid int, dir string) (below map[string]int, all int) {
	below = map[string]int{}
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	for _, f := range fds {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, f.Name()))
		if err != nil {
			continue
		}
		all++
		if to == dir || strings.HasPrefix(to, dir+"/") {
			below[to]++
		}
	}
	return below, all
}

// resident gives the memory of a process in KiB: now and at its peak since the last reset.
func resident(pid int) (now, peak int64) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		var n int64
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &n); err == nil {
			now = n
		}
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &n); err == nil {
			peak = n
		}
	}
	return now, peak
}

func resetPeak(pid int) {
	os.WriteFile(filepath.Join("/proc", fmt.Sprint(pid), "clear_refs"), []byte("5"), 0)
}
