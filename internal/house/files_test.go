package house

import (
	"bytes"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Hard limits: lines of code in a room, lines in a file. The house aims at 1,500 and 400.
const (
	roomLimit = 1900
	fileLimit = 600
)

var vague = regexp.MustCompile(`^(util|utils|common|helper|helpers|manager|types|misc)(_|\.go|$)`)

func files(t *testing.T, rooms []pkg) {
	for _, p := range rooms {
		if name := filepath.Base(p.room()); vague.MatchString(name) {
			t.Errorf("the room %s says nothing of what is in it", p.room())
		}
		comments, sources := 0, p.sources()
		for _, f := range slices.Concat(sources, p.tests()) {
			name := filepath.Base(f)
			if vague.MatchString(name) {
				t.Errorf("%s: the name says nothing", p.short(f))
			}
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			tree, src := parse(t, f)
			if tree.Doc != nil {
				comments++
			}
			if platformOnly(name, src) {
				continue
			}
			for _, i := range tree.Imports {
				if strings.HasPrefix(i.Path.Value, `"golang.org/x/sys/`) {
					t.Errorf("%s imports x/sys without a platform in its name or build line", p.short(f))
				}
			}
		}
		if len(sources) > 0 && comments != 1 {
			t.Errorf("%s has %d package comments, want 1", p.ImportPath, comments)
		}
	}
}

func parse(t *testing.T, file string) (*ast.File, []byte) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return tree, src
}

// platformOnly reports whether the file's name or build line names a platform.
func platformOnly(name string, src []byte) bool {
	for _, os := range []string{"linux", "darwin", "windows", "unix", "other", "freebsd"} {
		if strings.HasSuffix(strings.TrimSuffix(name, ".go"), "_"+os) {
			return true
		}
	}
	for line := range bytes.Lines(src) {
		if !constraint.IsGoBuild(string(bytes.TrimSpace(line))) {
			if bytes.HasPrefix(line, []byte("package ")) {
				return false
			}
			continue
		}
		return true
	}
	return false
}

// code counts the lines that hold more than a comment or nothing.
func code(src []byte) int {
	n := 0
	for line := range bytes.Lines(src) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			n++
		}
	}
	return n
}

// sizes reports the large ones and fails over the hard limits. A room is measured in lines of code, so that nobody saves
// on comments; platform files are not counted to it.
func sizes(t *testing.T, rooms []pkg) {
	for _, p := range rooms {
		room := 0
		for _, f := range p.sources() {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(src[:min(len(src), 200)], []byte("Code generated")) {
				continue
			}
			lines := bytes.Count(src, []byte("\n"))
			if !platformOnly(filepath.Base(f), src) {
				room += code(src)
			}
			switch {
			case lines > fileLimit:
				t.Errorf("%s has %d lines, the limit is %d", p.short(f), lines, fileLimit)
			case lines > 400:
				t.Logf("%s has %d lines", p.short(f), lines)
			}
		}
		switch {
		case room > roomLimit:
			t.Errorf("%s has %d lines, the limit is %d", p.ImportPath, room, roomLimit)
		case room > 1500:
			t.Logf("%s has %d lines", p.ImportPath, room)
		}
	}
}

// state: no init functions, and no package-level variable is assigned in a function. What proves the rest is left out.
func state(t *testing.T, rooms []pkg) {
	for _, p := range rooms {
		trees, vars := map[string]*ast.File{}, map[string]bool{}
		for _, f := range p.sources() {
			tree, _ := parse(t, f)
			trees[f] = tree
			for _, d := range tree.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
					for _, s := range g.Specs {
						for _, n := range s.(*ast.ValueSpec).Names {
							vars[n.Name] = true
						}
					}
				}
			}
		}
		for f, tree := range trees {
			for _, d := range tree.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				if fn.Name.Name == "init" && fn.Recv == nil {
					t.Errorf("%s has an init function", p.short(f))
				}
				for _, name := range assigned(fn, vars) {
					t.Errorf("%s: %s assigns the package's variable %s", p.short(f), fn.Name.Name, name)
				}
			}
		}
	}
}

// assigned lists the package variables that a function assigns and does not declare itself.
func assigned(fn *ast.FuncDecl, vars map[string]bool) []string {
	local := map[string]bool{}
	names := func(l *ast.FieldList) {
		if l == nil {
			return
		}
		for _, f := range l.List {
			for _, n := range f.Names {
				local[n.Name] = true
			}
		}
	}
	names(fn.Recv)
	names(fn.Type.Params)
	names(fn.Type.Results)
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			if x.Tok == token.DEFINE {
				for _, l := range x.Lhs {
					if id, ok := l.(*ast.Ident); ok {
						local[id.Name] = true
					}
				}
			}
		case *ast.ValueSpec:
			for _, n := range x.Names {
				local[n.Name] = true
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{x.Key, x.Value} {
				if id, ok := e.(*ast.Ident); ok {
					local[id.Name] = true
				}
			}
		case *ast.FuncLit:
			names(x.Type.Params)
			names(x.Type.Results)
		}
		return true
	})
	var out []string
	note := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok && vars[id.Name] && !local[id.Name] && id.Name != "_" {
			out = append(out, id.Name)
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			for _, l := range x.Lhs {
				note(l)
			}
		case *ast.IncDecStmt:
			note(x.X)
		}
		return true
	})
	return out
}
