package wire

import (
	"context"
	"encoding/json"
)

// Pending is a request on its way.
type Pending struct {
	c  *Conn
	id int64
	ch chan message
}

// Post sends a request without waiting for its answer. version names the era of this request; empty is the connection's.
func (c *Conn) Post(ctx context.Context, version, method string, params map[string]any) (*Pending, error) {
	p := &Pending{c: c, id: c.next.Add(1), ch: make(chan message, 1)}
	c.mu.Lock()
	c.wait[p.id] = p.ch
	c.mu.Unlock()
	if version == "" {
		version = c.o.Version
	}
	req := map[string]any{"jsonrpc": "2.0", "id": p.id, "method": method}
	if params = c.envelope(version, params); params != nil {
		req["params"] = params
	}
	return p, c.send(ctx, req)
}

// Wait waits for the answer. The error is an *RPCError, ErrSilent when ctx ended first, or what ended the connection.
func (p *Pending) Wait(ctx context.Context) (json.RawMessage, error) {
	select {
	case m := <-p.ch:
		return done(m)
	default:
	}
	select {
	case m := <-p.ch:
		return done(m)
	case <-ctx.Done():
		p.c.mu.Lock()
		delete(p.c.wait, p.id)
		p.c.mu.Unlock()
		return nil, ErrSilent
	case <-p.c.gone:
		select {
		case m := <-p.ch: // it came before the end
			return done(m)
		default:
			return nil, p.c.Err()
		}
	}
}

func done(m message) (json.RawMessage, error) {
	if m.Error != nil {
		return nil, m.Error
	}
	return m.Result, nil
}

// envelope adds what the modern era wants in each request.
func (c *Conn) envelope(version string, params map[string]any) map[string]any {
	if version != Modern {
		return params
	}
	with := map[string]any{"_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion":    Modern,
		"io.modelcontextprotocol/clientInfo":         clientInfo(),
		"io.modelcontextprotocol/clientCapabilities": c.capabilities(version),
	}}
	for k, v := range params {
		with[k] = v
	}
	return with
}

func (c *Conn) capabilities(version string) map[string]any {
	switch {
	case c.o.Roots == nil || version != c.o.Version: // a request of the other era declares nothing
		return map[string]any{}
	case version == Modern:
		return map[string]any{"roots": struct{}{}}
	}
	return map[string]any{"roots": map[string]bool{"listChanged": true}}
}

func clientInfo() map[string]string {
	return map[string]string{"name": "rootbound-probe", "version": "1"}
}

// Request is Post and Wait.
func (c *Conn) Request(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	p, err := c.Post(ctx, "", method, params)
	if err != nil {
		return nil, err
	}
	return p.Wait(ctx)
}

// Hello does the handshake of the connection's era and returns what the server says of itself.
func (c *Conn) Hello(ctx context.Context) (json.RawMessage, error) {
	if c.o.Version == Modern {
		return c.Request(ctx, "server/discover", nil)
	}
	res, err := c.Request(ctx, "initialize", map[string]any{
		"protocolVersion": c.o.Version, "capabilities": c.capabilities(c.o.Version), "clientInfo": clientInfo(),
	})
	if err != nil {
		return nil, err
	}
	return res, c.send(ctx, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

// RootsChanged tells a legacy server that the list changed; in the modern era there is nothing to tell.
func (c *Conn) RootsChanged(ctx context.Context) error {
	if c.o.Version == Modern {
		return nil
	}
	return c.send(ctx, map[string]any{"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
}
