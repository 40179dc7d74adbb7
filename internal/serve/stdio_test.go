package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// blocked is a connection whose client sends for ever and reads when told.
type blocked struct {
	mcp.Connection
	next int64
	end  chan struct{} // closed: the client closed its end
	take chan struct{} // one for each answer that the client reads
}

func (b *blocked) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-b.end:
		return nil, io.EOF
	default:
	}
	b.next++
	id, err := jsonrpc.MakeID(float64(b.next))
	return &jsonrpc.Request{ID: id, Method: "tools/call"}, err
}

func (b *blocked) Write(ctx context.Context, _ jsonrpc.Message) error {
	select {
	case <-b.take:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newConn(b *blocked) *lingeringConn {
	return &lingeringConn{Connection: b, transport: &lingering{valve: &valve{}, gone: make(chan struct{})}, open: map[jsonrpc.ID]int{}, heavy: map[jsonrpc.ID]int{}, answered: make(chan struct{}, 1)}
}

// serveOne takes a call and answers it with size bytes.
func serveOne(ctx context.Context, c *lingeringConn, size int) error {
	m, err := c.Read(ctx)
	if err != nil {
		return err
	}
	id := m.(*jsonrpc.Request).ID
	go func() { _ = c.Write(ctx, &jsonrpc.Response{ID: id, Result: json.RawMessage(make([]byte, size))}) }()
	return nil
}

func TestBacklogStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		b := &blocked{end: make(chan struct{}), take: make(chan struct{})}
		c := newConn(b)
		for range 5 {
			if err := serveOne(ctx, c, Backlog/4); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		next := make(chan error, 1)
		go func() { next <- serveOne(ctx, c, 1) }()
		synctest.Wait()
		if b.next != 5 {
			t.Fatalf("%d calls were taken with a full backlog", b.next)
		}
		b.take <- struct{}{} // the client reads one answer
		b.take <- struct{}{}
		if err := <-next; err != nil || b.next != 6 {
			t.Fatalf("%v, %d calls", err, b.next)
		}
	})
}

func TestStalledClientEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		c := newConn(&blocked{end: make(chan struct{}), take: make(chan struct{})})
		if err := serveOne(ctx, c, Backlog+1); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		if err := serveOne(ctx, c, 1); !errors.Is(err, errStalled) {
			t.Fatalf("%v", err)
		}
		if d := time.Since(start); d < Stall || d > 2*Stall+time.Second {
			t.Errorf("after %v", d)
		}
	})
}

func TestEndOfInputWaitsForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for _, answered := range []bool{true, false} {
			b := &blocked{end: make(chan struct{}), take: make(chan struct{})}
			c := newConn(b)
			if err := serveOne(ctx, c, 1); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			close(b.end)
			start := time.Now()
			if answered {
				time.AfterFunc(Grace/2, func() { b.take <- struct{}{} })
			}
			if _, err := c.Read(ctx); !errors.Is(err, io.EOF) {
				t.Fatalf("%v", err)
			}
			<-c.transport.gone
			want := Grace
			if answered {
				want = Grace / 2
			}
			if d := time.Since(start); d != want {
				t.Errorf("answered %v: the end came after %v, want %v", answered, d, want)
			}
		}
	})
}
