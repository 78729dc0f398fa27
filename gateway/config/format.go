package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/rule"
)

// Format returns a file in canonical form. The fields of a rule and of a preset have a
// fixed order; indentation is two spaces; there is at most one blank line, and none at
// the end. Comments stay with the field above or beside which they stand. If the file is
// not YAML, Format returns the errors of [Parse].
func Format(file string, content []byte) ([]byte, Errors) {
	r := newReader(file, content)
	root := r.parseTree(content)
	if root == nil || len(r.errs) > 0 {
		return nil, r.errs.sort()
	}
	f := &formatter{lines: r.lines}
	out := strings.Join(f.file(root), "\n") + "\n"
	// Comments and layout are moved by line numbers, so the result is verified.
	again := newReader(file, []byte(out))
	if !root.equal(again.parseTree([]byte(out))) || len(again.errs) > 0 {
		// An unforeseen layout: better no formatting than a changed meaning.
		r.errorf(rule.Pos{Line: 1, Col: 1}, Unsupported, "write each field on a line of its own", "the file cannot be formatted without changing its meaning")
		return nil, r.errs
	}
	return []byte(out), nil
}

// equal reports whether two trees have the same meaning.
func (n *node) equal(o *node) bool {
	// Positions, quotes and comments do not count, nor does the order of fields.
	if n == nil || o == nil {
		return n == o
	}
	if n.kind != o.kind || n.text != o.text || len(n.pairs) != len(o.pairs) || len(n.items) != len(o.items) {
		return false
	}
	for _, p := range n.pairs {
		if !p.value.equal(o.field(p.name)) {
			return false
		}
	}
	for i := range n.items {
		if !n.items[i].equal(o.items[i]) {
			return false
		}
	}
	return true
}

// A formatter moves whole lines, so that it cannot lose comments.
type formatter struct{ lines []string }

// A chunk is a field or an item with its lines.
type chunk struct {
	name  string
	blank bool     // a blank line stands before it
	head  []string // comments above it
	body  []string // the lines of the field or item, with the new indentation
}

// file formats the whole file. Comments above the first field stay at the top.
func (f *formatter) file(root *node) []string {
	// A file in braces has no line per field, so only its indentation and blank lines
	// change.
	if root.kind != mapping || root.flow || len(root.pairs) == 0 {
		return f.reindent(1, len(f.lines)+1, 0, 0)
	}
	first := root.pairs[0].at.Line
	out := f.reindent(1, first, 0, 0)
	if len(out) > 0 && f.isBlank(first-1) {
		out = append(out, "")
	}
	chunks := f.fields(root, first, len(f.lines)+1, 0, topOrder)
	return append(out, joinChunks(chunks)...)
}

// An order is the order of a mapping's fields, and of the mappings below it.
type order struct {
	names []string          // nil: unchanged
	below map[string]*order // the orders of nested mappings, by field; "" stands for any field
}

// topOrder orders the fields of rules and presets only. At the top level, users group fields
// by their own taste.
var topOrder = &order{below: map[string]*order{
	"rules":   {below: map[string]*order{"": {names: ruleShape().names()}}},
	"presets": {below: map[string]*order{"": {names: presetShape().names()}}},
}}

// rank returns the position of a field. Unknown fields come last.
func (o *order) rank(name string) int {
	if i := slices.Index(o.names, name); i >= 0 {
		return i
	}
	return len(o.names)
}

// of returns the order of the mapping below a field, or nil, which keeps the order of the
// file.
func (o *order) of(name string) *order {
	if o == nil {
		return nil
	}
	return cmp.Or(o.below[name], o.below[""])
}

// fields returns the chunks of a mapping in the lines from to until, in their new order.
func (f *formatter) fields(n *node, from, until, indent int, o *order) []chunk {
	var chunks []chunk
	for i, p := range n.pairs {
		// A comment belongs to the field below it, and may begin right after the field
		// above.
		floor, end := from-1, until
		if i > 0 {
			floor = n.pairs[i-1].at.Line
		}
		start := f.commentStart(p.at, floor)
		if i+1 < len(n.pairs) {
			end = f.commentStart(n.pairs[i+1].at, p.at.Line)
		}
		chunks = append(chunks, chunk{
			name: p.name, blank: start > from && f.isBlank(start-1),
			head: f.reindent(start, p.at.Line, 0, indent),
			body: f.field(p, end, indent, o),
		})
	}
	if o != nil && o.names != nil {
		slices.SortStableFunc(chunks, func(a, b chunk) int {
			return cmp.Compare(o.rank(a.name), o.rank(b.name))
		})
	}
	return chunks
}

