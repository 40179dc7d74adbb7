package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/cmd/rootbound/setting"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

func callCommand(w setting.World) *cobra.Command {
	f := &setting.Flags{}
	var dirs []string
	var whole bool
	c := &cobra.Command{
		Use:   "call --dir DIR… TOOL [KEY=VALUE…]",
		Short: "Call one tool and print its answer",
		Long: `Starts a server and a client inside this process, calls one tool and prints the text of its answer; a refusal goes to
stderr. VALUE is JSON where the tool takes something other than text. "rootbound call --dir . help" lists the tools, "help
TOOL" what one takes.
` + setting.ExitHelp,
		Example: `  rootbound call --dir . list_directory path=.
  rootbound call --dir . --read-only read_text_file path=go.mod head=3
  rootbound call --dir . --json edit_file path=a.txt 'edits=[{"oldText":"a","newText":"b"}]'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return setting.Misused("which tool? \"rootbound call --dir . help\" lists them")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			s, err := f.Gather(c, w, dirs)
			if err != nil {
				return err
			}
			w.Say(s.Warnings...)
			if len(s.Projects) == 0 {
				return setting.Misused("no directory is granted. Name it with --dir")
			}
			return call(c.Context(), s, w, whole, args[0], args[1:])
		},
	}
	f.Register(c)
	c.Flags().StringArrayVar(&dirs, "dir", nil, "directory to serve; may be given more than once")
	c.Flags().BoolVar(&whole, "json", false, "print the whole result as JSON")
	return c
}

func call(ctx context.Context, s *setting.Settings, w setting.World, whole bool, tool string, pairs []string) error {
	s.Options.Transport = "memory"
	h, err := s.Furnish(ctx, w)
	if err != nil {
		return err
	}
	defer h.Close()
	service, err := serve.New(s.Options)
	if err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	defer func() {
		closing, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer stop()
		_ = service.Close(closing) // the answer is out; what fails now concerns nobody
	}()
	if _, err := chosen(s, w, service); err != nil {
		return err
	}
	here, there := mcp.NewInMemoryTransports()
	if _, err := service.Connect(ctx, there); err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "rootbound call", Version: setting.Version()}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(ctx, here, nil)
	if err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	defer session.Close()
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	all := s.Named() // the form of the tools depends on it
	if tool == "help" {
		return toolHelp(w.Out, tools.Tools, pairs, all)
	}
	args, err := arguments(tools.Tools, tool, pairs, all)
	if err != nil {
		return err
	}
	if unknown := notTaken(tools.Tools, tool, args); len(unknown) > 0 && s.Options.Tools == mcpfs.Classic { // which drops them, as hosts expect; the project form says so itself
		w.Say("Notice: " + tool + " has no argument " + strings.Join(unknown, ", ") + "; \"help " + tool + "\" shows what it takes")
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	if whole {
		b, err := json.MarshalIndent(res, "", "  ")
		if err != nil {
			return setting.Failed("%s", setting.Text(err))
		}
		fmt.Fprintf(w.Out, "%s\n", b)
	} else if err := printAnswer(w, res); err != nil {
		return err
	}
	if res.IsError {
		return &setting.Failure{Code: setting.ExitFailed}
	}
	return nil
}

// arguments reads KEY=VALUE by the tool's schema: text stays text, everything else is JSON where it parses.
func arguments(tools []*mcp.Tool, tool string, pairs []string, granted string) (map[string]any, error) {
	at := slices.IndexFunc(tools, func(t *mcp.Tool) bool { return t.Name == tool })
	if at < 0 {
		return nil, noTool(tool, granted)
	}
	var props map[string]any
	if s, ok := tools[at].InputSchema.(map[string]any); ok {
		props, _ = s["properties"].(map[string]any)
	}
	args := map[string]any{}
	for _, p := range pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, setting.Misused("%s is not KEY=VALUE; %s", rootbound.Quote(p), exampleOf(tools[at]))
		}
		schema, _ := props[key].(map[string]any)
		var v any
		switch err := json.Unmarshal([]byte(value), &v); {
		case err != nil, schema["type"] == "string" && !isString(v):
			args[key] = value
		default:
			args[key] = v
		}
	}
	return args, nil
}

// notTaken are the arguments that the tool does not have.
func notTaken(tools []*mcp.Tool, tool string, args map[string]any) (names []string) {
	at := slices.IndexFunc(tools, func(t *mcp.Tool) bool { return t.Name == tool })
	_, has, err := takes(tools[at])
	for name := range args {
		if _, ok := has[name]; !ok && err == nil {
			names = append(names, rootbound.Quote(name))
		}
	}
	slices.Sort(names)
	return names
}

func isString(v any) bool { _, ok := v.(string); return ok }

func printAnswer(w setting.World, res *mcp.CallToolResult) error {
	out := w.Out
	var errs []error
	for _, c := range res.Content {
		var line string
		switch c := c.(type) {
		case *mcp.TextContent:
			line = c.Text
		case *mcp.ImageContent:
			line = fmt.Sprintf("[%s, %d bytes; --json prints them]", c.MIMEType, len(c.Data))
		case *mcp.AudioContent:
			line = fmt.Sprintf("[%s, %d bytes; --json prints them]", c.MIMEType, len(c.Data))
		case *mcp.EmbeddedResource:
			line = fmt.Sprintf("[%s, %s, %d bytes; --json prints them]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
		}
		if !strings.HasSuffix(line, "\n") {
			line += "\n"
		}
		var err error
		if res.IsError {
			_, err = fmt.Fprint(w.Err, line)
		} else {
			_, err = fmt.Fprint(out, line)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	return nil
}
