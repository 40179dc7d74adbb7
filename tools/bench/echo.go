package main

import (
	"context"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// echo is a server of the bare SDK: one tool, registered the ordinary way, whose reply equals that of read_text_file.
func echo(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	type in struct {
		Path string `json:"path"`
	}
	type out struct {
		Content string `json:"content"`
		Version string `json:"version"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "read_text_file", Description: "echo"}, func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, out, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, out{string(text), "AAAAAAAAAAAAAAAAAAAAAA"}, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
