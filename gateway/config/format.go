package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/rule"
)

// Format returns a file in its one form: the fields of a rule and of a preset in
// their order, two spaces for each step in, at most one empty line, none at an end.
// Remarks stay with what they stand above or behind. A file that is not YAML is
// told as [Parse] does.
func Format(file string, content []byte) ([]byte, Errors) {
	r := newReader(file, content)
	root := r.parseTree(content)
	if root == nil || len(r.errs) > 0 {
		return nil, r.errs.sort()
	}
	f := &formatter{lines: r.lines}
	out := strings.Join(f.file(root), "\n") + "\n"
	again := newReader(file, []byte(out))
	if !root.equal(again.parseTree([]byte(out))) || len(again.errs) > 0 {
		// The text is laid out in a way that is not foreseen here: better left alone
		// than changed in what it says.
		r.errorf(rule.Pos{Line: 1, Col: 1}, Unsupported, "write each field on a line of its own", "this cannot be formatted without changing what it says")
		return nil, r.errs
	}
	return []byte(out), nil
}

// same tells whether two trees say the same.
func (n *node) equal(o *node) bool {
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

// A formatter moves whole lines, so that nothing in them is lost.
type formatter struct{ lines []string }

// A chunk is a field or an item with its lines.
type chunk struct {
	name  string
	blank bool     // an empty line stands before it
	head  []string // remarks above it
	body  []string // at its new place
}

// file formats everything. What stands above the first field stays at the top.
func (f *formatter) file(root *node) []string {
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

// An order says in which order the fields of a mapping come, and of those below it.
type order struct {
	names []string          // nil: as they are
	below map[string]*order // of fields; "" stands for any
}

var topOrder = &order{below: map[string]*order{
	"rules":   {below: map[string]*order{"": {names: ruleShape().names()}}},
	"presets": {below: map[string]*order{"": {names: presetShape().names()}}},
}}

// rank is where a field comes. One that there is not comes last.
func (o *order) rank(name string) int {
	if i := slices.Index(o.names, name); i >= 0 {
		return i
	}
	return len(o.names)
}

func (o *order) of(name string) *order {
	if o == nil {
		return nil
	}
	return cmp.Or(o.below[name], o.below[""])
}

// fields takes a mapping apart that stands in lines from to until.
func (f *formatter) fields(n *node, from, until, indent int, o *order) []chunk {
	var chunks []chunk
	for i, p := range n.pairs {
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
	return append([]string{first}, f.reindent(line+1, end, p.at.Col-1, indent)...)
}

// items takes a list apart.
func (f *formatter) items(n *node, from, until, indent int, o *order) []chunk {
	starts := make([]int, len(n.items)) // lines of the dashes
	for i, item := range n.items {
		starts[i] = item.at.Line
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

// item formats a mapping that begins behind a dash. What stands above its first
// field stands above the dash.
func (f *formatter) item(c *chunk, item *node, end, indent int, o *order) {
	chunks := f.fields(item, item.at.Line, end, indent+2, o)
	for _, h := range chunks[0].head {
		c.head = append(c.head, strings.Repeat(" ", indent)+strings.TrimSpace(h))
	}
	chunks[0].head, chunks[0].blank = nil, false
	c.body = joinChunks(chunks)
	c.body[0] = strings.Repeat(" ", indent) + "- " + c.body[0][indent+2:]
}

// above returns the first of the remarks that stand right above a place, down from
// the line after floor. One further to the right is about what was before.
func (f *formatter) commentStart(at rule.Pos, floor int) int {
	line := at.Line
	for line-1 > floor && strings.HasPrefix(strings.TrimSpace(f.lines[line-2]), "#") && strings.IndexByte(f.lines[line-2], '#') < at.Col {
		line--
	}
	return line
}

func (f *formatter) isBlank(line int) bool {
	return line >= 1 && line <= len(f.lines) && strings.TrimSpace(f.lines[line-1]) == ""
}

// dash tells whether a list's item begins in a line.
func (f *formatter) isItem(line, col int) bool {
	s := f.lines[line-1]
	return len(s) >= col && s[col-1] == '-' && strings.TrimSpace(s[:col-1]) == ""
}

// shifted returns lines from one until another, moved from an indentation to
// another, without empty ones at either end and with one in between at most.
func (f *formatter) reindent(from, until, was, is int) (out []string) {
	for line := from; line < until && line <= len(f.lines); line++ {
		s := strings.TrimRight(f.lines[line-1], " \t")
		lead := len(s) - len(strings.TrimLeft(s, " "))
		switch {
		case s == "" && (len(out) == 0 || out[len(out)-1] == ""):
			continue
		case s == "":
		case strings.HasPrefix(s[lead:], "#"):
			s = strings.Repeat(" ", is) + s[lead:]
		default:
			s = strings.Repeat(" ", max(lead-was+is, 0)) + s[lead:]
		}
		out = append(out, s)
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// joinChunks puts chunks below each other.
func joinChunks(chunks []chunk) (out []string) {
	for i, c := range chunks {
		if c.blank && i > 0 {
			out = append(out, "")
		}
		out = append(append(out, c.head...), c.body...)
	}
	return out
}
