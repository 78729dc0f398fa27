package rule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Parse makes a Rule of a verb and the options from [Split]. It reports all mistakes.
// The Rule is valid only if there are none.
func Parse(verb Word, options []Option) (Rule, Errors) {
	p := &parser{at: map[string]Pos{}, wrong: map[string]bool{}, verb: verb}
	p.parse(options)
	for _, m := range p.rule.mistakes(true) {
		p.addMistake(m)
	}
	slices.SortStableFunc(p.errs, func(a, b *ParseError) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Col, b.At.Col))
	})
	return p.rule, p.errs
}

// Load makes a Rule of the text from [Rule.Settings]. The Rule has no key: woven code
// computes the key.
func Load(verb, name, settings string) (Rule, error) {
	options, errs := Split(settings, Pos{1, 1})
	p := &parser{at: map[string]Pos{}, wrong: map[string]bool{}, verb: Word{Text: verb, At: Pos{1, 1}}}
	p.rule.Name = name
	p.errs = errs
	p.parse(options)
	for _, m := range p.rule.mistakes(false) {
		p.addMistake(m)
	}
	return p.rule, p.errs.Err()
}

// ParseLine makes a Rule of a whole line, such as "lock name=pay key=id wait=3s".
func ParseLine(line string) (Rule, Errors) {
	verb, rest, _ := strings.Cut(line, " ")
	options, errs := Split(rest, Pos{1, len(verb) + 2})
	if len(errs) > 0 {
		return Rule{}, errs // everything after an unclosed quote is part of its value
	}
	return Parse(Word{verb, Pos{1, 1}}, options)
}

// Check returns all mistakes of r, or nil.
func (r Rule) Check() error {
	var errs []error
	for _, m := range r.mistakes(true) {
		errs = append(errs, errors.New("rule: "+m.text))
	}
	return errors.Join(errs...)
}

// A parser reads the options of one rule.
type parser struct {
	verb  Word
	rule  Rule
	at    map[string]Pos  // positions of the values
	wrong map[string]bool // options with a reported mistake
	errs  Errors

	last  Option // the option before, or part of its value
	split bool   // last is the start of a value with spaces; that mistake is already reported
}

func (p *parser) parse(options []Option) {
	p.rule.Verb = Verb(p.verb.Text)
	if !slices.Contains(all, p.rule.Verb) {
		return // without a valid verb, the valid options are unknown
	}
	for _, o := range options {
		if p.continues(o) {
			continue
		}
		p.option(o)
		p.last, p.split = o, false
	}
}

// operators are the characters of operators, and the comma.
const operators = "+-*/%&|^<>=!,"

// continues reports whether an option is part of the Go expression before it, as in
// key=a + b, and explains the mistake.
func (p *parser) continues(o Option) bool {
	name, value := p.last.Name.Text, p.last.Value.Text
	if name != "key" && name != "when" && name != "ctx" || value == "" {
		return false
	}
	text := o.Name.Text
	if !o.Bare {
		text += "=" + o.Value.Text
	}
	operator := strings.Trim(text, operators) == ""
	if !operator && (!o.Bare || !p.split && !strings.ContainsAny(value[len(value)-1:], operators)) {
		return false
	}
	if !p.split {
		hint := "leave out the spaces, or put the expression in parentheses"
		if strings.HasSuffix(value, ",") {
			hint = "leave out the spaces"
		}
		p.errorf(p.last.Value.At, "%s=%s %s: a value ends at the first space: %s", name, shorten(value), shorten(text), hint)
		p.wrong[name] = true
	}
	p.split = true
	return true
}

func (p *parser) option(o Option) {
	name, f := o.Name.Text, find(o.Name.Text)
	_, again := p.at[name]
	switch {
	case name == "":
		p.errorf(o.Name.At, "an option has no name before its =: write name=value without spaces around the =")
	case o.Bare && f == nil:
		p.errorf(o.Name.At, "%q is not an option: write name=value, without spaces around the =", shorten(name))
	case o.Bare:
		p.errorf(o.Name.At, "%s has no value: write %s=…", name, name)
		p.wrong[name] = true
	case f == nil:
		p.errorf(o.Name.At, "%s", unknownOption(p.rule.Verb, name))
	case again:
		p.errorf(o.Name.At, "%s is set twice: keep one", name)
	case !slices.Contains(f.verbs, p.rule.Verb):
		p.errorf(o.Name.At, "%s", misplaced(p.rule.Verb, name))
		p.wrong[name] = true
	case o.Value.Text == "":
		p.errorf(o.Value.At, "%s has no value: write %s=…, without a space after the =", name, name)
		p.wrong[name] = true
	default:
		p.at[name] = o.Value.At
		if err := f.set(&p.rule, o.Value.Text); err != nil {
			p.errorf(o.Value.At, "%s", err)
			p.wrong[name] = true
		}
	}
}

// addMistake reports a mistake at the option, or else at the verb.
func (p *parser) addMistake(m mistake) {
	if p.wrong[m.option] {
		return
	}
	at, ok := p.at[m.option]
	if !ok {
		at = p.verb.At
	}
	p.errorf(at, "%s", m.text)
}

func (p *parser) errorf(at Pos, format string, args ...any) {
	p.errs = append(p.errs, &ParseError{at, fmt.Sprintf(format, args...)})
}
