package config

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// node is what this configuration needs of a YAML value: no types, only text, with its place.
type node struct {
	kind  kind
	at    position
	text  string // scalar
	items []*node
	keys  []field
}

type field struct {
	name  string
	at    position
	value *node
}

type kind uint8

const (
	empty kind = iota
	scalar
	list
	mapping
)

func (k kind) String() string {
	return [...]string{"nothing", "a single value", "a list", "a mapping"}[k]
}

const (
	maxSource = 256 << 10 // bytes of a configuration file
	maxNodes  = 50_000    // after aliases are replaced
	maxDepth  = 32
)

// parse reads one YAML document. Anchors and aliases work; merge keys and tags are refused.
func parse(source []byte, p *problems) *node {
	if len(source) > maxSource {
		p.at(position{}, "larger than %d bytes", maxSource)
		return nil
	}
	if !utf8.Valid(source) {
		p.at(position{}, "not UTF-8 text")
		return nil
	}
	file, err := parseYAML(source)
	if err != nil {
		var e yaml.Error
		if errors.As(err, &e) {
			p.at(placeOf(e.GetToken()), "%s", e.GetMessage())
		} else {
			p.at(position{}, "%v", err)
		}
		return nil
	}
	c := converter{problems: p, anchors: make(map[string]ast.Node)}
	var root *node
	for _, doc := range file.Docs {
		if doc == nil || doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if root != nil {
			p.at(c.convert(doc.Body, 0).at, "more than one document in the file")
			return nil
		}
		root = c.convert(doc.Body, 0)
	}
	if len(p.found) > 0 {
		return nil
	}
	if root == nil {
		root = &node{at: position{1, 1}}
	}
	return root
}

// parseYAML turns a panic of the parser into an error: a configuration must not end the program.
func parseYAML(source []byte) (file *ast.File, err error) {
	defer func() {
		if v := recover(); v != nil {
			file, err = nil, errors.New("cannot be read as YAML")
		}
	}()
	return parser.ParseBytes(source, 0, parser.AllowDuplicateMapKey()) // reported by convert
}

func placeOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{}
	}
	return position{t.Position.Line, t.Position.Column}
}

type converter struct {
	*problems
	anchors map[string]ast.Node
	nodes   int
}

func (c *converter) convert(n ast.Node, depth int) *node {
	if n == nil {
		return &node{}
	}
	at := placeOf(n.GetToken())
	if c.nodes++; c.nodes > maxNodes || depth > maxDepth {
		if len(c.found) == 0 {
			c.at(at, "too many or too deeply nested values")
		}
		return &node{at: at}
	}
	switch n := n.(type) {
	case *ast.TagNode:
		c.at(at, "tags are not used here")
	case *ast.AnchorNode:
		c.anchors[n.Name.GetToken().Value] = n.Value
		return c.convert(n.Value, depth)
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		target, ok := c.anchors[name]
		if !ok {
			c.at(at, "no anchor %q stands before this alias", name)
			return &node{at: at}
		}
		v := c.convert(target, depth+1)
		return &node{v.kind, at, v.text, v.items, v.keys}
	case *ast.NullNode:
		return &node{at: at}
	case *ast.LiteralNode:
		return &node{kind: scalar, at: at, text: n.Value.Value}
	case *ast.StringNode:
		return &node{kind: scalar, at: at, text: n.Value}
	case *ast.SequenceNode:
		out := &node{kind: list, at: at}
		for _, v := range n.Values {
			out.items = append(out.items, c.convert(v, depth+1))
		}
		return out
	case ast.MapNode:
		return c.mapping(n, at, depth)
	case ast.ScalarNode:
		// Numbers and truth values: their text as written.
		return &node{kind: scalar, at: at, text: n.GetToken().Value}
	default:
		c.at(at, "%s is not used here", n.Type())
	}
	return &node{at: at}
}

func (c *converter) mapping(n ast.MapNode, at position, depth int) *node {
	out := &node{kind: mapping, at: at}
	seen := make(map[string]bool)
	for it := n.MapRange(); it.Next(); {
		key, ok := it.Key().(ast.Node)
		if !ok {
			continue
		}
		keyAt := placeOf(key.GetToken())
		if len(out.keys) == 0 && !flow(n) {
			out.at = keyAt // the parser names the first colon
		}
		name, ok := keyText(key)
		if !ok {
			c.at(keyAt, "a key must be a plain word")
			continue
		}
		if seen[name] {
			c.at(keyAt, "key %q stands here twice", name)
			continue
		}
		seen[name] = true
		value := c.convert(it.Value(), depth+1)
		if value.at == (position{}) || value.kind == empty {
			value.at = keyAt
		}
		out.keys = append(out.keys, field{name, keyAt, value})
	}
	return out
}

func flow(n ast.MapNode) bool {
	m, ok := n.(*ast.MappingNode)
	return ok && m.IsFlowStyle
}

func keyText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// word quotes a value of the file for a message.
func word(s string) string {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return strconv.Quote(s)
}

// expect reports a node of another kind than wanted.
func (p *problems) expect(n *node, want kind, what string) bool {
	if n.kind == want {
		return true
	}
	p.at(n.at, "%s must be %s, not %s", what, want, n.kind)
	return false
}

// texts reads a list of words; a single word is a list of one.
func (p *problems) texts(n *node, what string) []*node {
	switch n.kind {
	case empty:
		return nil
	case scalar:
		return []*node{n}
	case list:
		for _, item := range n.items {
			if !p.expect(item, scalar, fmt.Sprintf("each entry of %s", what)) {
				return nil
			}
		}
		return n.items
	}
	p.at(n.at, "%s must be a list of words, not %s", what, n.kind)
	return nil
}
