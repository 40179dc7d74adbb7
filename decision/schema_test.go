package decision_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rootbound/rootbound/decision/decisiontest"
)

func TestGoldenRecordsFitTheSchema(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := decisiontest.Check(line); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}
