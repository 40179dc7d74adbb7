package rig

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Methods are the methods of requests and notifications that the SDK serves, read from the table in its source: it is not
// exported, and a test that has a word on every method must learn of a new one.
func Methods(tb testing.TB) []string {
	tb.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/go-sdk/mcp").Output()
	if err != nil {
		tb.Fatalf("go list: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.go"))
	if err != nil {
		tb.Fatal(err)
	}
	names := map[string]string{} // constant -> method
	var keys []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			tb.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Names) != 1 || len(v.Values) != 1 {
				return true
			}
			switch value := v.Values[0].(type) {
			case *ast.BasicLit:
				if s, err := strconv.Unquote(value.Value); err == nil {
					names[v.Names[0].Name] = s
				}
			case *ast.CompositeLit:
				if v.Names[0].Name != "serverMethodInfos" {
					return true
				}
				for _, e := range value.Elts {
					keys = append(keys, e.(*ast.KeyValueExpr).Key.(*ast.Ident).Name)
				}
			}
			return true
		})
	}
	var methods []string
	for _, k := range keys {
		if names[k] == "" {
			tb.Fatalf("no value of %s", k)
		}
		methods = append(methods, names[k])
	}
	if len(methods) < 15 {
		tb.Fatalf("found only %v", methods)
	}
	return methods
}
