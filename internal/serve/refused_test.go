package serve_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/decision/decisiontest"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// What is refused before anything is asked leaves a record like one of the guard's: operation, verdict, and the paths as they
// were sent, which are hashed where records are.
func TestRefusedBeforeAnythingIsAskedIsRecordedAsSent(t *testing.T) {
	call := func(tool string, args map[string]any) func(*mcp.ClientSession) {
		return func(s *mcp.ClientSession) {
			if res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args}); err == nil && !res.IsError {
				t.Errorf("%s %v was allowed", tool, args)
			}
		}
	}
	read := func(uri string) func(*mcp.ClientSession) {
		return func(s *mcp.ClientSession) {
			if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("%s was read", uri)
			}
		}
	}
	type asked struct {
		ask        func(*mcp.ClientSession)
		op         rootbound.Operation
		path, dest string
		reason     rootbound.Reason
	}
	classic := []asked{
		{call("read_text_file", map[string]any{"path": "hidden\x00"}), rootbound.OpRead, "hidden\x00", "", rootbound.PathInvalid},
		{call("directory_tree", map[string]any{"path": "../../hidden"}), rootbound.OpTree, "../../hidden", "", rootbound.OutsideRoot},
		{call("write_file", map[string]any{"path": "%2e%2e/hidden", "content": "x"}), rootbound.OpWrite, "%2e%2e/hidden", "", rootbound.PathEncodedTraversal},
		{call("search_files", map[string]any{"path": "/hidden/dir", "pattern": "*"}), rootbound.OpSearch, "/hidden/dir", "", rootbound.OutsideRoot},
		{call("move_file", map[string]any{"source": "hidden", "destination": "~/hidden"}), rootbound.OpMove, "hidden", "~/hidden", rootbound.PathInvalid},
		{read("rootbound://p/hidden/%2e%2e"), rootbound.OpRead, "rootbound://p/hidden/%2e%2e", "", rootbound.PathInvalid},
		{read("rootbound://p/hidden//x"), rootbound.OpRead, "rootbound://p/hidden//x", "", rootbound.PathInvalid},
	}
	project := []asked{
		{call("copy_file", map[string]any{"project_id": "p", "relative_path": "hidden", "relative_destination": "../hidden"}), rootbound.OpCopy, "hidden", "../hidden", rootbound.PathInvalid},
		{call("search_content", map[string]any{"project_id": "p", "relative_path": "/hidden", "pattern": "x"}), rootbound.OpSearchContent, "/hidden", "", rootbound.PathInvalid},
	}
	unscoped := []asked{
		{call("read_text_file", map[string]any{"path": "hidden"}), rootbound.OpRead, "hidden", "", rootbound.NoScope},
		{call("copy_file", map[string]any{"source": "hidden", "destination": "x/hidden"}), rootbound.OpCopy, "hidden", "x/hidden", rootbound.NoScope},
	}
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		for _, hash := range []bool{false, true} {
			for name, w := range map[string]struct {
				o     serve.Options
				cases []asked
			}{
				"classic": {serve.Options{Mode: authority.Ignore}, classic}, "project": {serve.Options{Tools: mcpfs.Project}, project},
				"unscoped": {serve.Options{Mode: authority.Require}, unscoped},
			} {
				t.Run(strings.Join([]string{era, name, map[bool]string{true: "hashed", false: "plain"}[hash]}, "/"), func(t *testing.T) {
					dir, err := filepath.EvalSymlinks(t.TempDir())
					if err != nil {
						t.Fatal(err)
					}
					records, key := decision.NewMemory(1000), []byte("0123456789abcdef0123456789abcdef")
					w.o.Sink = records
					if hash {
						w.o.Sink = decision.Hashed(records, key)
					}
					w.o.Projects = []rootbound.Project{{ID: "p", Dir: dir, Rights: rootbound.Full}}
					w.o.Version, w.o.Transport, w.o.NoSlow = "test", "memory", true
					service, err := serve.New(w.o)
					if err != nil {
						t.Fatal(err)
					}
					defer service.Close(t.Context())
					client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
					session := joined.Session(t, client, era, service.Connect)
					defer session.Close()
					sent := func(path string) string { // as the records have it
						if !hash {
							return path
						}
						one := decision.NewMemory(1)
						decision.Hashed(one, key).Event(&decision.Record{PathSent: path})
						return one.Records()[0].PathSent
					}
					for _, c := range w.cases {
						before := len(records.Records())
						c.ask(session)
						var told []decision.Record
						for _, r := range records.Records()[before:] {
							if r.Phase == decision.Decided || r.Phase == decision.Refused {
								told = append(told, r)
							}
						}
						if len(told) != 1 {
							t.Fatalf("%s %q: %d records", c.op, c.path, len(told))
						}
						r := told[0]
						if r.Phase != decision.Refused || r.Operation != c.op || r.PathSent != sent(c.path) || r.DestSent != sent(c.dest) ||
							r.Canonical != "refused" || r.Decision != decision.Deny || r.Reason != c.reason {
							t.Errorf("%s %q: %+v", c.op, c.path, r)
						}
						line := r.AppendJSON(nil)
						if err := decisiontest.Check(line); err != nil {
							t.Errorf("%v: %s", err, line)
						}
						if hash && strings.Contains(string(line), "hidden") {
							t.Errorf("a path shows: %s", line)
						}
					}
				})
			}
		}
	}
}
