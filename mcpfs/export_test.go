package mcpfs

import "testing"

// ValidateForTest checks structuredContent against what the tool declares, as strict clients do.
func ValidateForTest(t *testing.T, tool string, structured any) {
	t.Helper()
	validate(t, tool, structured)
}
