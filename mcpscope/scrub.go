package mcpscope

import (
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/rootbound/rootbound"
)

// unmarshalText begins the texts in which the SDK quotes all parameters; errUnfit stands in their place.
const (
	unmarshalText = "unmarshaling "
	errUnfit      = "the parameters do not fit the method"
)

// maxErrorText bounds the message of an error that leaves through a Pipe, in bytes.
const maxErrorText = 1024

// scrubWire is the last look at an error before it leaves. Errors of the SDK itself come here without having passed the
// middleware: code 0, and texts that quote every parameter.
func scrubWire(err error) *jsonrpc.Error {
	out := &jsonrpc.Error{Message: err.Error()}
	var we *jsonrpc.Error
	if errors.As(err, &we) {
		out.Code, out.Data = we.Code, we.Data
	}
	if strings.Contains(out.Message, unmarshalText) {
		out.Code, out.Message = jsonrpc.CodeInvalidParams, errUnfit
	}
	if out.Code == 0 {
		out.Code = jsonrpc.CodeInvalidRequest
	}
	out.Message = bounded(out.Message, maxErrorText)
	return out
}

// bounded escapes a text and cuts it to about n bytes.
func bounded(s string, n int) string {
	if len(s) <= n && plain(s) {
		return s
	}
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "…"
	}
	return rootbound.Clean(s)
}

// plain: printable ASCII, which is what nearly all of it is.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
