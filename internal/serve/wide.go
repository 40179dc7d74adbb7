package serve

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/mcpscope/pipe"
)

// wideFrom is from how many bytes of structured content on an answer is encoded and written with the processors that Widen
// gives.
const wideFrom = 256 << 10

// wide has a large answer encoded and written beside other calls: on one processor each of their steps would wait until the
// scheduler takes it from the encoder, which is 10 ms a step. The request's context ends when the answer was written, or
// cannot be.
func wide(widen func() (narrow func())) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if widen != nil && pipe.Size(res) >= wideFrom {
				context.AfterFunc(ctx, widen())
			}
			return res, err
		}
	}
}
