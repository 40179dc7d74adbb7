//go:build linux

package probe_test

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rootbound/rootbound/probe"
	"github.com/rootbound/rootbound/probe/profile"
)

// TestStreamableHTTP puts the same cases to the same servers over HTTP: the verdicts are those of the pipes. Those with a fault
// are asked the family in which they fall; with RB_LONG, all.
func TestStreamableHTTP(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][]string{"sound": {}, "lexical-check": {"S10", "S12"}, "keeps-old": {"L15", "L16", "L17", "L18", "L19", "L20"}} {
		s := tiny(t, mode)
		s.URL, s.Env = "http://127.0.0.1:{port}/mcp", []string{"BROKEN_HTTP=127.0.0.1:{port}"}
		o := probe.Options{Only: []string{"sixteen", "L1[5-9]", "L2*"}}
		if os.Getenv("RB_LONG") == "" {
			switch mode {
			case "lexical-check":
				o.Only = o.Only[:1]
			case "keeps-old":
				o.Only = o.Only[1:]
			}
		}
		r := judge(t, s, o)
		if r.Server.Transport != "http" {
			t.Errorf("transport %s", r.Server.Transport)
		}
		fell := []string{}
		for _, c := range r.Cases {
			if c.Verdict == probe.Fell || c.Verdict == probe.Failed {
				fell = append(fell, c.ID)
				t.Logf("%s %s %s %v", mode, c.ID, c.Got, c.Evidence)
			}
		}
		if !slices.Equal(fell, want) {
			t.Errorf("%s over HTTP fell in %v, want %v", mode, fell, want)
		}
	}
}

// TestServerOfTheSDK puts the cases to a server that go-sdk serves over HTTP, with sessions for the legacy era and without for
// 2026-07-28: what holds over pipes holds there. The long form asks all of them.
func TestServerOfTheSDK(t *testing.T) {
	bin, err := compile(t.TempDir(), "../examples/httptools")
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Load("profile/profiles/rootbound.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o, least := probe.Options{Only: []string{"sixteen", "L1*", "L3[6-9]", "L4*", "D0*"}}, 80
	if os.Getenv("RB_LONG") != "" {
		o, least = probe.Options{}, 280
	}
	s := probe.Server{Command: []string{bin, "127.0.0.1:{port}", "{app}", "{docs}"}, URL: "http://127.0.0.1:{port}/mcp", Profile: p}
	holds(t, s, o, least, "messages over HTTP have no order")
}

// TestExpiredStates: a state is kept back for as long as it lives, and a server whose states live longer falls.
func TestExpiredStates(t *testing.T) {
	bin, err := compile(t.TempDir(), "./testdata/states")
	if err != nil {
		t.Fatal(err)
	}
	for life, want := range map[string]string{"100ms": probe.Held, "1h": probe.Fell} {
		s := probe.Server{Command: []string{bin, life, "{app}", "{docs}"}}
		r := judge(t, s, probe.Options{Only: []string{"L49"}, StateLife: 100 * time.Millisecond})
		if len(r.Cases) != 1 || r.Cases[0].Verdict != want {
			t.Errorf("states that live %s: %+v", life, r.Cases)
		}
		if r := judge(t, s, probe.Options{Only: []string{"L49"}}); len(r.Cases) != 1 || r.Cases[0].Verdict != probe.Skipped {
			t.Errorf("without --state-life: %+v", r.Cases)
		}
	}
}

// TestAServerThatDoesNotListen is given up with a word on why, and one that takes its time is waited for.
func TestAServerThatDoesNotListen(t *testing.T) {
	t.Parallel()
	start := func(mode, address string, wait time.Duration) error {
		s := tiny(t, mode)
		s.URL, s.Env = "http://127.0.0.1:{port}/mcp", []string{"BROKEN_HTTP=" + address}
		s.Command = append([]string{"sh", "-c", `sleep 1; exec "$@"`, "sh"}, s.Command...)
		_, err := probe.Judge(t.Context(), s, probe.Options{Only: []string{"S02"}, Timeout: 20 * time.Second, Start: wait, Dir: t.TempDir()})
		return err
	}
	if err := start("sound", "127.0.0.1:{port}", time.Minute); err != nil {
		t.Errorf("a slow starter: %v", err)
	}
	began := time.Now()
	if err := start("never-answers", "", 2*time.Second); err == nil || !strings.Contains(err.Error(), "nobody listened at 127.0.0.1:") || !strings.Contains(err.Error(), "within 2s") {
		t.Errorf("one that never listens: %v", err)
	}
	if took := time.Since(began); took > 30*time.Second { // not for each era, and not the default
		t.Errorf("that took %v", took)
	}
	if err := start("sound", "127.0.0.1:0", 5*time.Minute); err == nil || !strings.Contains(err.Error(), "the server listens at 127.0.0.1:") || !strings.Contains(err.Error(), "{port}") {
		t.Errorf("one that listens elsewhere: %v", err)
	}
}

// TestIllServersOverHTTP: what a server on a socket does wrong is told in time, and where it redirects nobody goes.
func TestIllServersOverHTTP(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	stream := func(w http.ResponseWriter, r *http.Request, what string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, what); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "HTTP 307"},
		"fails":         {func(w http.ResponseWriter, r *http.Request) { http.Error(w, "broken", http.StatusBadGateway) }, "HTTP 502 Bad Gateway: broken"},
		"fails in JSON": {func(w http.ResponseWriter, r *http.Request) { http.Error(w, `{"error":"broken"}`, 500) }, "HTTP 500"},
		"lacks an id": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"go away"}}`, 400)
		}, "go away"},
		"is silent": {func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() }, "no answer"},
		"begins only": {func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "no answer"},
		"streams comments": {func(w http.ResponseWriter, r *http.Request) { stream(w, r, ": nothing\n\n") }, "no answer"},
		"streams notices": {func(w http.ResponseWriter, r *http.Request) {
			stream(w, r, `data: {"jsonrpc":"2.0","method":"notifications/x"}`+"\n\n")
		}, "messages that answer nothing"},
		"streams garbage": {func(w http.ResponseWriter, r *http.Request) { stream(w, r, "data: hello\n\n") }, "no JSON-RPC message"},
		"one long event":  {func(w http.ResponseWriter, r *http.Request) { stream(w, r, "data: "+strings.Repeat("x", 1<<16)) }, "without bound"},
		"a long body":     {func(w http.ResponseWriter, r *http.Request) { w.Write(bytes.Repeat([]byte("x"), 17<<20)) }, "without bound"},
		"hangs up":        {func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, "cannot be reached over HTTP"},
		"answers nothing": {func(w http.ResponseWriter, r *http.Request) {}, "HTTP 200"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(c.answer)
			defer s.Close()
			timeout := 20 * time.Second
			if c.want == "no answer" {
				timeout = 500 * time.Millisecond
			}
			_, err := probe.Judge(t.Context(), probe.Server{URL: s.URL}, probe.Options{Timeout: timeout, Dir: t.TempDir(), Eras: []string{"legacy"}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	if _, err := probe.Judge(t.Context(), probe.Server{URL: tls.URL}, probe.Options{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests went where the server redirects", n)
	}
}
