//go:build linux

package cases

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// mustNotStart: the server ends with this code and says why on stderr.
func (r *retold) mustNotStart(code int) {
	t := r.t
	s := r.begins()
	if slices.Contains(s.argv, "--check") {
		s.argv = slices.DeleteFunc(s.argv, func(a string) bool { return a == "--no-slow" })
	}
	p, _ := r.begin(s)
	if p == nil {
		t.Fatal("no process")
	}
	ctx, cancel := context.WithTimeout(context.Background(), handshake)
	defer cancel()
	got, err := p.Exited(ctx)
	if err != nil || got != code {
		t.Errorf("exit code %d (%v), want %d", got, err, code)
	}
	for _, want := range list(r.Want["stderr_has"]) {
		if !strings.Contains(p.Stderr(), want) {
			t.Errorf("stderr lacks %q: %q", want, p.Stderr())
		}
	}
	for _, bad := range list(r.Want["stderr_lacks"]) {
		if strings.Contains(p.Stderr(), bad) {
			t.Errorf("stderr holds %q: %q", bad, p.Stderr())
		}
	}
}

// check is one condition of want.
func (r *retold) check(name string, want any) {
	t := r.t
	last := r.results[len(r.results)-1]
	var all []string
	for _, res := range r.results {
		all = append(all, strings.Join(strs(res.Raw), "\n"))
	}
	switch name {
	case "result":
		r.verdicts(want)
	case "each": // said by result: every step has it
	case "reason":
		for _, res := range r.results {
			if res.Reason != want {
				t.Errorf("reason %q, want %q: %s", res.Reason, want, res.Short())
			}
		}
	case "has":
		for _, s := range list(want) {
			for i, res := range r.results {
				if !strings.Contains(res.Text, s) {
					t.Errorf("reply %d lacks %q: %s", i, s, res.Short())
				}
			}
		}
	case "lacks":
		for _, s := range list(want) {
			for i := range all {
				if strings.Contains(all[i], s) && !r.sent(i, s) {
					t.Errorf("reply %d holds %q: %s", i, s, r.results[i].Short())
				}
			}
		}
	case "starts", "ends", "equals":
		ok := map[string]func(string, string) bool{"starts": strings.HasPrefix, "ends": strings.HasSuffix, "equals": func(a, b string) bool { return a == b }}[name]
		if !ok(last.Text, fmt.Sprint(want)) {
			t.Errorf("the text %s %q is not so: %s", name, want, last.Short())
		}
	case "counts":
		for i, n := range want.([]any) {
			if got := len(strings.Split(strings.TrimSpace(r.results[i].Text), "\n")); int64(got) != asInt(n) {
				t.Errorf("reply %d has %d lines, want %v: %s", i, got, n, r.results[i].Short())
			}
		}
	case "max_bytes":
		if int64(len(last.Raw)) > asInt(want) {
			t.Errorf("the reply has %d bytes, at most %v", len(last.Raw), want)
		}
	case "within_ms": // the call had no longer
	case "file":
		for p, w := range want.(map[string]any) {
			text := fmt.Sprint(w)
			if other, ok := strings.CutPrefix(text, "same bytes as "); ok {
				b, err := os.ReadFile(r.fill("{root}/" + other))
				if err != nil || len(b) == 0 {
					t.Fatalf("%s: %d bytes, %v", other, len(b), err)
				}
				text = string(b)
			}
			if got, err := os.ReadFile(p); err != nil || string(got) != text {
				t.Errorf("%s holds %.80q (%v), want %.80q", p, got, err, text)
			}
		}
	case "cut":
		var truncated bool
		var next json.RawMessage
		last.Get("truncated", &truncated)
		if !truncated || !last.Get("next", &next) {
			t.Errorf("the reply does not say that it is cut and how to go on: truncated %v, next %s", truncated, next)
		}
		final := last.Blocks[len(last.Blocks)-1].Text
		if lines := strings.Split(strings.TrimSpace(final), "\n"); !strings.Contains(strings.ToLower(lines[len(lines)-1]), "cut") && !strings.Contains(strings.ToLower(lines[len(lines)-1]), "truncated") {
			t.Errorf("the last line does not say that the text is cut: %q", lines[len(lines)-1])
		}
	case "unchanged":
		if d := r.before.diff(take(r.dir, nil, r.directories())); len(d) > 0 {
			t.Errorf("changed:\n\t%s", strings.Join(d, "\n\t"))
		}
	case "exists":
		for _, p := range list(want) {
			if _, err := os.Lstat(p); err != nil {
				t.Error(err)
			}
		}
	case "absent":
		for _, p := range list(want) {
			if _, err := os.Lstat(p); err == nil {
				t.Errorf("%s is there", p)
			}
		}
	case "is_link":
		for _, p := range list(want) {
			if st, err := os.Lstat(p); err != nil || st.Mode()&os.ModeSymlink == 0 {
				t.Errorf("%s is no link (%v)", p, err)
			}
		}
	case "mode":
		for p, m := range want.(map[string]any) {
			st, err := os.Stat(p)
			if err != nil || fmt.Sprintf("%04o", st.Mode().Perm()) != m {
				t.Errorf("%s has mode %v (%v), want %v", p, st.Mode(), err, m)
			}
		}
	case "root_reason":
		r.rootDropped(fmt.Sprint(want))
	case "rule_named":
		for _, res := range r.results {
			if res.Reason != "rule_denied" || !strings.Contains(res.Text, "rule") || !strings.Contains(res.Text, "lift") {
				t.Errorf("the text does not name the rule and how to lift it: %s", res.Short())
			}
		}
	case "blob":
		if len(last.Blocks) != 1 || last.Blocks[0].Resource.Blob != base64.StdEncoding.EncodeToString([]byte("PK\x03\x04")) {
			t.Errorf("no base64 of the bytes: %s", last.Short())
		}
	case "structured":
		r.structured()
	default:
		t.Fatalf("condition %q is unknown", name)
	}
}

