// Package serve assembles the rooms into a server: ceiling, guard, scope and tools, over a transport that is given to it.
//
// One mcp.Server serves every session and both protocol eras. Nothing here writes to stdout or stderr; what a person
// should hear goes to Options.Warn.
package serve

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/mcpfs/cache"
	"github.com/rootbound/rootbound/mcpfs/resource"
	"github.com/rootbound/rootbound/mcpfs/subscribe"
	"github.com/rootbound/rootbound/mcpscope"
	"github.com/rootbound/rootbound/patch"
	"github.com/rootbound/rootbound/watch"
)

// Options of a Service. The zero value serves nobody anything: no project, mode narrow, no record.
type Options struct {
	Version string // of this program

	Projects       []rootbound.Project
	AcceptRetarget bool

	Mode           authority.Mode
	RootsTimeout   time.Duration // default 5 s
	EmptyIsCeiling bool
	NeverAskModern bool
	AllowWide      bool
	ClientProject  rootbound.Project // mode client: what each root is granted

	Tools         mcpfs.Tools   // the form of the tools
	Relative      string        // unique, first, explicit
	FSTimeout     time.Duration // default 5 s; negative: unbounded
	NoSlow        bool
	Limits        mcpfs.Limits
	Subscriptions int // of one session or listen; default 1,000
	Cache         int // bytes kept of what reads found out, for each authority; 0: cache.DefaultBytes, negative: nothing is kept
	TreeLimit     int // entries of a moved, copied or deleted tree; default 50,000

	Sink    decision.Sink // closed by Close; nil: no record
	Server  decision.Server
	Locks   guard.Locks
	Journal guard.Journal
	Keep    guard.Keeper // of what changes replace and delete; nil: nothing is kept
	Own     func() []guard.Own
	Patches patch.DeskOptions // where plans wait, and how it is remembered that they were used

	// Confine is called when the projects' directories are open and before anything is served; it says what is enforced,
	// for each record's server identity. nil: nothing is.
	Confine func(*authority.Ceiling) (string, error)

	// Widen is told of searches that work side by side, see mcpfs.Options, and of large answers until they were written.
	Widen func() (narrow func())

	Transport string            // "stdio" (default) or "memory": for the record
	Warn      func(line string) // what a person should hear; may be nil
}

// Service is a server that is ready to be connected. Safe for concurrent use.
type Service struct {
	ceiling *authority.Ceiling
	mode    atomic.Value // authority.Mode as asked for; Client only if it was
	guard   *guard.Guard
	scope   *mcpscope.Scope
	mcp     *mcp.Server
	sink    decision.Sink
	warn    func(string)
	valve   valve
	tools   mcpfs.Tools
	relist  func() // clients are to ask for the tools again
	added   *mcpfs.Added
	limit   func(text, blob, list int) // of resources
	kept    *cache.Cache
	hub     *subscribe.Hub
	unwatch func()
	told    told

	changing sync.Mutex
	chosen   []rootbound.RootID // by Use; nil: all
}

// DefaultFSTimeout is how long one call waits for a file system that does not answer (contract §4).
const DefaultFSTimeout = 5 * time.Second

