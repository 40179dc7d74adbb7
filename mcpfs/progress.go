package mcpfs

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progress tells a client that asked for it how far a long call has come, twice a second. Its goroutine ends with stop.
type progress struct {
	steps atomic.Int64
	end   context.CancelFunc
	done  sync.WaitGroup
}

const progressEvery = 500 * time.Millisecond

// progress starts telling if the call carries a token. stop must be called.
func (c call) progress(ctx context.Context) *progress {
	token := c.req.Params.GetProgressToken()
	p := &progress{}
	if token == nil || c.req.Session == nil {
		p.end = func() {}
		return p
	}
	tick, end := context.WithCancel(ctx)
	p.end = end
	p.done.Go(func() {
		t := time.NewTicker(progressEvery)
		defer t.Stop()
		start := time.Now()
		for {
			select {
			case <-tick.Done():
				return
			case <-t.C:
			}
			// The value must rise each time, even if nothing moved: it is the time that was spent.
			told := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: time.Since(start).Seconds()}
			if n := p.steps.Load(); n > 0 {
				told.Message = strconv.FormatInt(n, 10) + " looked at"
			}
			_ = c.req.Session.NotifyProgress(tick, told) // a client that is gone ends the call by itself
		}
	})
	return p
}

func (p *progress) step() { p.steps.Add(1) }

func (p *progress) stop() {
	p.end()
	p.done.Wait()
}
