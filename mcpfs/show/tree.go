package show

import (
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/mcpfs/wire"
)

// Tree writes the nodes of a depth-first walk as nested JSON, two blanks a level, until bound bytes are passed; at least one
// node that was on no page before. It gives the text and how many nodes are in it.
func Tree(nodes []fileop.Branch, bound int) (string, int) {
	if len(nodes) == 0 {
		return "[]", 0
	}
	b := make([]byte, 0, min(bound+1024, len(nodes)*80+64))
	b = append(b, '[')
	depth, used := 1, 0 // of the list that is open
	open := true        // the list that is open is still empty
	fresh := false
	for _, n := range nodes {
		if len(b) > bound && fresh {
			break
		}
		fresh = fresh || !n.Before
		for ; depth > n.Depth; depth-- {
			b, open = closeList(b, depth, open), false
		}
		if !open {
			b = append(b, ',')
		}
		dir := n.Dir || n.Reach
		b = indent(b, 2*depth-1)
		b = append(b, '{')
		b = append(indent(b, 2*depth), `"name": `...)
		b = append(wire.AppendJSON(b, rootbound.Listed(n.Name)), ',')
		b = append(indent(b, 2*depth), `"type": `...)
		if !dir {
			b = append(b, `"file"`...)
			b = append(indent(b, 2*depth-1), '}')
			open = false
		} else {
			b = append(b, `"directory",`...)
			if n.Before {
				b = append(indent(b, 2*depth), `"continued": true,`...)
			}
			if n.Closed {
				b = append(indent(b, 2*depth), `"truncated": true,`...)
			}
			b = append(indent(b, 2*depth), `"children": [`...)
			depth, open = depth+1, true
		}
		used++
	}
	for ; depth > 1; depth-- {
		b, open = closeList(b, depth, open), false
	}
	return string(append(b, "\n]"...)), used
}

// closeList ends the children of a directory and the directory.
func closeList(b []byte, depth int, empty bool) []byte {
	if !empty {
		b = indent(b, 2*depth-2)
	}
	b = append(b, ']')
	return append(indent(b, 2*depth-3), '}')
}

func indent(b []byte, levels int) []byte {
	b = append(b, '\n')
	for ; levels > 0; levels-- {
		b = append(b, ' ', ' ')
	}
	return b
}
