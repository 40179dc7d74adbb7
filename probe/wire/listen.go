package wire

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
)

// astray is how long a server may listen somewhere else only, before it is given up: one that has a second socket opens
// both at about the same time.
const astray = 5 * time.Second

// listening waits until somebody accepts connections there. It ends before ctx does when the process has ended, and when it
// listens elsewhere and not there.
func listening(ctx context.Context, address string, ch *child) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	look, since, where := began.Add(time.Second), time.Time{}, []string(nil)
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
		if err == nil {
			return conn.Close()
		}
		if now := time.Now(); now.After(look) {
			if where = sockets(ch.cmd.Process.Pid); len(where) == 0 {
				since = time.Time{}
			} else if since.IsZero() {
				since = now
			}
			look = now.Add(time.Second)
		}
		if !since.IsZero() && time.Since(since) > astray {
			return ch.unheard("nobody listens at %s; the server listens at %s (is {port} where its command takes the port?)", u.Host, strings.Join(where, ", "))
		}
		select {
		case <-tick.C:
		case <-ch.exited:
			return ch.ended()
		case <-ctx.Done():
			return ch.unheard("nobody listened at %s within %s, and the server still runs", u.Host, time.Since(began).Round(time.Second))
		}
	}
}

func (c *child) unheard(format string, a ...any) error {
	return &Parting{fmt.Errorf("%w: "+format, append([]any{ErrReach}, a...)...), c.tail.String()}
}
