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
	maxFile     = 1 << 20 // bytes of a file: more is not written by hand
	maxDepth    = 32      // fields and lists inside each other
	maxBrackets = 500     // brackets, dashes and colons in a row
)

// tree makes nodes of a file. It returns nil if nothing can be read in it.
func (r *reader) parseTree(content []byte) *node {
	switch {
	case len(content) > maxFile:
		r.errorf(rule.Pos{Line: 1, Col: 1}, Syntax, "use one of at most 1 MiB", "the file has %d bytes", len(content))
		return nil
	case !utf8.Valid(content):
		r.errorf(r.invalidUTF8(content), Syntax, "save the file as UTF-8", "this is not UTF-8")
		return nil
	case tooDeep(r.lines):
		r.errorf(rule.Pos{Line: 1, Col: 1}, Syntax, "no field is deeper than six", "there are more than %d brackets inside each other, or in a line", maxBrackets)
		return nil
	}
	if at, ok := r.control(); ok {
		r.errorf(at, Syntax, "leave it out", "there is a control character here")
		return nil
	}
	file, err := parseYAML([]byte(strings.Join(r.lines, "\n") + "\n")) // whose line ends are all alike
	if err != nil {
		r.syntax(err)
		return nil
	}
	return r.document(file)
}

// parse does not let a slip in the YAML library end a gateway that reads its file
// again.
func parseYAML(content []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("this cannot be read as YAML")
		}
	}()
	return parser.ParseBytes(content, 0, parser.AllowDuplicateMapKey())
}

// invalid returns where a text stops being UTF-8.
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

// control finds what no YAML has in it, and no terminal should.
func (r *reader) control() (rule.Pos, bool) {
	for i, line := range r.lines {
		if col := strings.IndexFunc(line, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f || c >= 0x80 && c < 0xa0 }); col >= 0 {
			return rule.Pos{Line: i + 1, Col: col + 1}, true
		}
	}
	return rule.Pos{}, false
}

// tooDeep counts what a parser goes down for: so many steps would end the process.
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

// syntax says what the YAML library found wrong.
func (r *reader) syntax(err error) {
	at, what := rule.Pos{Line: 1, Col: 1}, err.Error()
	if s, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		at, what = r.pos(s.Token), s.Message
	}
	hint := "look at the indentation, quotes and colons here and on the line before"
	switch {
	case strings.Contains(what, "'\t'"):
		what, hint = "a tab cannot indent in YAML", "use spaces"
	case strings.Contains(what, "end character of double-quoted"), strings.Contains(what, "end character of single-quoted"):
		what, hint = "a quote is never closed", "close it on the same line"
	case strings.Contains(what, "flow map"), strings.Contains(what, "'}'"):
		hint = "put a value that begins with { in quotes"
	case strings.Contains(what, "sequence end token"), strings.Contains(what, "']'"):
		hint = "close the list with ]"
	}
	r.errorf(at, Syntax, hint, "%s", what)
}

func (r *reader) document(file *ast.File) *node {
	var body *node
	for i, d := range file.Docs {
		if i > 0 && (d.Body != nil || d.Start != nil) {
			at := rule.Pos{Line: 1, Col: 1}
			if d.Start != nil {
				at = r.pos(d.Start)
			}
			r.errorf(at, Unsupported, "keep one, and leave out the ---", "a second document begins here")
			break
		}
		if d.Body != nil {
			body = r.node(d.Body, 0)
		}
	}
	if body == nil || body.kind == null {
		r.errorf(rule.Pos{Line: 1, Col: 1}, Missing, "begin with what interlock config init prints", "the file is empty")
		return nil
	}
	return body
}

// node makes a node of the YAML library's.
func (r *reader) node(n ast.Node, depth int) *node {
	if n == nil {
		return &node{at: rule.Pos{Line: 1, Col: 1}}
	}
	at := r.pos(n.GetToken())
	if depth > maxDepth {
		r.errorf(at, Syntax, "no field is deeper than six", "there are more than %d fields and lists inside each other", maxDepth)
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
		r.errorf(at, Unsupported, "write the value where it is used; what several rules share goes into presets", "anchors (&) are not read here")
		return r.node(n.Value, depth+1)
	case *ast.AliasNode:
		r.errorf(at, Unsupported, "write the value itself; what several rules share goes into presets", "aliases (*) are not read here")
	case *ast.TagNode:
		r.errorf(at, Unsupported, "leave it out; put text that looks like something else in quotes", "tags (!) are not read here")
		return r.node(n.Value, depth+1)
	default:
		r.errorf(at, Unsupported, "write name: value", "this is not read here")
	}
	return &node{kind: null, at: at, flow: true} // what is wrong with it has been said
}

// glued returns the text that an item of a list is in truth. The YAML library takes
// redis://a:6379 for a field if there are braces around the list; in YAML a colon
// makes one only with a space behind it.
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

// tight tells whether a plain name has a colon right behind it, and the colon no
// space.
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
	if r.colonWithoutSpace(v) {
		r.errorf(at, Syntax, "put a space behind the colon, or the whole in quotes", "%s is followed by a colon without a space", quote(name.Value))
	}
	for _, p := range m.pairs {
		if p.name == name.Value {
			r.errorf(at, Duplicate, fmt.Sprintf("keep one; the other is on line %d", p.at.Line), "%s is there twice", quote(name.Value))
			return
		}
	}
	m.pairs = append(m.pairs, pair{name.Value, at, r.node(v.Value, depth+1)})
}

// key says why something cannot be the name of a field.
func (r *reader) badName(k ast.MapKeyNode, at rule.Pos) {
	switch k.(type) {
	case *ast.MergeKeyNode:
		r.errorf(at, Unsupported, "write the fields themselves; what several rules share goes into presets", "merge keys (<<) are not read here")
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		r.errorf(at, Unsupported, "write the name itself", "a field's name has no anchor, alias or tag")
	default:
		r.errorf(at, WrongType, "put it in quotes if it is a name", "%s is not a name", quote(k.GetToken().Value))
	}
}

// pos returns where a token is. The YAML library counts characters, and we bytes.
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
