package main

import (
	"errors"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	switch os.Getenv("ROOTBOUND_TEST_AS") {
	case "rootbound":
		os.Exit(realMain())
	case "echo":
		echoServer()
		os.Exit(0)
	}
	testscript.Main(m, map[string]func(){"rootbound": func() { os.Exit(realMain()) }})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOTBOUND_STATE_DIR", e.WorkDir+"/.state")
			e.Setenv("HOME", e.WorkDir+"/home")
			return os.MkdirAll(e.WorkDir+"/home/notes", 0o755)
		},
		Condition: func(name string) (bool, error) {
			if name != "landlock" {
				return false, errors.New("no such condition")
			}
			return hasLandlock(), nil
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}
