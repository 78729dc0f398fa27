package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/interlock-go/interlock/rule"
)

const (
	maxFile     = 1 << 20 // bytes; no file written by hand is longer
	maxDepth    = 32      // nested fields and lists
	maxBrackets = 500     // brackets, dashes and colons in a line, which make the library recurse
)

// parseTree parses a file into nodes. It returns nil if the file is not YAML.
func (r *reader) parseTree(content []byte) *node {
	switch {
	case len(content) > maxFile:
		r.errorf(rule.Pos{Line: 1, Col: 1}, Syntax, "use at most 1 MiB", "the file is too large: it has %d bytes", len(content))
		return nil
	case !utf8.Valid(content):
		r.errorf(r.invalidUTF8(content), Syntax, "save the file as UTF-8", "the file is not UTF-8")
		return nil
	case tooDeep(r.lines):
		r.errorf(rule.Pos{Line: 1, Col: 1}, Syntax, "no field is nested deeper than six levels", "the file has more than %d brackets nested or in one line", maxBrackets)
		return nil
	}
	if at, ok := r.control(); ok {
		r.errorf(at, Syntax, "remove it", "the file contains a control character")
		return nil
	}
	file, err := parseYAML([]byte(strings.Join(r.lines, "\n") + "\n")) // with LF line ends
	if err != nil {
		r.syntax(err)
		return nil
	}
	return r.document(file)
}

// parseYAML calls the YAML library, and recovers its panics: a bug in it must not end a
// gateway that reloads its file.
func parseYAML(content []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the file is not valid YAML")
		}
	}()
	// reader.pair reports duplicates itself, with the line of the first.
	return parser.ParseBytes(content, 0, parser.AllowDuplicateMapKey())
}

// invalidUTF8 returns the position of the first byte that is not UTF-8.
func (r *reader) invalidUTF8(content []byte) rule.Pos {
	before := 0
	for before < len(content) {
		c, n := utf8.DecodeRune(content[before:])
		if c == utf8.RuneError && n == 1 {
			break
		}
		before += n
	}
	line := strings.Count(string(content[:before]), "\n")
	return rule.Pos{Line: line + 1, Col: before - strings.LastIndexByte(string(content[:before]), '\n')}
}

// control returns the position of the first control character. YAML allows none, and an
// excerpt must not send one to a terminal.
func (r *reader) control() (rule.Pos, bool) {
	for i, line := range r.lines {
		if col := strings.IndexFunc(line, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f || c >= 0x80 && c < 0xa0 }); col >= 0 {
			return rule.Pos{Line: i + 1, Col: col + 1}, true
		}
	}
	return rule.Pos{}, false
}

// tooDeep reports whether the YAML library would recurse too deeply on these lines. A
// stack overflow cannot be recovered.
func tooDeep(lines []string) bool {
	depth := 0
	for _, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		depth += strings.Count(line, "[") + strings.Count(line, "{") - strings.Count(line, "]") - strings.Count(line, "}")
		depth = max(depth, 0)
		row := 0
		for _, opening := range []string{"[", "{", "- ", "? ", ": "} {
			row = max(row, strings.Count(line, opening))
		}
		if depth > maxBrackets || row > maxBrackets {
			return true
		}
	}
	return false
}

// syntax reports an error of the YAML library, in clearer words where it can.
func (r *reader) syntax(err error) {
	at, what := rule.Pos{Line: 1, Col: 1}, err.Error()
	if s, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		at, what = r.pos(s.Token), s.Message
	}
	hint := "check indentation, quotes and colons of this line and the one before"
	switch {
	case strings.Contains(what, "'\t'"):
		what, hint = "YAML does not allow tabs for indentation", "use spaces"
	case strings.Contains(what, "end character of double-quoted"), strings.Contains(what, "end character of single-quoted"):
		what, hint = "a quote is not closed", "close it on the same line"
	case strings.Contains(what, "flow map"), strings.Contains(what, "'}'"):
		hint = "put a value that begins with { in quotes"
	case strings.Contains(what, "sequence end token"), strings.Contains(what, "']'"):
		hint = "close the list with ]"
	}
	r.errorf(at, Syntax, hint, "%s", what)
}

// document returns the only document of a file.
func (r *reader) document(file *ast.File) *node {
	var body *node
	for i, d := range file.Docs {
		if i > 0 && (d.Body != nil || d.Start != nil) {
			at := rule.Pos{Line: 1, Col: 1}
			if d.Start != nil {
				at = r.pos(d.Start)
			}
			r.errorf(at, Unsupported, "keep one document, and remove the ---", "a second document begins here")
			break
		}
		if d.Body != nil {
			body = r.node(d.Body, 0)
		}
	}
	if body == nil || body.kind == null {
		r.errorf(rule.Pos{Line: 1, Col: 1}, Missing, "start with the output of interlock config init", "the file is empty")
		return nil
	}
	return body
}

