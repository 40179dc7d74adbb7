package mcpfs

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/cache"
	"github.com/rootbound/rootbound/mcpfs/form"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/mcpscope"
	"github.com/rootbound/rootbound/patch"
)

// Tools is the form of the tools (--tools).
type Tools = form.Tools

// The forms.
const (
	Classic = form.Classic
	Project = form.Project
)

// Advise completes a refusal with the way out that these tools offer, where nothing finer is said or they offer just that.
// Other errors, nil too, are given back as they are.
func Advise(err error, tools Tools) error { return form.Advise(err, tools) }

// Options of Add.
type Options struct {
	Guard  *guard.Guard    // required
	Scope  *mcpscope.Scope // required; its middleware must be on the server too
	Tools  Tools
	Limits Limits
	Desk   *patch.Desk  // gives out and takes back plans; nil: one of this process, which shows no person anything
	Cache  *cache.Cache // of what reads found out; its Drop is to be told of what has ended. nil: nothing is kept

	// Widen is called before a search that works side by side and before a large answer is made, and what it returns once after
	// it: a process that keeps to few processors may give it more. nil: nobody is told. Called concurrently.
	Widen func() (narrow func())

	// Projects are the ids a request may send as project_id, for the enum that tools/list shows in the project form; nil: no
	// enum. What a call may use is decided by its snapshot alone.
	Projects func(context.Context, mcp.Request) []rootbound.RootID
	// Width says in words what makes a project uncommonly wide (authority.Width), and Waits what the operator changed and what
	// is not in force yet, in lines without a path of the host: for scope_status. nil: nothing is told. Called concurrently.
	Width func(*rootbound.Project) string
	Waits func() []string
}

// Limits bound one answer (contract §6). 0 means the value named here.
type Limits struct {
	Text  int // bytes of text of one read, and of read_multiple_files together: 1 MiB
	Media int // bytes of one file read as media: 4 MiB, since a reply carries it twice in base64
	Tree  int // nodes of one tree: 50,000
	List  int // entries of one page of a list: 1,000
	Hits  int // hits of one page of a search: 100
	Edit  int // bytes of a file that edit_file takes: 16 MiB

	SearchBytes int64         // read by one search_content: 4 GiB
	SearchFiles int           // looked into by one search_content: 1,000,000
	SearchTime  time.Duration // of one search_content, search_files or directory_tree: 20 s

	late    func() bool // takes the place of SearchTime for names and trees; nil: nothing does
	treeLen int         // bytes of a tree's text, so that long names cannot blow up what the node bound allows
}

func (l Limits) filled() Limits {
	if l.SearchBytes <= 0 {
		l.SearchBytes = 4 << 30
	}
	if l.SearchTime <= 0 {
		l.SearchTime = 20 * time.Second
	}
	for p, standard := range map[*int]int{&l.Text: 1 << 20, &l.Media: 4 << 20, &l.Tree: 50_000, &l.List: 1000, &l.Hits: 100, &l.Edit: 16 << 20, &l.SearchFiles: 1_000_000, &l.treeLen: 6 << 20} {
		if *p <= 0 {
			*p = standard
		}
	}
	return l
}

// Add adds the file tools to server, and a middleware that shows them in tools/list in their order, before the server's
// other tools. Call it before the scope's middleware is added, which must stay outermost.
func Add(server *mcp.Server, o Options) *Added {
	f := &files{guard: o.Guard, scope: o.Scope, tools: o.Tools, desk: o.Desk, cache: o.Cache, widen: o.Widen, width: o.Width, waits: o.Waits}
	added := &Added{server, f}
	added.Limit(o.Limits)
	if f.desk == nil {
		f.desk = patch.NewDesk(patch.DeskOptions{})
	}
	for i := range o.Tools.Rows() {
		t := &o.Tools.Rows()[i]
		server.AddTool(t.Registered(), f.handler(t))
	}
	server.AddReceivingMiddleware(o.Tools.Listed(o.Projects))
	return added
}

// Added are the tools on a server. Safe for concurrent use.
type Added struct {
	server *mcp.Server
	files  *files
}

// Changed is to be called when Options.Projects gives other ids than before: clients that take tools/list_changed are told.
func (a *Added) Changed() {
	first := &a.files.tools.Rows()[0]
	a.server.AddTool(first.Registered(), a.files.handler(first))
}

// Limit sets other limits, for the calls that come from now on.
func (a *Added) Limit(l Limits) {
	l = l.filled()
	a.files.limits.Store(&l)
}

// files is what all handlers share.
type files struct {
	guard  *guard.Guard
	scope  *mcpscope.Scope
	limits atomic.Pointer[Limits]
	tools  Tools
	desk   *patch.Desk
	cache  *cache.Cache
	widen  func() (narrow func())
	width  func(*rootbound.Project) string
	waits  func() []string
}

// call is one tools/call.
type call struct {
	*wire.Arguments
	tool   *form.Tool
	req    *mcp.CallToolRequest
	limits *Limits
}

func (f *files) handler(t *form.Tool) mcp.ToolHandler {
	fields, run := form.FieldsOf(t.In), handlers()[t.Name]
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := call{wire.Decode(t.Name, req.Params.Arguments), t, req, f.limits.Load()}
		if !t.Open() {
			c.Only(fields)
		}
		r, err := run(f, ctx, c)
		if err != nil {
			return wire.Refuse(Advise(c.named(f.recorded(ctx, c, err)), f.tools), t.Media), nil
		}
		defer f.beside(len(r.Text))()
		return r.Result()
	}
}

// wideFrom is from how many bytes on an answer is made beside other calls.
const wideFrom = 256 << 10

// beside has Widen called for work on an answer of so many bytes. done must be called.
func (f *files) beside(bytes int) (done func()) {
	if f.widen == nil || bytes < wideFrom {
		return func() {}
	}
	return f.widen()
}

// named repeats the name that stands for no project, as it was sent: the same for one that is unknown and for one that is
// not granted (G22). The records have it where they have names, not here.
func (c call) named(err error) error {
	var e *rootbound.Error
	if !errors.As(err, &e) || e.Reason != rootbound.ProjectUnknown || e.Detail != "" {
		return err
	}
	sent := c.sent(form.Root)
	if sent == "" {
		return err
	}
	told := *e
	told.Detail = rootbound.Quote(sent)
	return &told
}

// sent reads an argument by its role from what the caller sent, whatever else is wrong with it.
func (c call) sent(r form.Role) string {
	return wire.Decode(c.tool.Name, c.req.Params.Arguments).Text(c.tool.Named(r), false)
}

// recorded puts a refusal that came up before the guard was asked through the guard, so that it has a decision and a
// record like any other: there is one door.
func (f *files) recorded(ctx context.Context, c call, err error) error {
	e := mcpscope.Refused(err)
	if e == nil || e.Decision != "" {
		return err
	}
	r := guard.Request{Op: c.tool.Op, Root: c.sent(form.Root), Path: c.sent(form.Object), Dest: c.sent(form.Destination), Contained: c.tool.Form == Project, Invalid: e}
	return f.guard.Do(ctx, r, func(context.Context, *guard.Target) error { return e })
}

// request is what the tool asks the guard for.
func (c call) request() guard.Request { return c.tool.Request(c.Arguments) }