// New opens the projects' directories and puts the server together. Errors are those of authority.Open.
func New(o Options) (*Service, error) {
	if o.FSTimeout == 0 {
		o.FSTimeout = DefaultFSTimeout
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	ceiling, err := authority.Open(o.Projects, authority.CeilingOptions{AcceptRetarget: o.AcceptRetarget})
	if err != nil {
		return nil, err
	}
	watching, unwatch := subscribe.Watching(watch.Options{})
	if o.Confine != nil {
		if o.Server.Confine, err = o.Confine(ceiling); err != nil {
			unwatch()
			_ = ceiling.Close() // the reason not to serve is the one that counts
			return nil, err
		}
	}
	s := &Service{ceiling: ceiling, sink: o.Sink, warn: o.Warn, tools: o.Tools}
	s.mode.Store(o.Mode)
	s.told.look(o.Projects)
	door := o.door()
	door.Alert = func(authority string, denials int) {
		o.Warn(fmt.Sprintf("Warning: %d calls were refused within 10 seconds (authority %s)", denials, authority))
	}
	g := guard.New(door)
	s.guard = g
	if o.Cache >= 0 {
		s.kept = cache.New(cache.Options{Bytes: o.Cache})
	}
	s.hub, s.unwatch = subscribe.New(subscribe.Options{Watch: watching, Subscriptions: o.Subscriptions}), unwatch
	s.scope = mcpscope.New(ceiling, mcpscope.Options{
		Mode: o.Mode, NeverAskModern: o.NeverAskModern, Timeout: o.RootsTimeout, EmptyIsCeiling: o.EmptyIsCeiling,
		AllowWide: o.AllowWide, ClientProject: o.ClientProject,
		Form:    o.Tools.Form,
		Need:    need(o.Tools),
		Mutates: o.Tools.Mutates,
		Before: func(_ context.Context, c *authority.Ceiling, req mcp.Request) error {
			if r, ok := resource.Request(req); ok {
				return g.Precheck(c, r, true)
			}
			if r, ok := o.Tools.Request(req); ok && s.means() != authority.Client { // without a ceiling there is nothing to check against
				return mcpfs.Advise(g.Precheck(c, r, s.means() != authority.Ignore), o.Tools)
			}
			return nil
		},
		Denied: g.Denied,
		Sent: func(req mcp.Request) mcpscope.Sent {
			r, ok := resource.Request(req)
			if !ok {
				r, _ = o.Tools.Request(req) // also where its arguments do not fit
			}
			return mcpscope.Sent{Op: r.Op, Path: r.Path, Dest: r.Dest}
		},
		Sink: o.Sink, Server: o.Server, Transport: o.Transport,
		Mark: func(id string, ended rootbound.Generation) {
			s.kept.Drop(id, ended)
			s.hub.Mark(id, ended)
		},
		Drop: func(old, next *authority.Snapshot) {
			if old != nil {
				s.kept.Drop(old.Authority, old.Generation)
			}
			s.hub.Drop(old, next)
		},
		Panic: func(id string, value any, _ []byte) {
			o.Warn(fmt.Sprintf("Warning: a call failed inside the server (%s): %v", id, rootbound.Quote(fmt.Sprint(value))))
		},
	})
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "rootbound", Title: "rootbound", Version: o.Version}, &mcp.ServerOptions{
		Instructions: o.Tools.Instructions(),
		Capabilities: &mcp.ServerCapabilities{
			Tools:       &mcp.ToolCapabilities{ListChanged: o.Tools == mcpfs.Project}, // only the ids in them change
			Resources:   &mcp.ResourceCapabilities{Subscribe: true, ListChanged: true},
			Completions: &mcp.CompletionCapabilities{},
		},
		CompletionHandler: nothingElse,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.TTLMs, c.CacheScope = 0, "private" // a kept answer would outlive a revocation
		},
	})
	s.added = mcpfs.Add(s.mcp, mcpfs.Options{Guard: g, Scope: s.scope, Limits: o.Limits, Tools: o.Tools, Projects: s.projects, Desk: patch.NewDesk(o.Patches), Cache: s.kept, Widen: o.Widen,
		Width: s.width, Waits: s.waiting})
	s.relist = s.added.Changed
	s.limit = resource.Add(s.mcp, resource.Options{Guard: g, Scope: s.scope, Text: o.Limits.Text, Blob: o.Limits.Media, List: o.Limits.List, ReadTool: "read_text_file", ListOn: o.Tools.ListOn})
	s.hub.Add(s.mcp, g, s.scope)
	s.mcp.AddReceivingMiddleware(undeclared)
	// The valve comes before the scope, so that a call that waited works with what is in force when it begins.
	s.mcp.AddReceivingMiddleware(s.valve.middleware, wide(o.Widen), s.scope.Middleware())
	return s, nil
}

// need: every file tool says what it needs, and so do our resources; an unknown tool is told so by the SDK without a question to the client.
func need(tools mcpfs.Tools) func(method, name string) mcpscope.Need {
	names := tools.Names()
	return func(method, name string) mcpscope.Need {
		switch {
		case method == "tools/call" && slices.Contains(names, name):
			return tools.Need(method, name)
		case method == "resources/read" && resource.Ours(name):
			return mcpscope.Scoped
		}
		return mcpscope.Free
	}
}

// projects are the ids that tools/list shows: what the operator granted and a person left active. The client's roots narrow
// what each of them holds, and change more often than clients ask for tools.
func (s *Service) projects(context.Context, mcp.Request) []rootbound.RootID {
	return s.ceiling.Active()
}

// ProjectsChanged tells clients that take tools/list_changed to ask for the tools again, after the ceiling was changed. It
// does nothing where no tool shows ids.
func (s *Service) ProjectsChanged() {
	if s.tools == mcpfs.Project {
		s.relist()
	}
}

// Connect serves one session over a transport, for programs that hold the client in the same process.
func (s *Service) Connect(ctx context.Context, t mcp.Transport) (*mcp.ServerSession, error) {
	return s.mcp.Connect(ctx, t, nil)
}

// Close ends every session and call, waits for them until ctx ends, and closes what was opened.
func (s *Service) Close(ctx context.Context) error {
	err := s.scope.Close(ctx)
	if cerr := s.hub.Close(ctx); err == nil {
		err = cerr
	}
	s.unwatch()
	if cerr := s.ceiling.Close(); err == nil {
		err = cerr
	}
	if s.sink != nil {
		if cerr := s.sink.Close(); err == nil {
			err = cerr
		}
	}
	return err
}
