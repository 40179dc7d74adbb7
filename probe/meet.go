package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rootbound/rootbound/probe/profile"
	"github.com/rootbound/rootbound/probe/script"
	"github.com/rootbound/rootbound/probe/truth"
	"github.com/rootbound/rootbound/probe/wire"
)

// meet starts the server once, learns its tools and which eras it speaks.
func (r *suite) meet(ctx context.Context) error {
	w, err := truth.New(r.o.Dir, source(r.o.Seed, "meet", ""))
	if err != nil {
		return err
	}
	defer w.Remove()
	r.subject = Subject{Command: r.server.Command, Transport: "stdio", Eras: []string{}}
	if r.server.URL != "" {
		r.subject.Transport = "http"
	}
	var last error
	for _, era := range []string{script.EraLegacy, script.EraModern} {
		if r.o.Eras != nil && !slices.Contains(r.o.Eras, era) {
			continue
		}
		if err := r.greet(ctx, w, era); err != nil {
			if last == nil || era == script.EraLegacy {
				last = err
			}
			if errors.Is(err, errNoStart) { // it was asked nothing yet, so another era changes nothing
				break
			}
			continue
		}
		r.subject.Eras = append(r.subject.Eras, era)
	}
	if len(r.subject.Eras) == 0 {
		return last
	}
	return nil
}

func (r *suite) greet(ctx context.Context, w *truth.World, era string) error {
	o, err := r.options(w, nil, era)
	if err != nil {
		return err
	}
	o.Roots = func(int) wire.Answer { return script.Roots{List: []string{"file://{app}", "file://{docs}"}}.Answer(w) }
	ctx, stop := r.greeting(ctx)
	defer stop()
	conn, err := r.open(ctx, o)
	if err != nil {
		return r.explain("", fmt.Errorf("%w: %w", errNoStart, err))
	}
	defer conn.Close(r.parting())
	hello, err := conn.Hello(ctx)
	if err != nil {
		return r.explain(conn.Stderr(), fmt.Errorf("no handshake: %w", err))
	}
	var who struct {
		Supported []string `json:"supportedVersions"`
		Info      struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"serverInfo"`
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(hello, &who); err != nil {
		return fmt.Errorf("no handshake: %w", err)
	}
	if era == script.EraModern && !slices.Contains(who.Supported, wire.Modern) {
		return fmt.Errorf("it does not speak %s", wire.Modern)
	}
	for k, v := range who.Meta {
		if strings.HasSuffix(k, "/serverInfo") {
			json.Unmarshal(v, &who.Info)
		}
	}
	if r.subject.Name == "" {
		r.subject.Name, r.subject.Version = who.Info.Name, who.Info.Version
	}
	raw, err := conn.Request(ctx, "tools/list", nil)
	if err != nil {
		return r.explain(conn.Stderr(), fmt.Errorf("no tools: %w", err))
	}
	var list struct {
		Tools []profile.Tool `json:"tools"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("no tools: %w", err)
	}
	if era == script.EraLegacy {
		if n, next := conn.Asks(); n > 0 {
			r.eager = true
		} else {
			select {
			case <-next:
				r.eager = true
			case <-time.After(time.Second):
			}
		}
	}
	if err := r.assign(list.Tools); err != nil {
		return err
	}
	if r.subject.Tools["search"] != "" && len(r.subject.Eras) == 0 {
		r.seek(ctx, conn, w)
	}
	return nil
}

// seek finds out what a search finds, once: one that does not understand what it is asked for would hold in every case. One
// that does not answer is left to the cases.
func (r *suite) seek(ctx context.Context, conn *wire.Conn, w *truth.World) {
	look := func() (finds, answers bool) {
		ctx, stop := context.WithTimeout(ctx, min(asking, r.o.Timeout))
		defer stop()
		call, err := r.profile.Call(w, "search", profile.Values{Path: w.Fill("{app}")})
		if err != nil {
			return false, false
		}
		res, err := conn.Do(ctx, call)
		if err != nil {
			return false, false
		}
		all := string(whole(res))
		return strings.Contains(all, "main.txt") || strings.Contains(all, truth.Mark+"i"), true
	}
	for again := range 3 { // one that asks for roots by itself may not have taken them in
		for _, text := range r.profile.Patterns() {
			r.profile.Seek(text)
			if finds, answers := look(); finds || !answers {
				return
			}
		}
		if !r.eager || again == 2 {
			break
		}
		select {
		case <-time.After(settling):
		case <-ctx.Done():
			return
		}
	}
	r.blind = true
}

// errNoStart says that no connection came about.
var errNoStart = errors.New("the server did not start")

// explain adds the server's last words to an error, and names a file that was not found where it was started.
func (r *suite) explain(stderr string, err error) error {
	var last *wire.Parting
	if errors.As(err, &last) {
		stderr = last.Stderr
	}
	if errors.Is(err, wire.ErrGone) {
		if stderr == "" {
			err = fmt.Errorf("%w. It wrote nothing to stderr", err)
		}
		for _, name := range missing(r.server.Command) {
			err = fmt.Errorf("%w. There is no file %s in the directory that the probe was started in", err, name)
		}
	}
	lines := lastLines(stderr)
	if len(lines) == 0 || len(lines) == 1 && strings.Contains(err.Error(), lines[0]) {
		return err
	}
	return fmt.Errorf("%w\nThe server's stderr ends with:\n  %s", err, strings.Join(lines, "\n  "))
}

// assign settles which tool does what.
func (r *suite) assign(tools []profile.Tool) error {
	if r.profile == nil {
		var err error
		if r.profile, err = profile.Choose(r.subject.Name, tools); err != nil {
			return err
		}
	}
	r.subject.Profile, r.subject.Tools, r.subject.Unmapped = r.profile.Name, map[string]string{}, []string{}
	for _, op := range script.Operations() {
		if in, ok := r.profile.Ops[op]; ok {
			r.subject.Tools[op] = in.Tool
		} else {
			r.subject.Unmapped = append(r.subject.Unmapped, op)
		}
	}
	if len(r.subject.Tools) == 0 {
		return errors.New(notUnderstood(tools))
	}
	return nil
}
