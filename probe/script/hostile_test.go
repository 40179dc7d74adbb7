package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileCases: files of cases may be somebody else's. Each is refused with its reason; none takes the machine.
func TestHostileCases(t *testing.T) {
	const good = "- {id: Z1, what: w, why: y, op: read, path: x, want: deny"
	for text, want := range map[string]string{
		strings.Repeat("[", 1<<16):                   "too deeply nested",
		strings.Repeat("- ", 1<<14):                  "too deeply nested",
		strings.Repeat("{a: ", 1<<12):                "too deeply nested",
		"- {id: " + strings.Repeat("x", 1<<20) + "}": "larger than",
		"3":                                    "line 1",
		"- 3":                                  "line 1",
		"- {id: []}":                           "",
		"- {id: Z1}":                           "id, what and why",
		"- {id: 'Z1\x1b[2J', what: w, why: y}": "",
		"- {id: \"Z\\e[2J\", what: w, why: y}": "an id is of",
		"- {id: Z*, what: w, why: y}":          "an id is of",
		good + ", pth: x}":                     "unknown field",
		good + ", copies: 100000000}":          "copies",
		good + ", fill: 9999999999}":           "fill",
		good + ", line: -1}":                   "line is negative",
		good + ", pause: 9999h}":               "pause",
		good + ", pause: -1s}":                 "pause",
		good + ", tree: [{many: x, times: 2000000000}]}":                    "many",
		good + ", tree: [{file: x, text: a, times: -1}]}":                   "negative",
		good + ", storm: [{chain: x, times: 2000000000}]}":                  "chain",
		good + ", roots: {do: [{file: x, times: 2000000000}]}}":             "1 GiB",
		good + ", roots: maybe}":                                            "neither undeclared",
		good + ", want: maybe}":                                             "",
		"- {id: Z1, what: w, why: y, op: destroy, want: deny}":              `no operation "destroy"`,
		"- {id: Z1, what: w, why: y}":                                       "no operation",
		good + "}\n" + good + "}":                                           "two cases are called Z1",
		"- {id: S01, what: w, why: y, op: read, want: deny}":                "two cases are called S01",
		"- &a {id: Z1, what: w, why: y, op: read, want: deny, steps: [*a]}": "",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "z.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		read := func() ([]Case, error) { return load(os.DirFS(dir), ".") }
		if strings.HasPrefix(want, "two cases") {
			read = func() ([]Case, error) { return Cases(dir) }
		}
		if _, err := read(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 500 {
			t.Errorf("%.60q: %.300v", text, err)
		}
	}
	if _, err := Cases(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no cases in") {
		t.Error(err)
	}
}
