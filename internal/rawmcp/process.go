package rawmcp

import (
	"context"
	"time"
)

// Stderr is what the server wrote there so far.
func (c *Client) Stderr() string { return c.stderr.String() }

// PID of the process that was started (a launcher that execs keeps it).
func (c *Client) PID() int { return c.cmd.Process.Pid }

// Gone is closed when the server's output ended.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Kill ends the process at once; Close must still be called.
func (c *Client) Kill() { c.cmd.Process.Kill() }

// Close closes the server's input, waits up to patience for its end, kills it otherwise, and gives the exit code
// (-1 if a signal ended it).
func (c *Client) Close(patience time.Duration) int {
	c.in.Close()
	select {
	case <-c.exited:
	case <-time.After(patience):
		c.cmd.Process.Kill()
		<-c.exited
	}
	return c.cmd.ProcessState.ExitCode()
}

// Exited waits for the process to end by itself: a server that must refuse to start.
func (c *Client) Exited(ctx context.Context) (code int, err error) {
	select {
	case <-c.exited:
		return c.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return -1, ctx.Err()
	}
}
