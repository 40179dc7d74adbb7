package serve

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/rootbound/rootbound/mcpscope"
)

// Grace is how long calls that are under way may still take when the client has gone or the process is told to end.
const Grace = 5 * time.Second

// Stdio serves one client over a pair of pipes until the client closes its end or ctx ends; both are no error. Calls that
// are under way then may finish within Grace, so that a client which writes everything and closes gets its answers; a
// client that has stopped reading cannot hold the process longer than that.
func (s *Service) Stdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	eof := &endNotice{ReadCloser: in, seen: make(chan struct{})}
	session, err := s.Connect(ctx, &mcpscope.Pipe{Reader: eof, Writer: out})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-eof.seen:
		wait := time.NewTimer(Grace)
		defer wait.Stop()
		select {
		case err = <-ended:
		case <-ctx.Done():
		case <-wait.C:
		}
	case <-ctx.Done():
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// endNotice tells when its reader came to an end.
type endNotice struct {
	io.ReadCloser
	seen chan struct{}
	once sync.Once
}

func (e *endNotice) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if err != nil {
		e.once.Do(func() { close(e.seen) })
	}
	return n, err
}
