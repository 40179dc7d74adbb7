package wire

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Lead adds what to do to the SDK's refusal of parameters, behind a semicolon as our own errors of the protocol have it.
// Other errors are given back as they are.
func Lead(err error, next string) error {
	var we *jsonrpc.Error
	if !errors.As(err, &we) || we.Code != jsonrpc.CodeInvalidParams {
		return err
	}
	return &jsonrpc.Error{Code: we.Code, Message: we.Message + "; " + next, Data: we.Data}
}

// NoPage is the refusal of a cursor of a protocol's list, of which the SDK says only that parameters are not valid.
func NoPage(err error) error {
	var we *jsonrpc.Error
	if !errors.As(err, &we) || we.Code != jsonrpc.CodeInvalidParams {
		return err
	}
	return &jsonrpc.Error{Code: we.Code, Message: "not a cursor of this list; leave it out to begin with the first page", Data: we.Data}
}
