package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/internal/rig"
)

// The program where the kernel has no instance or no watches left: subscribing is refused with the setting to raise, calls
// and what is subscribed to already go on, and when there are some again it works. What grows beyond them is told of.
func TestKernelLimitsAroundTheProgram(t *testing.T) {
	if !rig.OwnLimits(t) {
		return
	}
	dir := filepath.Join(t.TempDir(), "app")
	write := func(name, text string) {
		t.Helper()
		rig.Write(t, filepath.Join(dir, name), text)
	}
	write("a.txt", "hello\n")
	for i := range 30 {
		write(fmt.Sprintf("big/%d/f", i), "1")
	}
	p := startProcess(t, "serve", dir)
	p.initialize("2025-11-25")
	id := 1
	// ask is the answer to a request; what is told before it is passed over.
	ask := func(method, params string) string {
		t.Helper()
		id++
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, params))
		for {
			if line := p.line(); strings.Contains(line, fmt.Sprintf(`"id":%d,`, id)) {
				return line
			}
		}
	}
	subscribe := func(at string) string {
		t.Helper()
		return ask("resources/subscribe", `"uri":"rootbound://app/`+at+`"`)
	}
	until := func(word string) {
		t.Helper()
		for !strings.Contains(p.line(), word) {
		}
	}
	serves := func() {
		t.Helper()
		if got := ask("tools/call", `"name":"read_text_file","arguments":{"path":"`+dir+`/a.txt"}`); strings.Contains(got, `"isError":true`) || !strings.Contains(got, "content") {
			t.Error(got)
		}
	}
	refused := func(at, setting string) {
		t.Helper()
		if got := subscribe(at); !strings.Contains(got, "-32602") || !strings.Contains(got, setting) {
			t.Error(got)
		}
		serves()
	}
	granted := func(at string) {
		t.Helper()
		if got := subscribe(at); !strings.Contains(got, `"result":{}`) {
			t.Fatal(got)
		}
	}

	rig.Limit(t, "max_inotify_instances", 0)
	refused("a.txt", "fs.inotify.max_user_instances")
	rig.Limit(t, "max_inotify_instances", 10)
	rig.Limit(t, "max_inotify_watches", 10)
	granted("a.txt")
	for range 3 {
		refused("big", "fs.inotify.max_user_watches")
		write("a.txt", "changed\n")
		until("rootbound://app/a.txt")
	}
	rig.Limit(t, "max_inotify_watches", 100)
	granted("big")
	write("big/7/f", "2")
	until("rootbound://app/big/7/f")
	for i := range 200 {
		write(fmt.Sprintf("big/7/new%d/f", i), "1")
	}
	until("notifications/resources/list_changed")
	serves()
	write("a.txt", "changed again\n")
	until("rootbound://app/a.txt")
	p.in.Close()
	p.exit(0)
}

// line is a line that the server sends.
func (p *process) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil || !json.Valid([]byte(line)) {
		p.t.Fatalf("%v: %q; stderr: %s", err, line, p.stderr)
	}
	return line
}
