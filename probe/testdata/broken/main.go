// Command broken is a tiny file server with one fault, or none: what the probe is tested with. The first argument is its
// mode, the others are the directories it grants. It speaks the legacy era over stdin and stdout and uses the standard
// library only.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

var mode string

func is(m ...string) bool {
	for _, x := range m {
		if x == mode {
			return true
		}
	}
	return false
}

// dir is one approved directory.
type dir struct {
	spelled, real string
	root          *os.Root
	info          os.FileInfo
}

func open(path string) (*dir, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	r, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	info, err := r.Stat(".")
	return &dir{path, real, r, info}, err
}

// same reports whether the name still reaches the directory that was approved.
func (d *dir) same() bool {
	now, err := os.Stat(d.spelled)
	return err == nil && os.SameFile(now, d.info)
}

type server struct {
	granted  []*dir
	declared bool

	mu     sync.Mutex
	epoch  int // of the client's list
	known  int // epoch of scope; -1: none
	scope  []*dir
	effect sync.Mutex // one change at a time

	out  sync.Mutex
	next int
	wait map[string]chan json.RawMessage
	web  *web // nil: pipes

	atEnd func()
}

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

func (s *server) send(m message) {
	m.JSONRPC = "2.0"
	line, _ := json.Marshal(m)
	if s.web != nil {
		s.web.send(string(m.ID), m.Method, line)
		return
	}
	s.out.Lock()
	defer s.out.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

func main() {
	mode = os.Args[1]
	misbehaveAtStart()
	s := &server{known: -1, wait: map[string]chan json.RawMessage{}}
	for _, a := range os.Args[2:] {
		if d, err := open(a); err == nil {
			s.granted = append(s.granted, d)
		}
	}
	if address := os.Getenv("BROKEN_HTTP"); address != "" {
		s.serveHTTP(address)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if s.atEnd != nil {
				s.atEnd()
			}
			if mode == "ignores-signals" {
				time.Sleep(time.Hour)
			}
			return
		}
		s.take(line)
	}
}

func name() string {
	if is("steers-the-terminal") {
		return "\x1b[31mheld\u202e"
	}
	return "broken-" + mode
}

// take handles one message.
func (s *server) take(line []byte) {
	var m struct {
		message
		Result json.RawMessage `json:"result"`
	}
	if json.Unmarshal(line, &m) == nil {
		switch m.Method {
		case "initialize":
			var p struct {
				Capabilities struct{ Roots json.RawMessage }
			}
			json.Unmarshal(m.Params, &p)
			s.declared = len(p.Capabilities.Roots) > 0
			s.send(message{ID: m.ID, Result: map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": struct{}{}},
				"serverInfo": map[string]string{"name": name(), "version": "1"}}})
		case "notifications/initialized":
			if is("serves-meanwhile") {
				go s.current()
			}
		case "notifications/roots/list_changed":
			s.mu.Lock()
			s.epoch++
			s.mu.Unlock()
			if is("serves-meanwhile") {
				go s.current()
			}
		case "tools/list":
			list := tools()
			if mode == "odd-tools" {
				list = []any{map[string]any{"name": "fetch", "inputSchema": map[string]any{"type": "object", "required": []string{"where", "what"}}},
					map[string]any{"name": "x\x1b[2J\ny"}}
			}
			s.send(message{ID: m.ID, Result: map[string]any{"tools": list}})
		case "tools/call":
			if !misbehaveInCall(s, m.ID, m.Params) {
				go s.call(m.ID, m.Params)
			}
		case "":
			s.out.Lock()
			if c := s.wait[string(m.ID)]; c != nil {
				c <- m.Result
			}
			s.out.Unlock()
		default:
			s.send(message{ID: m.ID, Error: map[string]any{"code": -32601, "message": "method not found"}})
		}
	}
}

var errScope = errors.New("no directory is in force")

// current gives the directories in force and the epoch they belong to.
func (s *server) current() ([]*dir, int, error) {
	if !s.declared {
		if len(s.granted) == 0 {
			return nil, 0, errScope
		}
		return s.granted, 0, nil
	}
	for range 3 {
		s.mu.Lock()
		epoch, known, scope := s.epoch, s.known, s.scope
		s.mu.Unlock()
		if known == epoch {
			return scope, epoch, nil
		}
		list, err := s.ask()
		s.mu.Lock()
		if err == nil && (s.epoch == epoch || is("takes-late")) {
			s.known, s.scope = s.epoch, list
		}
		if err != nil && is("keeps-old") && s.scope != nil {
			list, err = s.scope, nil
		}
		fresh := s.epoch == epoch
		s.mu.Unlock()
		if err != nil {
			return nil, 0, err
		}
		if fresh || is("takes-late") {
			return list, epoch, nil
		}
	}
	return nil, 0, errScope
}

