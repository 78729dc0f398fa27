package config

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Print returns c as a file, with presets and defaults written out and without secrets.
// With origin, a comment behind each value names its origin: file, preset or default.
func (c *Config) Print(origin bool) []byte {
	// A Config that a program built has no origins, and all its values count as defaults.
	p := &printer{origins: c.origins, origin: origin}
	p.mapping(fileShape().print(c), 0, "")
	return []byte(p.b.String())
}

// A printer writes nodes as YAML.
type printer struct {
	b       strings.Builder
	origins map[string]string
	origin  bool
}

// mapping writes the fields of a mapping. The first field of a list item follows the dash.
func (p *printer) mapping(n *node, indent int, path string) {
	for i, f := range n.pairs {
		if i > 0 || path == "" || !p.afterDash() {
			p.b.WriteString(strings.Repeat(" ", indent))
		}
		p.field(f, indent, path)
	}
}

// afterDash reports whether the line begins with the dash of a list.
func (p *printer) afterDash() bool { return strings.HasSuffix(p.b.String(), "- ") }

// field writes a field and everything below it. path leads to its origin.
func (p *printer) field(f pair, indent int, path string) {
	if path != "" {
		path += "."
	}
	path += f.name
	p.b.WriteString(scalar(f.name, false) + ":")
	switch v := f.value; {
	case v.kind == mapping && len(v.pairs) == 0:
		p.b.WriteString(" {}\n")
	case v.kind == mapping:
		p.b.WriteString("\n")
		p.mapping(v, indent+2, path)
	case v.kind == list && !v.flow:
		p.b.WriteString("\n")
		p.list(v, indent+2, path)
	default:
		p.b.WriteString(" " + p.inline(v) + p.comment(v, path) + "\n")
	}
}

// list writes a list of mappings. Print has no other lists that are not in brackets.
func (p *printer) list(n *node, indent int, path string) {
	for i, item := range n.items {
		p.b.WriteString(strings.Repeat(" ", indent) + "- ")
		p.mapping(item, indent+2, path+"."+strconv.Itoa(i))
	}
}

// inline writes a scalar, or a list in brackets.
func (p *printer) inline(n *node) string {
	if n.kind != list {
		return value(n, false)
	}
	items := make([]string, len(n.items))
	for i, item := range n.items {
		items[i] = value(item, true)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// comment returns the comment behind a value.
func (p *printer) comment(n *node, path string) string {
	switch {
	case p.origin:
		return "  # " + p.valueOrigin(path)
	case n.comment != "":
		return "  # " + n.comment
	}
	return ""
}

// valueOrigin returns the origin of the value at a path. Some values are written in short
// form one level up, as in to: http://…; their origin is that of the level above.
func (p *printer) valueOrigin(path string) string {
	if o, ok := p.origins[path]; ok || !strings.Contains(path, ".") {
		return cmp.Or(o, "default")
	}
	up := path[:max(strings.LastIndexByte(path, '.'), 0)]
	suffix := path[len(up)+1:]
	// host and header may be inside of match in the file, and are printed beside it.
	if o, ok := p.origins[up+".match."+suffix]; ok {
		return o
	}
	field := up[strings.LastIndexByte(up, '.')+1:]
	if o, ok := p.origins[up]; ok && (suffix == "url" || field == "message" || field == "header") {
		return o
	}
	if field == "header" {
		return p.valueOrigin(up)
	}
	return "default"
}

// value returns a scalar. Numbers, durations and booleans need no quotes.
func value(n *node, flow bool) string {
	if n.kind == text {
		return scalar(n.text, flow)
	}
	return n.text
}

// plainText and plainFlow match texts that need no quotes, on their own and in a list in
// brackets. otherType matches those that YAML 1.1 reads as another type.
var (
	plainText = regexp.MustCompile(`^[\pL/][\pL\pN/_.{}+*@=,-]*([ :]?[\pL\pN/_.{}+*@=,-]+)*$`)
	plainFlow = regexp.MustCompile(`^[\pL/][\pL\pN/_.+*@=-]*(:?[\pL\pN/_.+*@=-]+)*$`)
	address   = regexp.MustCompile(`^\d+(\.\d+){3}(:\d+|/\d+)$`)
	otherType = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|y|n|null|nan|inf)$`)
)

// scalar returns a text in the simplest form that YAML reads as text. When in doubt it
// quotes: other YAML libraries read more plain texts as numbers, dates or booleans.
func scalar(s string, flow bool) string {
	fits := plainText
	if flow {
		fits = plainFlow
	}
	if len(s) < 200 && fits.MatchString(s) && !otherType.MatchString(s) || address.MatchString(s) {
		return s
	}
	// Single quotes have no backslash escapes, so backslashes stay as they are.
	if !strings.ContainsFunc(s, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case strconv.IsPrint(c):
			b.WriteRune(c)
		case c > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, c)
		default:
			fmt.Fprintf(&b, `\u%04X`, c)
		}
	}
	return `"` + b.String() + `"`
}
