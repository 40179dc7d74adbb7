// Package source reads the YAML text of a configuration into values without types, each with its place, and collects what
// is wrong with them: every mistake has its line, its column and an excerpt. It does no I/O.
package source

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Node is what this configuration needs of a YAML value: no types, only text, with its place.
type Node struct {
	Kind  Kind
	At    Position
	Text  string // scalar
	Items []*Node
	Keys  []Field
}

// Field is one key of a mapping with its value.
type Field struct {
	Name  string
	At    Position
	Value *Node
}

// Kind is what a node holds.
type Kind uint8

// The kinds.
const (
	Empty Kind = iota
	Scalar
	List
	Mapping
)

func (k Kind) String() string {
	return [...]string{"nothing", "a single value", "a list", "a mapping"}[k]
}

const (
	// Largest is the size of a source in bytes.
	Largest  = 256 << 10 // bytes of a configuration file
	maxNodes = 50_000    // after aliases are replaced
	maxDepth = 32
)

// Parse reads one YAML document. Anchors and aliases work; merge keys and tags are refused.
func Parse(source []byte, p *Problems) *Node {
	if len(source) > Largest {
		p.At(Position{}, "larger than %d bytes", Largest)
		return nil
	}
	if !utf8.Valid(source) {
		p.At(Position{}, "not UTF-8 text")
		return nil
	}
	file, err := parseYAML(source)
	if err != nil {
		var e yaml.Error
		if errors.As(err, &e) {
			text := e.GetMessage()
			if strings.Contains(text, "'\t'") || strings.Contains(text, "tab character") {
				text = "a tab where YAML wants blanks"
			}
			p.At(placeOf(e.GetToken()), "%s", text)
		} else {
			p.At(Position{}, "%v", err)
		}
		return nil
	}
	c := converter{Problems: p, anchors: make(map[string]ast.Node)}
	var root *Node
	for _, doc := range file.Docs {
		if doc == nil || doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if root != nil {
			p.At(c.convert(doc.Body, 0).At, "more than one document in the file")
			return nil
		}
		root = c.convert(doc.Body, 0)
	}
	if len(p.Found) > 0 {
		return nil
	}
	if root == nil {
		root = &Node{At: Position{1, 1}}
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

func placeOf(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{}
	}
	return Position{t.Position.Line, t.Position.Column}
}

type converter struct {
	*Problems
	anchors map[string]ast.Node
	nodes   int
}

func (c *converter) convert(n ast.Node, depth int) *Node {
	if n == nil {
		return &Node{}
	}
	at := placeOf(n.GetToken())
	if c.nodes++; c.nodes > maxNodes || depth > maxDepth {
		if len(c.Found) == 0 {
			c.At(at, "too many or too deeply nested values")
		}
		return &Node{At: at}
	}
	switch n := n.(type) {
	case *ast.TagNode:
		c.At(at, "tags are not used here")
	case *ast.AnchorNode:
		c.anchors[n.Name.GetToken().Value] = n.Value
		return c.convert(n.Value, depth)
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		target, ok := c.anchors[name]
		if !ok {
			c.At(at, "no anchor %q stands before this alias", name)
			return &Node{At: at}
		}
		v := c.convert(target, depth+1)
		return &Node{v.Kind, at, v.Text, v.Items, v.Keys}
	case *ast.NullNode:
		return &Node{At: at}
	case *ast.LiteralNode:
		return &Node{Kind: Scalar, At: at, Text: n.Value.Value}
	case *ast.StringNode:
		return &Node{Kind: Scalar, At: at, Text: n.Value}
	case *ast.SequenceNode:
		out := &Node{Kind: List, At: at}
		for _, v := range n.Values {
			out.Items = append(out.Items, c.convert(v, depth+1))
		}
		return out
	case ast.MapNode:
		return c.mapping(n, at, depth)
	case ast.ScalarNode:
		// Numbers and truth values: their text as written.
		return &Node{Kind: Scalar, At: at, Text: n.GetToken().Value}
	default:
		c.At(at, "%s is not used here", n.Type())
	}
	return &Node{At: at}
}

func (c *converter) mapping(n ast.MapNode, at Position, depth int) *Node {
	out := &Node{Kind: Mapping, At: at}
	seen := make(map[string]bool)
	for it := n.MapRange(); it.Next(); {
		key, ok := it.Key().(ast.Node)
		if !ok {
			continue
		}
		keyAt := placeOf(key.GetToken())
		if len(out.Keys) == 0 && !flow(n) {
			out.At = keyAt // the parser names the first colon
		}
		name, ok := keyText(key)
		if !ok {
			c.At(keyAt, "a key must be a plain word")
			continue
		}
		if seen[name] {
			c.At(keyAt, "key %q stands here twice", name)
			continue
		}
		seen[name] = true
		value := c.convert(it.Value(), depth+1)
		if value.At == (Position{}) || value.Kind == Empty {
			value.At = keyAt
		}
		out.Keys = append(out.Keys, Field{name, keyAt, value})
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

// Word quotes a value of the file for a message.
func Word(s string) string {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return strconv.Quote(s)
}

// Expect reports a node of another kind than wanted.
func (p *Problems) Expect(n *Node, want Kind, what string) bool {
	if n.Kind == want {
		return true
	}
	p.At(n.At, "%s must be %s, not %s", what, want, n.Kind)
	return false
}

// Texts reads a list of words; a single word is a list of one.
func (p *Problems) Texts(n *Node, what string) []*Node {
	switch n.Kind {
	case Empty:
		return nil
	case Scalar:
		return []*Node{n}
	case List:
		for _, item := range n.Items {
			if !p.Expect(item, Scalar, fmt.Sprintf("each entry of %s", what)) {
				return nil
			}
		}
		return n.Items
	}
	p.At(n.At, "%s must be a list of words, not %s", what, n.Kind)
	return nil
}
