package mcpfs_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound/mcpfs"
)

// goingOn is one question whose answer is cut, and how its pages are put together.
type goingOn struct {
	tool  string
	args  args
	want  string
	least int // answers that it takes
	join  func(g *gathered, text string, s map[string]any)
}

// gathered is what the answers so far have shown.
type gathered struct {
	all   string
	files map[string]string
	rest  []string // paths that an answer says to ask for

	answers int
	bounds  map[string]int // answers that were cut at each
}

var marker = regexp.MustCompile(`(?m)^\[cut[^\n]*\]$`)

// without takes the last line that tells of the cut away.
func without(text string) string {
	if i := strings.LastIndexByte(text, '\n'); marker.MatchString(text[i+1:]) {
		return text[:max(i, 0)]
	}
	return text
}

// lines joins what is shown line by line; skip are lines that are not part of the list.
func lines(skip string) func(*gathered, string, map[string]any) {
	not := regexp.MustCompile(skip)
	return func(g *gathered, text string, _ map[string]any) {
		for l := range strings.Lines(without(text) + "\n") {
			if l = strings.TrimSuffix(l, "\n"); l != "" && !not.MatchString(l) {
				g.all += l + "\n"
			}
		}
	}
}

// bytesOf joins the text of a part of a file, of size bytes from base on. Where a cut fell inside a line, the line break
// before the mark is not the file's; next tells where it fell.
func bytesOf(base, size int, front bool) func(*gathered, string, map[string]any) {
	return func(g *gathered, text string, s map[string]any) {
		data := text
		if s["truncated"] == true {
			data = without(text) + "\n"
		}
		next, _ := s["next"].(map[string]any)
		if at, ok := next["offset"].(float64); ok && front {
			data = data[:base+size-len(g.all)-int(at)]
		} else if ok {
			data = data[:int(at)-base-len(g.all)]
		}
		if front {
			g.all = data + g.all
		} else {
			g.all += data
		}
	}
}

// contents joins the files of read_multiple_files.
func contents(g *gathered, text string, s map[string]any) {
	for _, part := range strings.Split(text, "\n---\n") {
		name, data, ok := strings.Cut(part, ":\n")
		switch {
		case marker.MatchString(part) && !ok:
		case !ok:
			g.all += part + "\n"
		case s["truncated"] == true && marker.MatchString(data):
			g.files[name] += without(data) + "\n"
		default:
			if g.files[name] == "" {
				g.all += name + "\n"
			}
			g.files[name] += strings.TrimSuffix(data, "\n")
			if _, cut := g.files[name]; cut {
				g.all += fmt.Sprintf("%s ends after %d bytes\n", name, len(g.files[name]))
			}
		}
	}
}

// nodes joins trees: each node once, and what is marked truncated is asked for.
func nodes(prefix func(map[string]any) string) func(*gathered, string, map[string]any) {
	type node struct {
		Name, Type           string
		Continued, Truncated bool
		Children             []node
	}
	return func(g *gathered, text string, s map[string]any) {
		var top []node
		if err := json.Unmarshal([]byte(text), &top); err != nil {
			panic(err)
		}
		var walk func(at string, all []node)
		walk = func(at string, all []node) {
			for _, n := range all {
				p := strings.TrimPrefix(at+"/"+n.Name, "./")
				if !n.Continued {
					g.all += p + "\n"
				}
				if n.Truncated {
					g.rest = append(g.rest, p)
				}
				walk(p, n.Children)
			}
		}
		walk(prefix(s), top)
	}
}

// goOn asks and goes on.
func goOn(t *testing.T, l *live, form mcpfs.Tools, c goingOn) *gathered {
	g := &gathered{files: map[string]string{}, bounds: map[string]int{}}
	a := shaped(form, c.tool, c.args)
	answers := 0
	for ; answers < 100; answers++ {
		res := l.call(c.tool, a)
		s := structured(t, res)
		c.join(g, textOf(res), s)
		all, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		told := string(all)
		next, _ := s["next"].(map[string]any)
		if cursor, ok := next["cursor"].(string); ok {
			raw, err := base64.RawURLEncoding.DecodeString(cursor)
			if err != nil {
				t.Fatalf("cursor %q: %v", cursor, err)
			}
			told += string(raw)
		}
		if strings.Contains(strings.ReplaceAll(told, "x.denied", ""), "denied") && !strings.Contains(told, "rule_denied") {
			t.Errorf("a denied name shows: %s", told)
		}
		bound, declared := whyOf(c.tool, s)
		if declared && (bound != "") != (s["truncated"] == true) {
			t.Errorf("cut: %v, by %q", s["truncated"], bound)
		}
		if s["truncated"] != true {
			if next != nil || strings.Contains(textOf(res), "[cut") {
				t.Errorf("not cut, and goes on with %v: %s", next, textOf(res))
			}
			break
		}
		if len(next) == 0 {
			t.Fatalf("cut, and does not say how to go on: %s", told)
		}
		var says string
		for _, b := range res.Content {
			says = b.(*mcp.TextContent).Text
		}
		says = says[strings.LastIndexByte(says, '\n')+1:]
		for k, v := range next {
			if want := fmt.Sprintf("%s: %v", k, v); !strings.Contains(says, want) {
				t.Errorf("the answer does not end with %q: %q", want, says)
			}
		}
		if g.bounds[bound]++; !saysWhy(bound, says) {
			t.Errorf("cut by %s: %q", bound, says)
		}
		maps.Copy(a, next)
	}
	g.answers = answers + 1
	if answers+1 < c.least || answers == 100 {
		t.Errorf("%d answers, at least %d were due", answers+1, c.least)
	}
	if c.want != "" && g.all != c.want {
		t.Errorf("together:\n%s\nwant:\n%s", g.all, c.want)
	}
	if c.tool == "read_multiple_files" {
		names := strings.Join(slices.Sorted(maps.Keys(g.files)), " ")
		if g.files["files/numbered.txt"] != l.read("files/numbered.txt") || g.files["files/short2.txt"] != l.read("files/short2.txt") ||
			g.files["files/short.txt"] != "short\nshort\n" || names != "files/numbered.txt files/short.txt files/short2.txt" ||
			strings.Count(g.all, "Error") != 2 {
			t.Errorf("%q\n%s", g.files, g.all)
		}
	}
	return g
}