// node converts a node of the YAML library.
func (r *reader) node(n ast.Node, depth int) *node {
	if n == nil {
		return &node{at: rule.Pos{Line: 1, Col: 1}}
	}
	at := r.pos(n.GetToken())
	if depth > maxDepth {
		r.errorf(at, Syntax, "no field is nested deeper than six levels", "more than %d fields and lists are nested", maxDepth)
		return &node{at: at}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		m := &node{kind: mapping, at: at, flow: n.IsFlowStyle}
		for i, v := range n.Values {
			if i == 0 && !n.IsFlowStyle {
				m.at = r.pos(v.Key.GetToken())
			}
			r.pair(m, v, depth)
		}
		return m
	case *ast.MappingValueNode:
		m := &node{kind: mapping, at: r.pos(n.Key.GetToken())}
		r.pair(m, n, depth)
		return m
	case *ast.SequenceNode:
		l := &node{kind: list, at: at, flow: n.IsFlowStyle}
		for _, v := range n.Values {
			if text := r.plainText(v); text != nil && n.IsFlowStyle {
				l.items = append(l.items, text)
				continue
			}
			l.items = append(l.items, r.node(v, depth+1))
		}
		return l
	}
	return r.leaf(n, at, depth)
}

// leaf converts a scalar, and reports the YAML that is not supported.
func (r *reader) leaf(n ast.Node, at rule.Pos, depth int) *node {
	switch n := n.(type) {
	case *ast.NullNode:
		return &node{at: at}
	case *ast.BoolNode:
		return &node{kind: boolean, at: at, text: n.GetToken().Value}
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return &node{kind: number, at: at, text: n.GetToken().Value}
	case *ast.StringNode:
		t := n.GetToken().Type
		return &node{kind: text, at: at, text: n.Value, quote: t == token.DoubleQuoteType || t == token.SingleQuoteType}
	case *ast.LiteralNode:
		return &node{kind: text, at: at, text: strings.TrimSuffix(n.Value.Value, "\n"), quote: true}
	case *ast.AnchorNode:
		r.errorf(at, Unsupported, "write the value where it is used; share settings of rules with presets", "anchors (&) are not supported")
		return r.node(n.Value, depth+1)
	case *ast.AliasNode:
		r.errorf(at, Unsupported, "write the value itself; share settings of rules with presets", "aliases (*) are not supported")
	case *ast.TagNode:
		r.errorf(at, Unsupported, "remove it; put text that looks like a number in quotes", "tags (!) are not supported")
		return r.node(n.Value, depth+1)
	default:
		r.errorf(at, Unsupported, "write name: value", "this kind of YAML is not supported")
	}
	return &node{kind: null, at: at, flow: true} // already reported
}

// plainText returns the text of a list item that the YAML library misreads. In a list in
// brackets it takes redis://a:6379 for a field, although YAML requires a space behind the
// colon of a field. It returns nil for any other item.
func (r *reader) plainText(n ast.Node) *node {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) == 1 && !m.IsFlowStyle {
		n = m.Values[0]
	}
	v, ok := n.(*ast.MappingValueNode)
	if !ok || !r.colonWithoutSpace(v) {
		return nil
	}
	at := r.pos(v.Key.GetToken())
	rest := r.lines[at.Line-1][at.Col-1:]
	if end := strings.IndexAny(rest, ",]"); end >= 0 {
		rest = rest[:end]
	}
	return &node{kind: text, at: at, text: strings.TrimSpace(rest)}
}

// colonWithoutSpace reports whether a field's name is unquoted, and its colon has no
// space behind it.
func (r *reader) colonWithoutSpace(v *ast.MappingValueNode) bool {
	key, ok := v.Key.(*ast.StringNode)
	if !ok || v.Start == nil || v.Start.Value != ":" || key.GetToken().Type != token.StringType {
		return false
	}
	colon := r.pos(v.Start)
	line := r.lines[colon.Line-1]
	return colon.Col < len(line) && !strings.ContainsRune(" \t,]}", rune(line[colon.Col]))
}

// pair adds a field to a mapping.
func (r *reader) pair(m *node, v *ast.MappingValueNode, depth int) {
	at := r.pos(v.Key.GetToken())
	name, ok := v.Key.(*ast.StringNode)
	if !ok {
		r.badName(v.Key, at)
		return
	}
	// The library takes a:b for a field, although YAML requires the space.
	if r.colonWithoutSpace(v) {
		r.errorf(at, Syntax, "put a space behind the colon, or put the whole text in quotes", "the colon behind %s has no space after it", quote(name.Value))
	}
	for _, p := range m.pairs {
		if p.name == name.Value {
			r.errorf(at, Duplicate, fmt.Sprintf("keep one; the other is on line %d", p.at.Line), "the field %s occurs twice", quote(name.Value))
			return
		}
	}
	m.pairs = append(m.pairs, pair{name.Value, at, r.node(v.Value, depth+1)})
}

// badName reports a key that is not the name of a field.
func (r *reader) badName(k ast.MapKeyNode, at rule.Pos) {
	switch k.(type) {
	case *ast.MergeKeyNode:
		r.errorf(at, Unsupported, "write the fields themselves; share settings of rules with presets", "merge keys (<<) are not supported")
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		r.errorf(at, Unsupported, "write the name itself", "anchors, aliases and tags are not supported in the name of a field")
	default:
		r.errorf(at, WrongType, "put it in quotes if it is a name", "%s is not the name of a field", quote(k.GetToken().Value))
	}
}

// pos returns the position of a token. The YAML library counts columns in characters,
// this package in bytes.
func (r *reader) pos(t *token.Token) rule.Pos {
	if t == nil || t.Position == nil {
		return rule.Pos{Line: 1, Col: 1}
	}
	line := min(max(t.Position.Line, 1), max(len(r.lines), 1))
	col, left := 1, t.Position.Column-1
	if line <= len(r.lines) {
		for _, c := range r.lines[line-1] {
			if left <= 0 {
				break
			}
			col += utf8.RuneLen(c)
			left--
		}
	}
	return rule.Pos{Line: line, Col: col}
}
