package profile_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/probe/profile"
	"github.com/rootbound/rootbound/probe/wire"
)

func TestMain(m *testing.M) {
	code := m.Run()
	rig.Clean()
	os.Exit(code)
}

// toolsOf lists the project form's tools, as a server has them that grants a directory of this name.
func toolsOf(t *testing.T, name string) (tools []profile.Tool) {
	t.Helper()
	dir := t.TempDir() + "/" + name
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	conn, err := wire.Open(t.Context(), wire.Options{Argv: []string{rig.Binary(t), "serve", "--tools=project", "--allow-delete", dir},
		Env: []string{"ROOTBOUND_STATE_DIR=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(0)
	if _, err := conn.Hello(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw, err := conn.Request(t.Context(), "tools/list", nil)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Tools []profile.Tool `json:"tools"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	return list.Tools
}

// TestTheProjectFormIsKnownByItsTools: a server of another name that has the same tools is probed without a profile, and one
// whose tools only look like them is not.
func TestTheProjectFormIsKnownByItsTools(t *testing.T) {
	chosen := func(server string, tools []profile.Tool) string {
		p, err := profile.Choose(server, tools)
		if err != nil {
			t.Fatal(err)
		}
		return p.Name
	}
	const known, guessed = "rootbound-projects", "guessed from tools/list"
	if got := chosen("my server", toolsOf(t, "app")); got != known {
		t.Errorf("the same tools: %s", got)
	}
	if got := chosen("my server", toolsOf(t, "another")); got != guessed {
		t.Errorf("none of its projects is called app: %s", got)
	}
	tools := toolsOf(t, "app")
	for i := range tools {
		if tools[i].Name == "write_file" {
			tools[i].InputSchema.Required = append(tools[i].InputSchema.Required, "ticket")
		}
	}
	if got := chosen("my server", tools); got != guessed {
		t.Errorf("a tool that wants more: %s", got)
	}
}
