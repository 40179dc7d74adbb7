package serve

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// inside counts who was let in, and keeps them in until end.
func inside(ctx context.Context, v *valve, n int, end <-chan struct{}) *atomic.Int64 {
	in := new(atomic.Int64)
	for range n {
		go func() {
			leave := v.enter(ctx)
			if ctx.Err() == nil {
				in.Add(1)
			}
			<-end
			leave()
			v.handed()
		}()
		synctest.Wait()
	}
	return in
}

func TestValveHoldsCallsWhileNothingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, end := &valve{}, make(chan struct{})
		v.open()
		v.writing(Backlog/4 + 1)
		ctx, cancel := context.WithCancel(t.Context())
		in := inside(ctx, v, 5, end)
		time.Sleep(time.Hour) // of the bubble
		if in.Load() != 0 {
			t.Fatalf("%d calls began", in.Load())
		}
		v.writing(-1)
		synctest.Wait()
		if in.Load() != 5 {
			t.Errorf("%d calls began when the client read again", in.Load())
		}
		v.writing(1)
		late := inside(ctx, v, 3, end)
		cancel() // their calls are cancelled: they wait no longer, and count for nothing
		synctest.Wait()
		close(end)
		synctest.Wait()
		if late.Load() != 0 || v.running != 0 {
			t.Errorf("%d began, %d count as running", late.Load(), v.running)
		}
	})
}

// Calls that hang slow others down and do not stop them.
func TestValveLetsOthersPassCallsThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, end := &valve{held: func() int { return little - 1 }}, make(chan struct{})
		v.open()
		in := inside(t.Context(), v, atOnce+10, end)
		if in.Load() != atOnce {
			t.Fatalf("%d calls began at once, want %d", in.Load(), atOnce)
		}
		time.Sleep(10 * escape)
		synctest.Wait()
		if in.Load() != atOnce+10 {
			t.Errorf("%d calls began after %v", in.Load(), 10*escape)
		}
		close(end)
		synctest.Wait()
		if v.running != 0 {
			t.Errorf("%d count as running", v.running)
		}
	})
}

// Calls that are slow because the machine is do not open the valve: they hold memory.
func TestValveStaysWhileMuchIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held atomic.Int64
		held.Store(little)
		v, end := &valve{held: func() int { return int(held.Load()) }}, make(chan struct{})
		v.open()
		in := inside(t.Context(), v, atOnce+10, end)
		time.Sleep(time.Hour) // of the bubble
		if in.Load() != atOnce {
			t.Errorf("%d calls began, want %d", in.Load(), atOnce)
		}
		held.Store(little - 1)
		time.Sleep(2 * escape)
		synctest.Wait()
		if in.Load() <= atOnce {
			t.Error("no call began when memory was free again")
		}
		close(end)
	})
}

// A call that ended counts until its answer reached the transport: encoding takes longer than reading.
func TestValveCountsAnswersBeingEncoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, end := &valve{held: func() int { return 0 }}, make(chan struct{})
		v.open()
		for range atOnce {
			v.enter(t.Context())()
		}
		in := inside(t.Context(), v, 3, end)
		time.Sleep(time.Hour) // of the bubble
		if in.Load() != 0 {
			t.Errorf("%d calls began while %d answers were being encoded", in.Load(), atOnce)
		}
		v.handed()
		synctest.Wait()
		if in.Load() != 3 {
			t.Errorf("%d calls began, want 3", in.Load())
		}
		close(end)
		synctest.Wait()
	})
}

// What may answer much waits for the client to read; what a client needs to go on does not.
func TestToolsAndResourcesPassTheValve(t *testing.T) {
	for method, waits := range map[string]bool{"tools/call": true, "resources/read": true, "tools/list": false, "ping": false, "notifications/roots/list_changed": false} {
		synctest.Test(t, func(t *testing.T) {
			v := &valve{}
			v.open()
			v.writing(Backlog/4 + 1)
			began := new(atomic.Bool)
			serve := v.middleware(func(context.Context, string, mcp.Request) (mcp.Result, error) {
				began.Store(true)
				return nil, nil
			})
			go func() { _, _ = serve(t.Context(), method, nil) }()
			synctest.Wait()
			if began.Load() == waits {
				t.Errorf("%s: waits %t", method, !waits)
			}
			v.writing(-1)
			synctest.Wait()
			if !began.Load() {
				t.Errorf("%s: never begins", method)
			}
		})
	}
}
