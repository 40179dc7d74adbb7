package pipe

import (
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/rootbound/rootbound"
)

// ErrUnfit stands in place of the texts in which the SDK quotes all parameters.
const ErrUnfit = "the parameters do not fit the method: a field is missing, or of another type than the protocol gives it"

// MaxErrorText bounds the message of an error that leaves through a Pipe, in bytes.
const MaxErrorText = 1024

// Unreadable tells a text in which the SDK quotes all parameters, because it could not decode them.
func Unreadable(text string) bool { return strings.Contains(text, "unmarshaling ") }

// scrub is the last look at an error before it leaves. Errors of the SDK itself come here without having passed the
// middleware: code 0, and texts that quote every parameter.
func scrub(err error) *jsonrpc.Error {
	out := &jsonrpc.Error{Message: err.Error()}
	var we *jsonrpc.Error
	if errors.As(err, &we) {
		out.Code, out.Data = we.Code, we.Data
	}
	if Unreadable(out.Message) {
		out.Code, out.Message = jsonrpc.CodeInvalidParams, ErrUnfit
	}
	if out.Code == 0 {
		out.Code = jsonrpc.CodeInvalidRequest
	}
	out.Message = Bounded(out.Message, MaxErrorText)
	return out
}

// otherEra says what takes the place of a method in the era that is spoken on a pipe: legacy where an initialize was answered;
// empty: nothing does.
func otherEra(method string, legacy bool) string {
	switch {
	case legacy && method == "subscriptions/listen":
		return "; resources/subscribe takes its place before 2026-07-28"
	case legacy && method == "server/discover":
		return "; the answer to initialize has told it before 2026-07-28"
	case legacy:
	case method == "resources/subscribe", method == "resources/unsubscribe":
		return "; subscriptions/listen takes its place in 2026-07-28"
	case method == "ping":
		return "; 2026-07-28 has none, and server/discover is answered at any time"
	}
	return ""
}

// Bounded escapes a text and cuts it to about n bytes.
func Bounded(s string, n int) string {
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
