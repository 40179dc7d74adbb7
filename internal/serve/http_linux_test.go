package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/mcpscope"
	"github.com/rootbound/rootbound/mcpscope/unread"
)

// patience is how long a test waits for what must come. It is not a measure of anything.
const patience = 30 * time.Second

// site is a whole server over HTTP for several principals, who come with a bearer token each. The projects: app, lib, and both,
// which nobody loses; beside them a directory outside.
type site struct {
	t       *testing.T
	dir     string
	service *Service
	bounds  *unread.Bounds
	url     string
}

func newSite(t *testing.T, o Options) *site {
	t.Helper()
	return newBoundedSite(t, o, unread.Options{})
}

// newBoundedSite is a site that treats those who do not read in this way.
func newBoundedSite(t *testing.T, o Options, b unread.Options) *site {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: dir}
	for _, id := range []string{"app", "lib", "both"} {
		s.write(id+"/in-"+id+".txt", "needle of "+id+"\n")
		s.write(id+"/sub-"+id+"/deep-"+id+".txt", "needle below "+id+"\n")
		o.Projects = append(o.Projects, rootbound.Project{ID: rootbound.RootID(id), Dir: filepath.Join(dir, id), Rights: rootbound.Full})
	}
	s.write("outside/in-outside.txt", "needle of outside\n")
	o.Version, o.NoSlow, o.Transport, o.FSTimeout = "test", true, "http", time.Minute // the disk of a busy machine is slow
	if s.service, err = New(o); err != nil {
		t.Fatal(err)
	}
	get := func(*http.Request) *mcp.Server { return s.service.mcp }
	s.bounds = unread.New(b)
	legacy := s.service.scope.Sessions(s.bounds.Handler(s.service.hub.Streams(mcp.NewStreamableHTTPHandler(get, nil))))
	modern := s.bounds.Handler(mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}))
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	h := httptest.NewUnstartedServer(auth.RequireBearerToken(verify, nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28" {
			modern.ServeHTTP(w, r)
			return
		}
		legacy.ServeHTTP(w, r)
	})))
	h.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(4 << 10) // so that little is enough to be more than an unread stream takes
		return ctx
	}
	h.Config.Protocols = new(http.Protocols)
	h.Config.Protocols.SetHTTP1(true)
	h.Config.Protocols.SetUnencryptedHTTP2(true)
	s.bounds.Protect(h.Config)
	h.Start()
	s.url = h.URL
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		s.bounds.Close()
		if err := s.service.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		h.CloseClientConnections()
		h.Close()
	})
	return s
}

func (s *site) write(name, text string) {
	s.t.Helper()
	rig.Write(s.t, filepath.Join(s.dir, name), text)
}

// take takes projects from a principal.
func (s *site) take(user string, projects ...rootbound.RootID) {
	s.service.scope.Revoke(mcpscope.Who{Principal: user}, projects...)
}

// visitor is a client of one principal that speaks HTTP. All that it ever hears is kept.
type visitor struct {
	*site
	user    string
	session string // of the legacy era; empty: it speaks 2026-07-28
	client  *http.Client

	mu   sync.Mutex
	id   int
	seen strings.Builder
}

