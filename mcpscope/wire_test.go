package mcpscope

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
)

// The wire tests are conversations. Each testdata/wire/*.txtar has a file "options" (key=value: mode, projects, never_ask,
// on_empty) and a file "wire":
//
//	-> LINE   the client sends it
//	<- LINE   the server's next line, key for key
//	* VERB    revoke ID, unrevoke ID, or invalidate, at the server
//
// In an expected line "$_" stands for any value, and "$NAME" for any at first and the same later; a sent line may use what
// was bound. $WORK is the directory that holds app, app/sub, lib and elsewhere.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			for _, f := range ar.Files {
				parts[f.Name] = string(f.Data)
			}
			converse(t, parts["options"], parts["wire"])
		})
	}
}

func converse(t *testing.T, options, wire string) {
	o, projects := wireOptions(t, options)
	w := open(t, o, projects...)
	p := w.dial()
	bound := map[string]string{"WORK": w.dir}
	for n, line := range strings.Split(wire, "\n") {
		at := fmt.Sprintf("line %d", n+1)
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch verb {
		case "", "#":
		case "->":
			for name, value := range bound {
				rest = strings.ReplaceAll(rest, "$"+name, value)
			}
			p.Send("%s", rest)
		case "<-":
			got := p.Recv().Line
			var want, have any
			if err := json.Unmarshal([]byte(rest), &want); err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			if err := json.Unmarshal([]byte(strings.ReplaceAll(got, w.dir, "$WORK")), &have); err != nil {
				t.Fatalf("%s: the server sent %q", at, got)
			}
			if where := differ(want, have, bound); where != "" {
				t.Fatalf("%s: %s\nwant %s\ngot  %s", at, where, rest, got)
			}
		case "*":
			do, id, _ := strings.Cut(rest, " ")
			switch do {
			case "revoke":
				w.scope.Revoke(Who{}, rootbound.RootID(id))
			case "unrevoke":
				w.scope.Unrevoke(Who{}, rootbound.RootID(id))
			case "invalidate":
				w.scope.Invalidate(rootbound.GenerationStale)
			default:
				t.Fatalf("%s: no verb %q", at, do)
			}
		default:
			t.Fatalf("%s: %q", at, line)
		}
	}
	p.In.Close()
	for {
		line, ok := <-p.Lines
		if !ok {
			break
		}
		t.Errorf("nobody expected %s", line)
	}
}

func wireOptions(t *testing.T, text string) (o Options, projects []string) {
	t.Helper()
	projects = []string{"app"}
	for _, line := range strings.Fields(text) {
		key, value, _ := strings.Cut(line, "=")
		switch key {
		case "mode":
			o.Mode = authority.Mode(value)
		case "projects":
			projects = nil
			if value != "" {
				projects = strings.Split(value, ",")
			}
		case "never_ask":
			o.NeverAskModern = true
		case "on_empty":
			o.EmptyIsCeiling = value == "ceiling"
		default:
			t.Fatalf("no option %q", key)
		}
	}
	if o.Mode == authority.Client {
		o.ClientProject = rootbound.Project{Rights: rootbound.ReadWrite}
	}
	return o, projects
}

// differ says where have is not what want describes, or "".
func differ(want, have any, bound map[string]string) string {
	switch w := want.(type) {
	case string:
		name, variable := strings.CutPrefix(w, "$")
		if !variable || name == "" || strings.ContainsAny(name, " /.") {
			break
		}
		if name == "_" {
			return ""
		}
		text, ok := have.(string)
		if !ok {
			return fmt.Sprintf("$%s is %v", name, have)
		}
		if old, ok := bound[name]; ok && old != text {
			return fmt.Sprintf("$%s was %q and is %q", name, old, text)
		}
		bound[name] = text
		return ""
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return fmt.Sprintf("%v is no object", have)
		}
		for k := range h {
			if _, ok := w[k]; !ok {
				return fmt.Sprintf("key %q is too much", k)
			}
		}
		for k, v := range w {
			if _, ok := h[k]; !ok {
				return fmt.Sprintf("key %q is missing", k)
			}
			if where := differ(v, h[k], bound); where != "" {
				return k + ": " + where
			}
		}
		return ""
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			return fmt.Sprintf("%v is no list of %d", have, len(w))
		}
		for i := range w {
			if where := differ(w[i], h[i], bound); where != "" {
				return fmt.Sprintf("%d: %s", i, where)
			}
		}
		return ""
	}
	if !reflect.DeepEqual(want, have) {
		return fmt.Sprintf("%v is not %v", have, want)
	}
	return ""
}
