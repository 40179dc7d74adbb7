package serve_test

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
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
			in, send := io.Pipe()
			receive, out := io.Pipe()
			defer send.Close()
			defer receive.Close() // before the service: it may have more to tell
			if _, err := service.Connect(t.Context(), &mcp.IOTransport{Reader: in, Writer: out}); err != nil {
				t.Fatal(err)
			}
			lines, got, last := bufio.NewReader(receive), 0, ""
			for line := range strings.Lines(session) {
				line = strings.TrimSuffix(line, "\n")
				switch {
				case strings.HasPrefix(line, "    > "):
					if _, err := io.WriteString(send, line[6:]+"\n"); err != nil {
						t.Fatal(err)
					}
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
					reply, err := lines.ReadString('\n')
					for err == nil && reply == last { // one change may be told twice
						reply, err = lines.ReadString('\n')
					}
					if err != nil {
						t.Fatal(err)
					}
					last = reply
					want := strings.ReplaceAll(regexp.QuoteMeta(line[6:]), "…", ".*")
					if !regexp.MustCompile("^" + want + "\n$").MatchString(reply) {
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