// sent reports whether the client itself sent the text in call i.
func (r *retold) sent(i int, s string) bool {
	calls := r.Calls
	if r.Call != nil {
		calls = []toolCall{*r.Call}
	}
	return s != reportCanary && strings.Contains(fmt.Sprint(r.deep(calls[i].Args)), s) && !strings.Contains(s, "node_modules") && s != "skip/"
}

func (r *retold) verdicts(want any) {
	each := list(want)
	for i, res := range r.results {
		verdict := fmt.Sprint(want)
		if len(each) > 0 {
			verdict = each[i]
		}
		if verdict != "either" && res.OK() != (verdict == "allow") {
			r.t.Errorf("step %d: want %s, got %s", i, verdict, res.Short())
		}
	}
}

func (r *retold) rootDropped(reason string) {
	for _, rec := range r.p.recorded() {
		for _, root := range rec.Roots {
			if root.Reason == reason {
				return
			}
		}
	}
	r.t.Errorf("no record drops a root as %s: %+v", reason, r.p.records())
}

// structured: each result fits the output schema its tool declares.
func (r *retold) structured() {
	t := r.t
	ctx, cancel := context.WithTimeout(context.Background(), handshake)
	defer cancel()
	raw, err := r.p.Request(ctx, "tools/list", nil)
	if err != nil {
		t.Fatal(err)
	}
	var tools struct {
		Tools []struct {
			Name         string             `json:"name"`
			OutputSchema *jsonschema.Schema `json:"outputSchema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(raw, &tools); err != nil {
		t.Fatal(err)
	}
	for i, call := range r.Calls {
		for _, tool := range tools.Tools {
			if tool.Name != call.Tool {
				continue
			}
			if tool.OutputSchema == nil {
				t.Errorf("%s declares no output schema", tool.Name)
				continue
			}
			schema, err := tool.OutputSchema.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal(r.results[i].Structured, &v); err != nil {
				t.Errorf("%s: %v", tool.Name, err)
			} else if err := schema.Validate(v); err != nil {
				t.Errorf("%s: %v", tool.Name, err)
			}
		}
	}
}
