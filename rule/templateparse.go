package rule

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParseTemplate parses a template that begins at the given position. Its error is a
// *[ParseError] with the column of the mistake.
func ParseTemplate(text string, at Pos) (*Template, error) {
	p := &templateParser{text: text}
	if err := p.parse(); err != nil {
		return nil, &ParseError{Pos{at.Line, at.Col + err.off}, err.text}
	}
	return &Template{text: text, pieces: p.pieces}, nil
}

// A templateParser reads one template.
type templateParser struct {
	text        string
	pieces      []piece
	literal     []byte // the text since the last part; escaped, except its colons
	partAllowed bool   // a part may follow: literal has a colon, or there was no part yet
}

// A templateMistake is a mistake in a template with its byte offset.
type templateMistake struct {
	off  int
	text string
}

func mistakeAt(offset int, format string, args ...any) *templateMistake {
	return &templateMistake{offset, fmt.Sprintf(format, args...)}
}

func (p *templateParser) parse() *templateMistake {
	if err := p.checkText(); err != nil {
		return err
	}
	p.partAllowed = true // no separator is needed before the first part
	for i := 0; i < len(p.text); {
		rest := p.text[i:]
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			p.literal = AppendEscaped(p.literal, rest[:1])
			i += 2
		case rest[0] == '}':
			return mistakeAt(i, "this } closes nothing: write }} for a literal brace")
		case rest[0] == '{':
			n, err := p.part(i)
			if err != nil {
				return err
			}
			i += n
		default:
			p.char(rest[0])
			i++
		}
	}
	p.flush()
	return nil
}

// checkText refuses characters that no key may have.
func (p *templateParser) checkText() *templateMistake {
	switch t := p.text; {
	case t == "":
		return mistakeAt(0, "the key is empty: write what identifies the locked object, such as pay:{path.id}")
	case !utf8.ValidString(t):
		return mistakeAt(0, "the key is not UTF-8: save the file as UTF-8")
	case strings.ContainsFunc(t, unicode.IsControl):
		return mistakeAt(strings.IndexFunc(t, unicode.IsControl), "the key contains a control character: remove it")
	case t[0] == ':':
		return mistakeAt(0, "the key begins with a colon: is a part missing?")
	case strings.HasSuffix(t, ":"):
		return mistakeAt(len(t)-1, "the key ends in a colon: is a part missing?")
	case strings.Contains(t, "::"):
		return mistakeAt(strings.Index(t, "::"), "there is nothing between two colons: is a part missing?")
	}
	return nil
}

// char adds a byte of literal text.
func (p *templateParser) char(c byte) {
	if c == ':' {
		p.partAllowed = true
		p.literal = append(p.literal, c)
		return
	}
	p.literal = AppendEscaped(p.literal, string([]byte{c}))
}

// part parses the part at an offset, and returns its length.
func (p *templateParser) part(offset int) (int, *templateMistake) {
	inside, _, closed := strings.Cut(p.text[offset+1:], "}")
	if !closed {
		return 0, mistakeAt(offset, "this { is not closed: write {path.id}, or {{ for a literal brace")
	}
	if !p.partAllowed {
		return 0, mistakeAt(offset, "put a colon before {%s}: otherwise different values could make the same key", shorten(inside))
	}
	where, name, dotted := strings.Cut(inside, ".")
	place := Location(where)
	switch {
	case inside == "":
		return 0, mistakeAt(offset, "{} names no part of the request: write {path.id}, {header.X-Tenant} or {body.order.no}")
	case !slices.Contains(locations, place):
		return 0, mistakeAt(offset+1, "%s", unknownPlace(where))
	case !dotted || name == "":
		return 0, mistakeAt(offset+1, "{%s} has no name after the location: write {%s.name}", shorten(inside), where)
	}
	name, typ, typed := strings.Cut(name, ":")
	if typed && !slices.Contains(types, Type(typ)) {
		return 0, mistakeAt(offset+1+len(where)+1+len(name)+1, "%s", unknownType(typ))
	}
	if bad := badName(place, name); bad >= 0 {
		return 0, mistakeAt(offset+1+len(where)+1+bad, "%q cannot name a part of %s: use letters, digits, dashes and underscores", shorten(name), place)
	}
	p.flush()
	p.pieces = append(p.pieces, piece{place: place, name: name, typ: Type(typ)})
	p.partAllowed = false
	return len(inside) + 2, nil
}

func unknownPlace(where string) string { return unknown("location", where, locations) }
func unknownType(typ string) string    { return unknown("type", typ, types) }

// unknown returns the message for a word that is not in a list. It suggests a similar
// word from the list.
func unknown[W ~string](what, value string, words []W) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	if near := nearest(value, list); near != "" {
		return fmt.Sprintf("unknown %s %q (did you mean %s?)", what, shorten(value), near)
	}
	return fmt.Sprintf("unknown %s %q: use %s", what, shorten(value), strings.Join(list, ", "))
}

// badName returns the offset of an invalid character in a name, or -1. Dots separate the
// names of nested fields. Bars separate alternative headers.
func badName(place Location, name string) int {
	for i, c := range name {
		switch {
		case c == '.' && place != Body && place != JWT && place != Query:
			return i
		case c == '|' && (place != Header || i == 0 || i == len(name)-1 || name[i-1] == '|'):
			return i
		case c == '.' && (i == 0 || i == len(name)-1 || name[i-1] == '.'):
			return i
		case c == '.' || c == '|' || c == '-' || c == '_' || unicode.IsDigit(c):
		case unicode.IsLetter(c) && (c < utf8.RuneSelf || place == Body || place == JWT || place == Query):
		default:
			return i
		}
	}
	return -1
}

// flush ends the current literal piece.
func (p *templateParser) flush() {
	if len(p.literal) > 0 {
		p.pieces = append(p.pieces, piece{literal: string(p.literal)})
		p.literal = nil
	}
}
