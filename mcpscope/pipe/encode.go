package pipe

import (
	"bufio"
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// encode is jsonrpc.EncodeMessage, without reading the result of an answer once more: the SDK has just written it, and a
// large one takes longer to read than to copy.
func encode(msg jsonrpc.Message) ([]byte, error) {
	res, ok := msg.(*jsonrpc.Response)
	if !ok || res.Error != nil || len(res.Result) == 0 || bytes.IndexByte(res.Result, '\n') >= 0 {
		return jsonrpc.EncodeMessage(msg)
	}
	id, err := json.Marshal(res.ID.Raw())
	if err != nil {
		return nil, err
	}
	const head, middle, tail = `{"jsonrpc":"2.0","id":`, `,"result":`, `}`
	line := make([]byte, 0, len(head)+len(id)+len(middle)+len(res.Result)+len(tail)+1)
	line = append(append(append(line, head...), id...), middle...)
	return append(append(line, res.Result...), tail...), nil
}

// readLine returns the next line in memory of its own, or reports that it was longer than limit and was skipped.
func readLine(r *bufio.Reader, limit int) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !long && len(line)+len(part) <= limit {
			line = append(line, part...)
		} else {
			line, long = nil, true
		}
		if err != bufio.ErrBufferFull {
			return line, long, err
		}
	}
}
