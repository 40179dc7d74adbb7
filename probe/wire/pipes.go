package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// child is a server process.
type child struct {
	cmd    *exec.Cmd
	tail   tail
	exited chan struct{}
}

// tail keeps the last part of what is written to it.
type tail struct {
	hear func([]byte) // gets everything, in pieces that overlap; nil: nobody does
	mu   sync.Mutex
	b    []byte
}

const (
	tailSize = 8 << 10
	overlap  = 1 << 10 // longer than anything that is looked for
)

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hear != nil {
		t.hear(slices.Concat(t.b[max(0, len(t.b)-overlap):], p))
	}
	t.b = append(t.b, p[max(0, len(p)-tailSize):]...)
	t.b = t.b[max(0, len(t.b)-tailSize):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.b), "�")
}

// start runs the server in a process group of its own, so that what it starts ends with it.
func start(o Options) (c *child, in io.WriteCloser, out *os.File, err error) {
	if len(o.Argv) == 0 {
		return nil, nil, nil, errors.New("no command")
	}
	c = &child{cmd: exec.Command(o.Argv[0], o.Argv[1:]...), exited: make(chan struct{})}
	c.tail.hear = o.Hear
	c.cmd.Dir, c.cmd.Env, c.cmd.Stderr = o.Dir, o.Env, &c.tail
	c.cmd.WaitDelay = holding
	grouped(c.cmd)
	if in, err = c.cmd.StdinPipe(); err != nil {
		return nil, nil, nil, err
	}
	out, w, err := os.Pipe() // not StdoutPipe: Wait would close it before the last line is read
	if err != nil {
		return nil, nil, nil, err
	}
	c.cmd.Stdout = w
	err = c.cmd.Start()
	w.Close()
	if err != nil {
		out.Close()
		return nil, nil, nil, err
	}
	go func() { // ends with the process; end waits for it
		c.cmd.Wait()
		close(c.exited)
	}()
	return c, in, out, nil
}

// end waits for the process, then ends it and whatever it started.
func (c *child) end(patience time.Duration) string {
	killed := false
	select {
	case <-c.exited:
	case <-time.After(patience):
		killed = true
	}
	killGroup(c.cmd)
	<-c.exited
	if killed {
		return "had to be ended"
	}
	return c.cmd.ProcessState.String()
}

// pipes carries messages as lines over stdin and stdout.
type pipes struct {
	*child
	in     io.WriteCloser
	out    *os.File
	turn   chan struct{} // holds one who writes
	reader sync.WaitGroup
}

func spawn(c *Conn) (carrier, error) {
	ch, in, out, err := start(c.o)
	if err != nil {
		return nil, err
	}
	p := &pipes{child: ch, in: in, out: out, turn: make(chan struct{}, 1)}
	p.reader.Go(func() { p.read(c) })
	return p, nil
}

func (p *pipes) read(c *Conn) {
	r := bufio.NewReaderSize(p.out, 1<<16)
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > c.o.Line:
			if c.o.See != nil {
				c.o.See(true, line) // what came may hold what should not have come
			}
			c.fail(fmt.Errorf("%w: a message of more than %d bytes", ErrFlood, c.o.Line))
			killGroup(p.cmd)
			return
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case len(bytes.TrimSpace(line)) > 0:
			c.take(line)
		}
		if err != nil {
			p.gone(c)
			return
		}
		if c.Err() != nil {
			killGroup(p.cmd)
			return
		}
		line = line[:0]
		if cap(line) > 1<<20 {
			line = nil
		}
	}
}

// gone says how the process ended, if it does so at once after its output.
func (p *pipes) gone(c *Conn) {
	select {
	case <-p.exited:
		c.fail(p.ended())
	case <-time.After(parting):
		c.fail(fmt.Errorf("%w: it closed its output", ErrGone))
	}
}

// send gives up when ctx ends: a server that does not read would block it for ever.
func (p *pipes) send(ctx context.Context, lines ...[]byte) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ErrDeaf
	}
	if d, ok := p.in.(interface{ SetWriteDeadline(time.Time) error }); ok {
		d.SetWriteDeadline(time.Time{})
		ended := make(chan struct{})
		stop := context.AfterFunc(ctx, func() { d.SetWriteDeadline(time.Now()); close(ended) })
		defer func() {
			if !stop() {
				<-ended // or it would end the next one's writing
			}
		}()
	}
	_, err := p.in.Write(bytes.Join(lines, nil))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrDeaf
	}
	return err
}

func (p *pipes) close(patience time.Duration) string {
	p.in.Close()
	end := p.end(patience)
	p.out.Close() // a process that escaped the group may hold the other side
	p.reader.Wait()
	return end
}

func (p *pipes) stderr() string { return p.tail.String() }
