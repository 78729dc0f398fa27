package weave

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/rule"
)

// A directive is a directive comment above a function.
type directive struct {
	pos  token.Pos // of its slashes
	verb string
	fn   *ast.FuncDecl

	rule rule.Rule
	key  []expr
	when *expr
	ctx  *expr
	call *expr // on-timeout=call:… or on-limit=call:…

	shared string // the variable of the context that it shares with other directives, or ""
}

// directives parses all directives of a file, in order.
func (w *weaver) directives() []*directive {
	owners := w.owners()
	var all []*directive
	for _, group := range w.tree.Comments {
		for _, c := range group.List {
			if !w.isDirective(c) {
				continue
			}
			if d := w.directive(c, owners[c]); d != nil {
				all = append(all, d)
			}
		}
	}
	return all
}

// owners maps comments to their declarations.
func (w *weaver) owners() map[*ast.Comment]ast.Decl {
	owners := map[*ast.Comment]ast.Decl{}
	for _, decl := range w.tree.Decls {
		var doc *ast.CommentGroup
		switch d := decl.(type) {
		case *ast.FuncDecl:
			doc = d.Doc
		case *ast.GenDecl:
			doc = d.Doc
		}
		if doc == nil {
			continue
		}
		for _, c := range doc.List {
			owners[c] = decl
		}
	}
	return owners
}

// isDirective reports whether a comment is a directive, and reports near misses as mistakes.
func (w *weaver) isDirective(c *ast.Comment) bool {
	if strings.HasPrefix(c.Text, "//"+prefix) {
		return true
	}
	line := strings.HasPrefix(c.Text, "//")
	rest := strings.TrimLeft(c.Text[2:], " \t")
	if len(rest) <= len(prefix) || !strings.EqualFold(rest[:len(prefix)], prefix) {
		return false
	}
	verb := verbOf(rest[len(prefix):])
	switch {
	case !known(verb): // probably prose
	case !line:
		w.errorf(c.Slash, "a directive is a line comment: write //%s%s", prefix, verb)
	default:
		w.errorf(c.Slash, "not a directive: write //%s%s, in lower case and without a space after the slashes", prefix, verb)
	}
	return false
}

func verbOf(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_' })
	if end < 0 {
		end = len(s)
	}
	return s[:end]
}

// directive parses a directive, or returns nil.
func (w *weaver) directive(c *ast.Comment, owner ast.Decl) *directive {
	text := c.Text[len("//"+prefix):]
	d := &directive{pos: c.Slash, verb: verbOf(text)}
	rest := text[len(d.verb):]
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		w.errorf(c.Slash, "//%s%s: want a verb (lock, once, submit or limit) followed by a space", prefix, text)
		return nil
	}
	fn, ok := owner.(*ast.FuncDecl)
	if !ok {
		w.errorf(c.Slash, "//%s%s is not attached to a function: put it directly above a func declaration, with no blank line between", prefix, d.verb)
		return nil
	}
	d.fn = fn
	return w.parse(d, rest, len("//"+prefix)+len(d.verb))
}

// parse parses the options, which begin at an offset in the directive. Package rule parses
// all of them; parse also checks the Go expressions.
func (w *weaver) parse(d *directive, text string, offset int) *directive {
	opts, errs := rule.Split(text, rule.Pos{Line: 1, Col: offset + 1})
	if len(errs) == 0 {
		d.rule, errs = rule.Parse(rule.Word{Text: d.verb, At: rule.Pos{Line: 1, Col: 1}}, opts)
	}
	wrong := map[rule.Pos]bool{}
	for _, e := range errs {
		wrong[e.At] = true
		w.mistake(d, d.at(e.At), "%s", e.Text)
	}
	for _, o := range opts {
		if !wrong[o.Name.At] && !wrong[o.Value.At] {
			w.interpret(d, option{o.Name.Text, o.Value.Text, d.at(o.Value.At)})
		}
	}
	if len(errs) > 0 {
		return nil
	}
	return d
}

// at converts a position in the directive to one in the file.
func (d *directive) at(p rule.Pos) token.Pos { return d.pos + token.Pos(p.Col-1) }

// An option is a name and a value.
type option struct {
	name, value string
	at          token.Pos // of the value
}

// interpret parses an option with a Go expression.
func (w *weaver) interpret(d *directive, o option) {
	switch o.name {
	case "key":
		d.key = w.keys(d, o)
	case "when":
		d.when = w.single(d, o)
	case "ctx":
		d.ctx = w.single(d, o)
	case "on-timeout", "on-limit":
		if fn, ok := strings.CutPrefix(o.value, "call:"); ok {
			d.call = w.single(d, option{o.name, fn, o.at + token.Pos(len("call:"))})
		}
	}
}

// guards reports whether the directive is a guard.
func (d *directive) guards() bool { return d.rule.Verb.Guards() }

// method returns the method of a call that the directive becomes.
func (d *directive) method() string {
	switch d.rule.Verb {
	case rule.Lock:
		return "Lock"
	case rule.Limit:
		return "Limit"
	}
	return "Once"
}

// mistake reports a mistake in a directive.
func (w *weaver) mistake(d *directive, pos token.Pos, format string, args ...any) {
	w.errorf(pos, "//"+prefix+d.verb+": "+format, args...)
}

func known(verb string) bool {
	return slices.Contains([]rule.Verb{rule.Lock, rule.Once, rule.Submit, rule.Limit}, rule.Verb(verb))
}