// field formats a field whose name is on its first line.
func (f *formatter) field(p pair, end, indent int, o *order) []string {
	line, below := p.at.Line, o.of(p.name)
	first := strings.Repeat(" ", indent) + strings.TrimRight(f.lines[line-1][p.at.Col-1:], " \t")
	switch v := p.value; {
	case v.kind == mapping && !v.flow && v.at.Line > line && len(v.pairs) > 0:
		return append([]string{first}, joinChunks(f.fields(v, line+1, end, indent+2, below))...)
	case v.kind == list && !v.flow && v.at.Line > line:
		return append([]string{first}, joinChunks(f.items(v, line+1, end, indent+2, below))...)
	}
	// Block texts and values in brackets move as a whole: their inner layout may have a
	// meaning.
	return append([]string{first}, f.reindent(line+1, end, p.at.Col-1, indent)...)
}

// items returns the chunks of a list.
func (f *formatter) items(n *node, from, until, indent int, o *order) []chunk {
	starts := make([]int, len(n.items)) // lines of the dashes
	for i, item := range n.items {
		starts[i] = item.at.Line
		// An item may begin on the line after its dash.
		for starts[i] > from && !f.isItem(starts[i], n.at.Col) {
			starts[i]--
		}
	}
	var chunks []chunk
	for i, item := range n.items {
		end, start := until, f.commentStart(rule.Pos{Line: starts[i], Col: n.at.Col}, from-1)
		if i > 0 {
			start = max(start, starts[i-1]+1)
		}
		if i+1 < len(n.items) {
			end = f.commentStart(rule.Pos{Line: starts[i+1], Col: n.at.Col}, max(starts[i], item.at.Line))
		}
		c := chunk{blank: start > from && f.isBlank(start-1), head: f.reindent(start, starts[i], 0, indent)}
		if item.kind == mapping && !item.flow && item.at.Line == starts[i] {
			f.item(&c, item, end, indent, o.of(""))
		} else {
			c.body = append([]string{strings.Repeat(" ", indent) + strings.TrimSpace(f.lines[starts[i]-1])}, f.reindent(starts[i]+1, end, n.at.Col-1, indent)...)
		}
		chunks = append(chunks, c)
	}
	return chunks
}

// item formats a mapping that begins behind a dash. The comments above its first field
// move above the dash, because another field may now come first.
func (f *formatter) item(c *chunk, item *node, end, indent int, o *order) {
	chunks := f.fields(item, item.at.Line, end, indent+2, o)
	// The dash stands before the first field, so no comment can be between them.
	for _, h := range chunks[0].head {
		c.head = append(c.head, strings.Repeat(" ", indent)+strings.TrimSpace(h))
	}
	chunks[0].head, chunks[0].blank = nil, false
	c.body = joinChunks(chunks)
	c.body[0] = strings.Repeat(" ", indent) + "- " + c.body[0][indent+2:]
}

// commentStart returns the first line of the comments right above a position. All lines up
// to floor belong to other fields. A comment that is indented further belongs to what stands
// above it.
func (f *formatter) commentStart(at rule.Pos, floor int) int {
	line := at.Line
	for line-1 > floor && strings.HasPrefix(strings.TrimSpace(f.lines[line-2]), "#") && strings.IndexByte(f.lines[line-2], '#') < at.Col {
		line--
	}
	return line
}

// isBlank reports whether a line is empty. Lines outside of the file are not.
func (f *formatter) isBlank(line int) bool {
	return line >= 1 && line <= len(f.lines) && strings.TrimSpace(f.lines[line-1]) == ""
}

// isItem reports whether an item of a list begins in a line.
func (f *formatter) isItem(line, col int) bool {
	s := f.lines[line-1]
	return len(s) >= col && s[col-1] == '-' && strings.TrimSpace(s[:col-1]) == ""
}

// reindent returns the lines from from up to, but not including, until. It changes their
// indentation, removes blank lines at both ends, and keeps at most one in between.
func (f *formatter) reindent(from, until, oldIndent, newIndent int) (out []string) {
	for line := from; line < until && line <= len(f.lines); line++ {
		s := strings.TrimRight(f.lines[line-1], " \t")
		lead := len(s) - len(strings.TrimLeft(s, " "))
		switch {
		case s == "" && (len(out) == 0 || out[len(out)-1] == ""):
			continue
		case s == "":
		// Comments align with the field that they describe, whatever their indentation
		// was.
		case strings.HasPrefix(s[lead:], "#"):
			s = strings.Repeat(" ", newIndent) + s[lead:]
		default:
			s = strings.Repeat(" ", max(lead-oldIndent+newIndent, 0)) + s[lead:]
		}
		out = append(out, s)
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// joinChunks returns the lines of all chunks.
func joinChunks(chunks []chunk) (out []string) {
	for i, c := range chunks {
		if c.blank && i > 0 {
			out = append(out, "")
		}
		out = append(append(out, c.head...), c.body...)
	}
	return out
}
