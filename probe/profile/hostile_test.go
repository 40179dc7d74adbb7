package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileProfiles: a profile may be somebody else's.
func TestHostileProfiles(t *testing.T) {
	bomb := "ops:\n  read:\n    tool: t\n    args:\n      a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		bomb += fmt.Sprintf("      a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	for text, want := range map[string]string{
		bomb:                                   "more than 1000 values",
		strings.Repeat("{a: ", 1<<12):          "too deeply nested",
		"about: " + strings.Repeat("x", 1<<20): "larger than",
		"[]":                                   "line 1",
		"ops: [1]":                             "line 1",
		"ops: {read: 3}":                       "line 1",
		"ops: {read: {tool: [], args: 3}}":     "",
		"ops: {read: {args: {}}}":              "names no tool",
		"ops: {destroy: {tool: t}}":            `no operation "destroy"`,
		"opps: {}":                             "unknown field",
	} {
		file := filepath.Join(t.TempDir(), "p.yaml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(file); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: %.300v", text, err)
		}
	}
}
