package serve_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/internal/serve"
)

// TestSessionsOfThePages runs the sessions that the pages show: what is sent is sent, and what comes back stands there.
func TestSessionsOfThePages(t *testing.T) {
	for _, page := range []string{"resources", "subscriptions"} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile("../../docs/" + page + ".md")
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(text), "\n## A session\n")
			session, _, _ := strings.Cut(rest, "\n## ")
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dir+"/a.txt", []byte("hello\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			service, err := serve.New(serve.Options{Projects: []rootbound.Project{{ID: "app", Dir: dir, Rights: rootbound.ReadOnly}}, Version: "test", Transport: "stdio"})
			if err != nil {
				t.Fatal(err)
			}
			defer service.Close(t.Context())
			p, got, last := joined.Dial(t, service.Connect, joined.SDK), 0, ""
			defer p.In.Close() // before the service
			for line := range strings.Lines(session) {
				line = strings.TrimSuffix(line, "\n")
				switch {
				case strings.HasPrefix(line, "    > "):
					p.Send("%s", line[6:])
				case line == "    $ echo more >> a.txt":
					f, err := os.OpenFile(dir+"/a.txt", os.O_APPEND|os.O_WRONLY, 0)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := f.WriteString("more\n"); err != nil {
						t.Fatal(err)
					}
					if err := f.Close(); err != nil {
						t.Fatal(err)
					}
				case strings.HasPrefix(line, "    < "):
					reply := p.Recv().Line
					for reply == last { // one change may be told twice
						reply = p.Recv().Line
					}
					last = reply
					want := strings.ReplaceAll(regexp.QuoteMeta(line[6:]), "…", ".*")
					if !regexp.MustCompile("^" + want + "$").MatchString(reply) {
						t.Errorf("came %s, the page says %s", reply, line[6:])
					}
					got++
				case strings.HasPrefix(line, "    "):
					t.Errorf("not a line of a session: %s", line)
				}
			}
			if got < 3 {
				t.Errorf("%d answers", got)
			}
		})
	}
}
