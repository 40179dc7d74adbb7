package show

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/mcpfs/wire"
)

// Cursor encodes where a list goes on, for a caller to send back.
func Cursor(next string) string { return base64.RawURLEncoding.EncodeToString([]byte(next)) }

// CutText says in the last line that the text was cut and how to go on.
func CutText(text string, t fileop.Text) (string, map[string]any) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	switch {
	case t.NextLine > 0:
		return text + fmt.Sprintf("[cut before line %d of a file of %d bytes; go on with line: %d]", t.NextLine, t.Size, t.NextLine),
			map[string]any{"line": t.NextLine}
	case t.NextByte < t.Size:
		return text + fmt.Sprintf("[cut at byte %d of a file of %d bytes; go on with offset: %d]", t.NextByte, t.Size, t.NextByte),
			map[string]any{"offset": t.NextByte}
	}
	before := max(0, t.Offset-int64(len(t.Data))) // the last lines: what was cut lies in front
	return text + fmt.Sprintf("[cut: these lines begin at byte %d of a file of %d bytes; what is before them is at offset: %d]", t.Offset, t.Size, before),
		map[string]any{"offset": before}
}

// Skipped says what a walk could not read: in structured data and in a block of its own.
func Skipped(r *wire.Reply, sent string, s fileop.Skipped) {
	if s.Count == 0 {
		return
	}
	list := []map[string]string{}
	text := fmt.Sprintf("[%d places could not be read:", s.Count)
	for i, p := range s.Paths {
		shown := Join(sent, p)
		list = append(list, map[string]string{"path": shown, "reason": string(rootbound.IOError)})
		if i < 5 {
			text += " " + rootbound.Quote(shown)
		}
	}
	if s.Count > 5 {
		text += " …"
	}
	r.Add("skipped", list)
	r.Blocks = append(r.Blocks, text+"]")
}
