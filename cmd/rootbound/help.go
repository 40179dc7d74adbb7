package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
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
func toolHelp(out io.Writer, tools []*mcp.Tool, names []string) error {
	if len(names) == 0 {
		for _, t := range tools {
			fmt.Fprintf(out, "%-26s %s\n", t.Name, t.Description)
		}
		return nil
	}
	for _, name := range names {
		i := slices.IndexFunc(tools, func(t *mcp.Tool) bool { return t.Name == name })
		if i < 0 {
			return noTool(name)
		}
		if err := describe(out, tools[i]); err != nil {
			return err
		}
	}
	return nil
}

func noTool(name string) error {
	return setting.Misused("no tool %s; \"rootbound call --dir . help\" lists them", rootbound.Quote(name))
}

// describe prints a tool with its arguments, those it cannot do without first.
func describe(out io.Writer, t *mcp.Tool) error {
	var schema struct {
		Required   []string             `json:"required"`
		Properties map[string]parameter `json:"properties"`
	}
	b, err := json.Marshal(t.InputSchema)
	if err == nil {
		err = json.Unmarshal(b, &schema)
	}
	if err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	place := func(name string) int {
		if i := slices.Index(schema.Required, name); i >= 0 {
			return i
		}
		return len(schema.Required)
	}
	var names []string
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(place(a)-place(b), cmp.Compare(a, b)) })
	fmt.Fprintf(out, "%s\n%s\n", t.Name, t.Description)
	for _, name := range names {
		p := schema.Properties[name]
		kind := p.kind()
		if slices.Contains(schema.Required, name) {
			kind += ", required"
		}
		if len(p.Default) > 0 {
			kind += ", default " + string(p.Default)
		}
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("  %-18s %-26s %s", name, kind, p.Description), " "))
	}
	return nil
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
