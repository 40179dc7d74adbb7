package mcpfs_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// slowLog makes the decision of a walk wait, as a slow disk would.
type slowLog struct {
	decision.Discard
	entered chan struct{}
	release chan struct{}
}

func (s *slowLog) Decided(r *decision.Record, _ bool) error {
	if r.Operation == rootbound.OpTree || r.Operation == rootbound.OpSearch || r.Operation == rootbound.OpSearchContent {
		close(s.entered)
		<-s.release
	}
	return nil
}

func TestLongCallsSendProgressAndStop(t *testing.T) {
	for _, c := range []struct {
		tool string
		args args
	}{{"directory_tree", args{"path": "."}}, {"search_files", args{"path": ".", "pattern": "**/x"}}, {"search_content", args{"path": ".", "pattern": "x"}}} {
		t.Run(c.tool, func(t *testing.T) {
			log := &slowLog{entered: make(chan struct{}), release: make(chan struct{})}
			told := make(chan float64, 100)
			l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}, Sink: log},
				clientOptions{revision: legacy, progress: func(p *mcp.ProgressNotificationParams) { told <- p.Progress }})
			for i := range 50 {
				l.mkdir(fmt.Sprintf("d%d", i))
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				p := &mcp.CallToolParams{Name: c.tool, Arguments: c.args}
				p.SetProgressToken("token")
				_, err := l.session.CallTool(ctx, p)
				ended <- err
			}()
			<-log.entered
			var last float64
			for range 2 { // it rises although nothing moves
				select {
				case p := <-told:
					if p <= last {
						t.Errorf("progress went from %v to %v", last, p)
					}
					last = p
				case <-time.After(30 * time.Second):
					t.Fatal("no progress was told")
				}
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			close(log.release)
			// The call has ended on the server as well: another one is served.
			if text, _ := l.ok("list_directory", args{"path": "d1"}); text != "" {
				t.Errorf("%q", text)
			}
		})
	}
}

// Without a token nothing is told.
func TestNoProgressUnasked(t *testing.T) {
	var told atomic.Int64
	log := &slowLog{entered: make(chan struct{}), release: make(chan struct{})}
	l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}, Sink: log},
		clientOptions{revision: legacy, progress: func(*mcp.ProgressNotificationParams) { told.Add(1) }})
	timer := time.AfterFunc(mcpfs.ProgressEvery*3/2, func() { close(log.release) })
	defer timer.Stop()
	l.ok("directory_tree", args{"path": "."})
	if told.Load() != 0 {
		t.Errorf("%d notifications", told.Load())
	}
}
