package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tool of the example keeps to project and roots in every revision the Go client speaks.
func TestOwnServer(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"own/a/in.txt": "12345", "own/b/out.txt": "1", "secret.txt": "1234567"} {
				if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("../../secret.txt", filepath.Join(dir, "own/a/link")); err != nil {
				t.Fatal(err)
			}
			server, err := newServer(filepath.Join(dir, "own"))
			if err != nil {
				t.Fatal(err)
			}
			near, far := mcp.NewInMemoryTransports()
			session, err := server.Connect(t.Context(), near, nil)
			if err != nil {
				t.Fatal(err)
			}
			client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
			client.AddRoots(&mcp.Root{URI: "file://" + filepath.Join(dir, "own/a")})
			cs, err := client.Connect(t.Context(), far, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			count := func(path string) (*mcp.CallToolResult, string) {
				t.Helper()
				res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "count", Arguments: map[string]any{"path": path}})
				if err != nil {
					t.Fatal(err)
				}
				return res, res.Content[0].(*mcp.TextContent).Text
			}
			if res, text := count("a/in.txt"); res.IsError || text != `{"bytes":5}` {
				t.Errorf("a file below the root: %s", text)
			}
			for path, reason := range map[string]string{
				"b/out.txt":                      "outside_root",
				"a/link":                         "outside_root",
				filepath.Join(dir, "secret.txt"): "outside_root",
				"a/missing":                      "not_found",
			} {
				res, text := count(path)
				if !res.IsError || !strings.Contains(text, reason) || strings.Contains(strings.ReplaceAll(text, path, ""), dir) {
					t.Errorf("%s: %s", path, text)
				}
				if res.StructuredContent != nil { // the tool's schema has no room for it
					t.Errorf("%s: structured content %v", path, res.StructuredContent)
				}
			}
			cs.Close()
			if err := session.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// At most fifteen lines do the scoping.
func TestScopingIsShort(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), "// scope\n"); n == 0 || n > 15 {
		t.Errorf("%d lines of scoping", n)
	}
}
