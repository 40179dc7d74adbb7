package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	yaml "github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rootbound/rootbound/internal/config"
)

var update = flag.Bool("update", false, "write the schema anew")

const published = "../../../schema/rootbound.config.v1.json"

// TestSchemaDoc keeps the published schema equal to the settings.
func TestSchemaDoc(t *testing.T) {
	if *update {
		if err := os.MkdirAll(filepath.Dir(published), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(published, JSON(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(published); err != nil || !bytes.Equal(got, JSON()) {
		t.Errorf("%s is stale: run make docs (%v)", published, err)
	}
}

// onlyLoadTells are mistakes that a schema has no words for: what the file system, two places of the file or YAML itself
// decide.
var onlyLoadTells = []string{
	"two-documents.yaml", "client-with-projects.yaml", "directory-twice-by-link.yaml", "directory-twice.yaml", "duplicate-id.yaml", "file-as-directory.yaml",
	"environment-widens.yaml", "environment-only.yaml", "environment-dir.yaml",
}

func TestSchemaAgreesWithLoad(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(JSON(), &s); err != nil {
		t.Fatal(err)
	}
	schema, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string) error {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := yaml.Unmarshal(source, &v); err != nil {
			return err
		}
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	valid, _ := filepath.Glob("../testdata/valid/*.yaml")
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	for _, d := range []string{"dir-a", "dir-b", "dir b"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range append(valid, "../testdata/full.yaml") {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, source, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, warnings, err := config.Load(config.Input{File: file, Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }}); err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %v", name, warnings, err)
		}
		if err := check(name); err != nil {
			t.Errorf("%s is valid and the schema refuses it: %v", name, err)
		}
	}
	invalid, _ := filepath.Glob("../testdata/problems/*.yaml")
	if len(valid) == 0 || len(invalid) == 0 {
		t.Fatal("no cases")
	}
	var passed []string
	for _, name := range invalid {
		if check(name) == nil {
			passed = append(passed, filepath.Base(name))
		}
	}
	slices.Sort(onlyLoadTells)
	if d := cmp.Diff(onlyLoadTells, passed); d != "" {
		t.Errorf("mistakes that the schema does not see (-known +now):\n%s", d)
	}
}