// scopeNow is current, but for the mode that serves the old list until the new one is there.
func (s *server) scopeNow() ([]*dir, int, error) {
	if is("serves-meanwhile") {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.scope == nil {
			return s.granted, s.epoch, nil
		}
		return s.scope, s.epoch, nil
	}
	return s.current()
}

func (s *server) ask() ([]*dir, error) {
	s.out.Lock()
	s.next++
	id := fmt.Sprintf(`"r%d"`, s.next)
	c := make(chan json.RawMessage, 1)
	s.wait[id] = c
	s.out.Unlock()
	s.send(message{ID: json.RawMessage(id), Method: "roots/list"})
	patience := 5 * time.Second // the client of a busy machine is slow
	if is("keeps-old") {
		patience = 1500 * time.Millisecond // less than the client is late on purpose
	}
	select {
	case raw := <-c:
		return s.approve(raw)
	case <-time.After(patience):
		return nil, errScope
	}
}

// approve narrows what is granted by what the client answered.
func (s *server) approve(raw json.RawMessage) ([]*dir, error) {
	var answer struct {
		Roots []struct{ URI string }
	}
	if raw == nil || json.Unmarshal(raw, &answer) != nil || answer.Roots == nil {
		return nil, errScope
	}
	if len(answer.Roots) == 0 && is("empty-is-all") {
		return s.granted, nil
	}
	out := []*dir{}
	for _, r := range answer.Roots {
		path, err := local(r.URI)
		if err != nil && r.URI == "" {
			return nil, errScope
		}
		if err != nil && is("one-bad-spoils") {
			return nil, errScope
		}
		if err != nil {
			continue
		}
		d, err := open(path)
		if err != nil {
			continue
		}
		if len(s.granted) == 0 || is("widens") {
			out = append(out, d)
			continue
		}
		for _, g := range s.granted {
			switch {
			case within(g.real, d.real):
				out = append(out, d)
			case within(d.real, g.real):
				out = append(out, g)
			}
		}
	}
	if len(out) == 0 {
		return nil, errScope
	}
	return out, nil
}

func local(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	if is("trusts-uris") {
		return filepath.Clean(u.Path), nil
	}
	if u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || u.RawQuery != "" || u.Fragment != "" || !filepath.IsAbs(u.Path) {
		return "", errors.New("no local file URI")
	}
	lower := strings.ToLower(uri)
	if strings.Contains(lower, "%2f") || strings.Contains(u.Path, "\x00") {
		return "", errors.New("an encoded separator")
	}
	for _, part := range strings.Split(u.Path, "/") {
		if part == ".." {
			return "", errors.New("a .. segment")
		}
	}
	return u.Path, nil
}

func within(top, path string) bool {
	return path == top || strings.HasPrefix(path, strings.TrimSuffix(top, "/")+"/")
}

type input struct {
	Path, Source, Destination, Content, Regex string
	Edits                                     []struct{ OldText, NewText string }
}

func (s *server) call(id, params json.RawMessage) {
	var p struct {
		Name      string
		Arguments input
	}
	json.Unmarshal(params, &p)
	text, err := s.do(p.Name, p.Arguments)
	result := map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}}
	if err != nil {
		result = map[string]any{"isError": true, "content": []any{map[string]string{"type": "text", "text": s.why(err, p.Arguments)}}}
	}
	s.send(message{ID: id, Result: result})
}

// why tells no more than the caller sent.
func (s *server) why(err error, in input) string {
	if is("leaks-paths") {
		var dirs []string
		for _, g := range s.granted {
			dirs = append(dirs, g.real)
		}
		return fmt.Sprintf("%v; allowed: %s", err, strings.Join(dirs, ", "))
	}
	switch {
	case errors.Is(err, errOutside), errors.Is(err, errScope):
		return "refused: outside what is approved"
	case errors.Is(err, os.ErrNotExist):
		return "refused: it does not exist"
	}
	return "refused: not possible"
}

func tools() []any {
	text := map[string]any{"type": "string"}
	make := func(name string, props ...string) any {
		p := map[string]any{}
		for _, x := range props {
			p[x] = text
		}
		if name == "edit_file" {
			p["edits"] = map[string]any{"type": "array", "items": map[string]any{"type": "object", "properties": map[string]any{"oldText": text, "newText": text}}}
			props = append(props, "edits")
		}
		return map[string]any{"name": name, "inputSchema": map[string]any{"type": "object", "properties": p, "required": props}}
	}
	what := "pattern"
	if is("searches-contents") {
		what = "regex"
	}
	return []any{make("read_file", "path"), make("list_directory", "path"), make("directory_tree", "path"), make("search_files", "path", what),
		make("write_file", "path", "content"), make("edit_file", "path"), make("create_directory", "path"), make("move_file", "source", "destination"),
		make("get_file_info", "path"), make("delete_file", "path")}
}
