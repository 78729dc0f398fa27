package weave

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// An edit replaces a range of the source; the range is empty for an insertion.
type edit struct {
	from, to int
	text     string
}

// A splicer collects the edits of a file and preserves positions: a line directive after
// each edit restores the position of the following source.
type splicer struct {
	fset   *token.FileSet
	file   *token.File
	src    []byte
	mapped bool // the source has its own line directives
	plain  bool // write no line directives, because people read the text
	edits  []edit
	tail   strings.Builder // text to append after the last line
}

// line returns a line directive for pos.
func (s *splicer) line(pos token.Pos) string {
	if s.plain {
		return ""
	}
	p := s.fset.PositionFor(pos, true)
	name := ""
	if s.mapped {
		name = p.Filename // without a name, that of the previous line directive would apply
	}
	if p.Column == 0 {
		return fmt.Sprintf("/*line %s:%d*/", name, p.Line)
	}
	return fmt.Sprintf("/*line %s:%d:%d*/", name, p.Line, p.Column)
}

// lineWithFile returns a line directive with the file name, which later line directives inherit.
func (s *splicer) lineWithFile(pos token.Pos) string {
	if s.plain {
		return ""
	}
	p := s.fset.PositionFor(pos, true)
	if p.Column == 0 {
		return fmt.Sprintf("/*line %s:%d*/", p.Filename, p.Line)
	}
	return fmt.Sprintf("/*line %s:%d:%d*/", p.Filename, p.Line, p.Column)
}

func (s *splicer) insert(at token.Pos, text string) { s.replace(at, at, text) }

func (s *splicer) replace(from, to token.Pos, text string) {
	s.edits = append(s.edits, edit{s.file.Offset(from), s.file.Offset(to), text + s.line(to)})
}

// text returns the source with all edits.
func (s *splicer) text() []byte {
	slices.SortStableFunc(s.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var out []byte
	last := 0
	for _, e := range s.edits {
		out = append(out, s.src[last:e.from]...)
		out = append(out, e.text...)
		last = e.to
	}
	out = append(out, s.src[last:]...)
	return append(out, s.tail.String()...)
}
