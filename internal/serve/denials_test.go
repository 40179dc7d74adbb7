package serve_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/guard/pace"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/internal/serve"
)

// Whatever is wrong with a call, its refusal has one record and is one of the denials that raise the alert: nothing that a
// caller can guess with escapes the count.
func TestEveryRefusalCounts(t *testing.T) {
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		for _, rooted := range []bool{false, true} {
			for name, ask := range map[string]func(*testing.T, *mcp.ClientSession, int) error{
				"malformed resource": func(t *testing.T, s *mcp.ClientSession, i int) error {
					uri := []string{"rootbound://p/%2e%2e", "rootbound://p/a%00", "rootbound://p/d/", "rootbound:p", "ROOTBOUND://p/a", "rootbound://p/%2"}[i%6]
					_, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
					return err
				},
				"missing resource": func(t *testing.T, s *mcp.ClientSession, i int) error {
					_, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: fmt.Sprintf("rootbound://p/none%d", i)})
					return err
				},
				"tool": func(t *testing.T, s *mcp.ClientSession, i int) error {
					path := []string{"a\x00", "%2e%2e/a", "none", "../../../etc/passwd"}[i%4]
					res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_text_file", Arguments: map[string]any{"path": path}})
					if err == nil && res.IsError {
						return fmt.Errorf("refused")
					}
					return err
				},
			} {
				t.Run(fmt.Sprintf("%s/%v/%s", era, rooted, name), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { // its clock stands still while calls are made: denials count within ten seconds
						everyRefusalCounts(t, era, rooted, ask)
					})
				})
			}
		}
	}
}

func everyRefusalCounts(t *testing.T, era string, rooted bool, ask func(*testing.T, *mcp.ClientSession, int) error) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var alerts atomic.Int64
	records := decision.NewMemory(10_000)
	service, err := serve.New(serve.Options{Projects: []rootbound.Project{{ID: "p", Dir: dir, Rights: rootbound.ReadOnly}}, Version: "test", Transport: "memory",
		NoSlow: true, Sink: records, Warn: func(string) { alerts.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close(t.Context())
	caps := &mcp.ClientCapabilities{}
	if rooted {
		caps.RootsV2 = &mcp.RootCapabilities{ListChanged: true}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: caps})
	if rooted {
		client.AddRoots(&mcp.Root{URI: "file://" + dir})
	}
	session := joined.Session(t, client, era, service.Connect)
	defer session.Close()
	const asked = pace.Denials + 5
	for i := range asked {
		if err := ask(t, session, i); err == nil {
			t.Fatalf("call %d was allowed", i)
		}
	}
	denied := 0
	for _, r := range records.Records() {
		if r.Phase == decision.Refused || r.Phase == decision.Decided && r.Decision == decision.Deny {
			denied++
		}
	}
	if denied != asked || alerts.Load() != 1 {
		t.Errorf("%d calls, %d records, %d alerts", asked, denied, alerts.Load())
	}
}
