package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/cmd/rootbound/setting"
)

// parameter is what a tool's schema says of one argument.
type parameter struct {
	Type        any             `json:"type"` // one name or several
	Enum        []any           `json:"enum"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	Items       *parameter      `json:"items"`
	Properties  map[string]any  `json:"properties"`
}

// toolHelp lists the tools, or what one tool takes.
func toolHelp(out io.Writer, tools []*mcp.Tool, names []string, granted string) error {
	if len(names) == 0 {
		common := commonWords(tools)
		for _, t := range tools {
			fmt.Fprintf(out, "%-26s %s\n", t.Name, strings.Replace(t.Description, common, "", 1))
		}
		if common != "" {
			fmt.Fprintf(out, "\n%s\n", strings.TrimSpace(common))
		}
		return nil
	}
	for _, name := range names {
		i := slices.IndexFunc(tools, func(t *mcp.Tool) bool { return t.Name == name })
		if i < 0 {
			return noTool(name, granted)
		}
		if err := describe(out, tools[i]); err != nil {
			return err
		}
	}
	return nil
}

// commonWords is the sentence that more than half of the tools have, with the space before it, to be said once for all; empty
// if there is none.
func commonWords(tools []*mcp.Tool) string {
	count := map[string]int{}
	for _, t := range tools {
		_, rest, _ := strings.Cut(t.Description, ". ")
		for s := range strings.SplitSeq(strings.TrimSuffix(rest, "."), ". ") {
			s = " " + s + "."
			if count[s]++; 2*count[s] > len(tools) {
				return s
			}
		}
	}
	return ""
}

// exampleOf shows what KEY=VALUE is for a tool: what it cannot do without, or else what it takes.
func exampleOf(t *mcp.Tool) string {
	required, properties, err := takes(t)
	if err != nil || len(properties) == 0 {
		return t.Name + " takes no arguments"
	}
	if len(required) == 0 {
		required = slices.Sorted(maps.Keys(properties))[:1]
	}
	text := t.Name
	for _, name := range required {
		value := strings.ToUpper(name)
		switch p := properties[name]; {
		case len(p.Enum) > 0:
			value = fmt.Sprint(p.Enum[0])
		case strings.HasSuffix(name, "path"):
			value = "."
		case p.Type == "array":
			value = `'["…"]'`
			if strings.Contains(p.kind(), "{") {
				value = `'[{…}]'`
			}
		}
		text += " " + name + "=" + value
	}
	return "write " + text
}

// noTool shows how to list the tools there are; granted are the flags of this call that say what is.
func noTool(name, granted string) error {
	return setting.Misused("no tool %s; what there is is listed by: rootbound call%s help", rootbound.Quote(name), granted)
}

// describe prints a tool with its arguments, those it cannot do without first.
func describe(out io.Writer, t *mcp.Tool) error {
	required, properties, err := takes(t)
	if err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	place := func(name string) int {
		if i := slices.Index(required, name); i >= 0 {
			return i
		}
		return len(required)
	}
	var names []string
	for name := range properties {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(place(a)-place(b), cmp.Compare(a, b)) })
	fmt.Fprintf(out, "%s\n%s\n", t.Name, t.Description)
	for _, name := range names {
		p := properties[name]
		kind := p.kind()
		if slices.Contains(required, name) {
			kind += ", required"
		}
		if len(p.Default) > 0 {
			kind += ", default " + string(p.Default)
		}
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("  %-18s %-26s %s", name, kind, p.Description), " "))
	}
	return nil
}

// takes are the arguments of a tool, and the names of those it cannot do without.
func takes(t *mcp.Tool) (required []string, properties map[string]parameter, err error) {
	var schema struct {
		Required   []string             `json:"required"`
		Properties map[string]parameter `json:"properties"`
	}
	b, err := json.Marshal(t.InputSchema)
	if err == nil {
		err = json.Unmarshal(b, &schema)
	}
	return schema.Required, schema.Properties, err
}

// kind is the type of a parameter, in words.
func (p parameter) kind() string {
	if len(p.Enum) > 0 {
		words := make([]string, len(p.Enum))
		for i, e := range p.Enum {
			words[i] = fmt.Sprint(e)
		}
		return strings.Join(words, "|")
	}
	name := fmt.Sprint(p.Type)
	if several, ok := p.Type.([]any); ok {
		words := make([]string, len(several))
		for i, s := range several {
			words[i] = fmt.Sprint(s)
		}
		name = strings.Join(words, "|")
	}
	switch {
	case name == "array" && p.Items != nil:
		return "list of " + p.Items.kind()
	case name == "object" && len(p.Properties) > 0:
		var fields []string
		for f := range p.Properties {
			fields = append(fields, f)
		}
		slices.Sort(fields)
		return "{" + strings.Join(fields, ", ") + "}"
	case p.Type == nil:
		return "any"
	}
	return name
}
