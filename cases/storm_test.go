//go:build linux

package cases

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/rawmcp"
	"github.com/rootbound/rootbound/internal/storm"
)

// served is a server process as a storm's victim: each operation goes through every tool that offers it, in turn.
type served struct {
	p    *product
	root string
	n    atomic.Int64
}

// tools are those through which an operation can be asked for.
var tools = map[storm.Op][]string{
	storm.Read:   {"read_text_file", "read_file", "read_media_file", "read_multiple_files"},
	storm.Stat:   {"get_file_info"},
	storm.List:   {"list_directory", "list_directory_with_sizes"},
	storm.Tree:   {"directory_tree", "search_files"},
	storm.Write:  {"write_file"},
	storm.Create: {"write_file", "apply_patch"},
	storm.Edit:   {"edit_file", "apply_patch"},
	storm.Mkdir:  {"create_directory"},
	storm.Move:   {"move_file"},
	storm.Copy:   {"copy_file"},
	storm.Delete: {"delete_file"},
	storm.Append: {"append_file"},
}

func (s *served) Do(c storm.Call) ([]byte, error) {
	n := s.n.Add(1)
	offered := tools[c.Op]
	if len(offered) == 0 {
		return nil, errors.ErrUnsupported
	}
	tool := offered[int(n)%len(offered)]
	if tool == "apply_patch" && strings.HasPrefix(c.Path, "m/") { // while m is away a patch would make another one, and m could not come back
		tool = offered[0]
	}
	path := s.root + "/" + c.Path
	args := rawmcp.Args{"path": path}
	var before []byte
	switch tool {
	case "read_multiple_files":
		args = rawmcp.Args{"paths": []string{path}}
	case "write_file":
		args["content"] = c.Text
		if c.Op == storm.Create {
			args["expected_version"] = "absent"
		}
	case "apply_patch": // what is refused when it is proposed is refused
		edit := map[string]string{"path": path, "oldText": c.Old, "newText": c.New}
		if c.Op == storm.Create {
			edit["newText"] = c.Text
		}
		r, _, err := s.p.call(20*time.Second, "propose_patch", rawmcp.Args{"edits": []map[string]string{edit}})
		if err != nil {
			return nil, fmt.Errorf("the server did not answer: %w", err)
		}
		var plan string
		if !r.OK() || !r.Get("plan", &plan) {
			return everything(r), errors.New(strings.ReplaceAll(r.Text, s.root, "ROOT"))
		}
		before = everything(r)
		args = rawmcp.Args{"plan": plan}
	case "edit_file":
		args["edits"] = []map[string]string{{"oldText": c.Old, "newText": c.New}}
	case "append_file":
		args["content"] = c.Text
	case "delete_file":
		args["recursive"] = true
	case "move_file", "copy_file":
		args = rawmcp.Args{"source": path, "destination": s.root + "/" + c.To}
	case "search_files":
		args["pattern"] = "**"
	}
	r, _, err := s.p.call(20*time.Second, tool, args)
	if err != nil {
		return nil, fmt.Errorf("the server did not answer: %w", err)
	}
	answer := append(before, everything(r)...)
	if !r.OK() || tool == "read_multiple_files" && strings.Contains(r.Text, ": Error - ") {
		return answer, errors.New(strings.ReplaceAll(r.Text, s.root, "ROOT")) // the caller sent the root, so it may come back
	}
	return answer, nil
}

// everything is every byte the client gets, files that were sent as base64 decoded too.
func everything(r *rawmcp.Result) []byte {
	answer := bytes.Clone(r.Raw)
	for _, b := range r.Blocks {
		for _, coded := range []string{b.Data, b.Resource.Blob} {
			if raw, err := base64.StdEncoding.DecodeString(coded); err == nil {
				answer = append(answer, raw...)
			}
		}
	}
	return answer
}

// stormTime is how long a storm blows for one era: RB_STORM_SECONDS, a minute with RB_LONG, else a little.
func stormTime(t *testing.T) time.Duration {
	t.Helper()
	if s := os.Getenv("RB_STORM_SECONDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(n) * time.Second
	}
	if os.Getenv("RB_LONG") != "" {
		return time.Minute
	}
	return 2500 * time.Millisecond
}

// blow runs a storm on a server process and returns its report.
func blow(t *testing.T, version, name string, only []storm.Op, s start, flags ...string) *storm.Report {
	t.Helper()
	w := newWorld(t, base+"/storm-"+version[:4], name)
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	sw, err := storm.NewWorld(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	s.version = version
	s.argv = append(append([]string{"--no-slow", "--allow-delete", "--audit", w.state + "/audit.jsonl"}, flags...), sw.Root)
	p, err := w.begin(s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := storm.Storm{World: sw, Victim: &served{p: p, root: sw.Root}, For: stormTime(t), Only: only, Hides: true}.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	if res, _, err := p.call(10*time.Second, "read_text_file", rawmcp.Args{"path": sw.Root + "/alive"}); err != nil || !res.OK() {
		t.Errorf("after the storm: %s %v; stderr: %.400s", res.Short(), err, p.Stderr())
	}
	return r
}

// fair is blow, again where the attackers of a busy machine had a bad round: what leaks is told at once.
func fair(t *testing.T, version, name string, only []storm.Op, s start, flags ...string) error {
	t.Helper()
	r := blow(t, version, name, only, s, flags...)
	for try := 1; try < 4 && r.Clean() == nil && r.Fair() != nil; try++ {
		r = blow(t, version, name+strconv.Itoa(try), only, s, flags...)
	}
	return r.Check()
}

var eras = map[string]string{"Legacy": rawmcp.Legacy, "Modern": rawmcp.Modern}

// TestG01NothingOutsideIsRead: while names are exchanged with links to outside, no tool that reads gives a byte or a name
// from there, in either era, by the resolver alone.
func TestG01NothingOutsideIsRead(t *testing.T) {
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			err := fair(t, version, "g01", []storm.Op{storm.Read, storm.Read, storm.Stat, storm.List, storm.Tree}, start{}, "--confine=off")
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestG02NothingOutsideIsWritten: the same for every tool that changes something. Reads are mixed in, as a client would
// and so that enough calls succeed for a fair storm.
func TestG02NothingOutsideIsWritten(t *testing.T) {
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			err := fair(t, version, "g02", []storm.Op{storm.Write, storm.Create, storm.Edit, storm.Mkdir, storm.Move, storm.Copy, storm.Delete, storm.Append, storm.Read, storm.List}, start{}, "--confine=off")
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStormWithoutOpenat2: the walk that takes openat2's place holds too, through all tools at once.
func TestStormWithoutOpenat2(t *testing.T) {
	err := fair(t, rawmcp.Legacy, "walk", nil, start{launch: launch{Deny: []denied{{Call: "openat2", Errno: errnos["ENOSYS"]}}}}, "--confine=off")
	if err != nil {
		t.Error(err)
	}
}