// visit begins a session, or in 2026-07-28 nothing.
func (s *site) visit(user string, modern bool) *visitor {
	s.t.Helper()
	v := &visitor{site: s, user: user, client: http.DefaultClient}
	if !modern {
		v.session = "none yet"
		res := v.do(context.Background(), "POST", "", `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, nil)
		v.session = res.Header.Get("Mcp-Session-Id")
		if _, err := io.Copy(io.Discard, res.Body); err != nil || v.session == "" {
			s.t.Fatalf("no session: %s %v", res.Status, err)
		}
		v.do(context.Background(), "POST", v.session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
	}
	return v
}

// do sends a request over HTTP; its answer is read by whom it is for.
func (v *visitor) do(ctx context.Context, method, session, body string, more map[string]string) *http.Response {
	v.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, v.url, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	head := map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + v.user, "Mcp-Session-Id": session}
	for k, x := range more {
		head[k] = x
	}
	for k, x := range head {
		if x != "" {
			req.Header.Set(k, x)
		}
	}
	res, err := v.client.Do(req)
	if err != nil {
		v.t.Errorf("%s of %s: %v", method, v.user, err)
		return &http.Response{Header: http.Header{}, Body: http.NoBody}
	}
	v.t.Cleanup(func() { res.Body.Close() })
	return res
}

const metaOfToday = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// post sends one request of the visitor's era.
func (v *visitor) post(ctx context.Context, method, params string) (id int, res *http.Response) {
	v.t.Helper()
	v.mu.Lock()
	v.id++
	id = v.id
	v.mu.Unlock()
	var more map[string]string
	if v.session == "" {
		var of struct{ Name, URI string }
		_ = json.Unmarshal([]byte("{"+params+"}"), &of)
		more = map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
		if name := of.Name + of.URI; name != "" && (method == "tools/call" || method == "resources/read") {
			more["Mcp-Name"] = name
		}
		if params != "" {
			params += ","
		}
		params += metaOfToday
	}
	return id, v.do(ctx, "POST", v.session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, params), more)
}

// ask is post, and the whole answer.
func (v *visitor) ask(method, params string) string {
	v.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	_, res := v.post(ctx, method, params)
	b, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Errorf("%s of %s: %v", method, v.user, err)
	}
	v.keep(string(b))
	return string(b)
}

func (v *visitor) keep(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen.WriteString(text)
}

// heard is all that it heard so far.
func (v *visitor) heard() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.seen.String()
}

// use calls a tool.
func (v *visitor) use(tool string, args map[string]any) string {
	v.t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		v.t.Fatal(err)
	}
	return v.ask("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, b))
}

// ear is a stream on which a visitor hears what nobody asked for.
type ear struct {
	v     *visitor
	lines chan string // closed at its end
	leave context.CancelFunc
}

// listen subscribes to all of the projects and gives the stream on which their changes are told.
func (v *visitor) listen(projects ...string) *ear {
	v.t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	v.t.Cleanup(leave)
	if v.session != "" {
		e := v.hear(v.do(ctx, "GET", v.session, "", nil), leave)
		for _, p := range projects {
			v.agreed(func() string { return v.ask("resources/subscribe", `"uri":"rootbound://`+p+`/"`) }, `"result":{}`)
		}
		return e
	}
	var uris []string
	for _, p := range projects {
		uris = append(uris, "rootbound://"+p+"/")
	}
	b, _ := json.Marshal(uris)
	var e *ear
	v.agreed(func() string {
		_, res := v.post(ctx, "subscriptions/listen", `"notifications":{"resourcesListChanged":true,"resourceSubscriptions":`+string(b)+`}`)
		if res.StatusCode == http.StatusBadRequest { // a refusal that came before the stream began
			b, _ := io.ReadAll(res.Body)
			return string(b)
		}
		e = v.hear(res, leave)
		return <-e.lines
	}, "subscriptions/acknowledged")
	return e
}

// agreed asks again where the generation ended meanwhile: what is subscribed to then is refused.
func (v *visitor) agreed(ask func() string, want string) {
	v.t.Helper()
	for end := time.Now().Add(patience); ; {
		got := ask()
		if strings.Contains(got, want) {
			return
		}
		if time.Now().After(end) || !strings.Contains(got, "revoked_by_user") && !strings.Contains(got, "generation_stale") {
			v.t.Fatalf("%s: %s", v.user, got)
		}
	}
}

func (v *visitor) hear(res *http.Response, leave context.CancelFunc) *ear {
	v.t.Helper()
	if res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(res.Body)
		v.t.Fatalf("the stream of %s: %s: %s", v.user, res.Status, b)
	}
	e := &ear{v, make(chan string, 1<<16), leave}
	go func() {
		defer close(e.lines)
		for r := bufio.NewReader(res.Body); ; {
			line, err := r.ReadString('\n')
			v.keep(line)
			if data, ok := strings.CutPrefix(line, "data: "); ok && strings.TrimSpace(data) != "" {
				e.lines <- strings.TrimSpace(data)
			}
			if err != nil {
				return
			}
		}
	}()
	return e
}

// until waits for a line that has a word, and gives what came with it.
func (e *ear) until(word string) (before []string) {
	e.v.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case line, ok := <-e.lines:
			if !ok {
				e.v.t.Fatalf("the stream of %s ended before %q; it heard %q", e.v.user, word, before)
			}
			if before = append(before, line); strings.Contains(line, word) {
				return before
			}
		case <-late.C:
			e.v.t.Fatalf("%s did not hear %q; it heard %q", e.v.user, word, before)
		}
	}
}

// ended waits for the end of the stream.
func (e *ear) ended() (before []string) {
	e.v.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case line, ok := <-e.lines:
			if !ok {
				return before
			}
			before = append(before, line)
		case <-late.C:
			e.v.t.Fatalf("the stream of %s does not end", e.v.user)
		}
	}
}

// tells writes a file until its own visitor hears of it: what a watch hears before it goes on after a switch is told as a
// change of the whole.
func (e *ear) tells(name string) {
	e.v.t.Helper()
	project, rel, _ := strings.Cut(name, "/")
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		e.v.write(name, time.Now().String())
		again := time.NewTimer(time.Second)
		for heard := false; !heard; {
			select {
			case line, ok := <-e.lines:
				if !ok {
					e.v.t.Fatalf("the stream of %s ended", e.v.user)
				}
				if strings.Contains(line, "rootbound://"+project+"/"+rel+`"`) {
					return
				}
			case <-again.C:
				heard = true
			case <-late.C:
				e.v.t.Fatalf("%s did not hear of %s", e.v.user, name)
			}
		}
	}
}
