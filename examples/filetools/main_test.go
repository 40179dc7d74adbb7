package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The file tools and the tool beside them keep to the project in both eras.
func TestFileTools(t *testing.T) {
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"app/in.txt": "12345", "secret.txt": "1234567"} {
				if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			server, err := newServer(filepath.Join(dir, "app"))
			if err != nil {
				t.Fatal(err)
			}
			near, far := mcp.NewInMemoryTransports()
			if _, err := server.Connect(t.Context(), near, nil); err != nil {
				t.Fatal(err)
			}
			client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
			session, err := client.Connect(t.Context(), far, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			for _, c := range []struct{ tool, project, path, want string }{
				{"count", "app", "in.txt", `{"bytes":5}`},
				{"read_text_file", "app", "in.txt", "12345"},
				{"count", "app", "../secret.txt", "path_invalid"},
				{"read_text_file", "app", "../secret.txt", "path_invalid"},
				{"count", "other", "in.txt", "project_unknown"},
				{"get_file_info", "other", "in.txt", "project_unknown"},
			} {
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: map[string]any{"project_id": c.project, "relative_path": c.path}})
				if err != nil {
					t.Fatal(err)
				}
				text := res.Content[0].(*mcp.TextContent).Text
				if !strings.Contains(text, c.want) || strings.Contains(text, dir) {
					t.Errorf("%s %s %s: %s", c.tool, c.project, c.path, text)
				}
				if c.tool == "count" && res.IsError && (res.StructuredContent != nil || strings.Contains(text, "list_")) {
					t.Errorf("a refusal of one's own tool holds %v: %s", res.StructuredContent, text)
				}
			}
		})
	}
}

// The page shows this server as it is.
func TestTheDocsShowIt(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(source), "func newServer")
	body, _, _ = strings.Cut("func newServer"+body, "\n}\n")
	body += "\n}\n"
	if n := strings.Count(body, "\n"); n > 30 {
		t.Errorf("%d lines", n)
	}
	if !strings.Contains(string(page), "```go\n"+body+"```\n") {
		t.Error("docs/library.md shows another one")
	}
}
