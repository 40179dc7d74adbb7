package serve

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// undeclared refuses what belongs to capabilities that this server does not declare: the SDK answers some of it with empty
// lists all the same, and a client that asks in spite of the handshake should learn that there is nothing to ask for.
func undeclared(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "prompts/list", "prompts/get", "logging/setLevel":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this server has no " + method}
		}
		return next(ctx, method, req)
	}
}

// nothingElse answers completions of what is not our template: there is no prompt, and no other resource.
func nothingElse(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is nothing of that name to complete; resources/templates/list shows what can be completed"}
}
