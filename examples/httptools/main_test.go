package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Both eras are served, and each client no wider than its roots. rootbound probe asks the rest, in the room probe.
func TestHTTPTools(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"app/in.txt", "docs/other.txt"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("12345"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for form, dirs := range map[string][]string{"directories": {dir + "/app", dir + "/docs"}, "client": nil} {
		handler, _, err := newHandler(dirs)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(form+"/"+version, func(t *testing.T) {
				client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
				client.AddRoots(&mcp.Root{URI: "file://" + dir + "/app"})
				session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				for path, want := range map[string]string{"/app/in.txt": "12345", "/docs/other.txt": "(outside_root)"} {
					res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_text_file", Arguments: map[string]any{"path": dir + path}})
					if err != nil {
						t.Fatal(err)
					}
					if text := res.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, want) {
						t.Errorf("%s: %s", path, text)
					}
				}
			})
		}
	}
}
