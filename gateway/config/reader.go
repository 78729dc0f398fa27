package config

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/rule"
)

// A reader reads one file, and collects its mistakes.
type reader struct {
	file    string
	lines   []string
	errs    Errors
	warned  Errors // settings that are valid but probably a mistake
	getenv  func(string) (string, bool)
	path    []string              // fields from the top to the current one
	origins map[string]string     // where each value comes from, by path
	presets map[string]*ruleDraft // the file's own

	ruleList, presetMap *node
	incomplete          bool // a rule could not be read
}

// newReader splits the file into lines for excerpts, with LF line ends.
func newReader(file string, content []byte) *reader {
	content = bytes.TrimPrefix(content, []byte("\uFEFF")) // a byte order mark, which some editors write
	return &reader{
		file: file, lines: strings.Split(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n"),
		getenv: os.LookupEnv, origins: map[string]string{}, presets: map[string]*ruleDraft{},
	}
}

// errorf adds a mistake, and a hint what to write instead.
func (r *reader) errorf(at rule.Pos, code Code, hint, format string, args ...any) {
	r.errs = append(r.errs, r.mistake(at, code, hint, format, args...))
}

// warnf adds a warning, and a hint what to write instead. A file with warnings is valid.
func (r *reader) warnf(at rule.Pos, code Code, hint, format string, args ...any) {
	r.warned = append(r.warned, r.mistake(at, code, hint, format, args...))
}

// mistake returns a mistake with an excerpt of its line.
func (r *reader) mistake(at rule.Pos, code Code, hint, format string, args ...any) *ParseError {
	m := &ParseError{File: r.file, At: at, Code: code, Text: fmt.Sprintf(format, args...), Hint: hint}
	// The line may contain a URL with a password, and messages end up in logs.
	if at.Line >= 1 && at.Line <= len(r.lines) {
		m.Excerpt = redact(r.lines[at.Line-1])
	}
	return m
}

// secretError reports a secret in the file without showing it: messages end up in logs
// and tickets.
func (r *reader) secretError(n *node, hint, text string) {
	r.errorf(n.at, WrongType, hint, "%s", text)
	// redact finds passwords in URLs only, and a bare secret looks like any other text.
	m := r.errs[len(r.errs)-1]
	m.Excerpt = strings.ReplaceAll(m.Excerpt, n.text, "***")
}

// hide keeps a value that may be a secret out of excerpts. The columns stay the same.
func (r *reader) hide(n *node) {
	for _, item := range n.items {
		r.hide(item)
	}
	for word := range strings.FieldsSeq(n.text) {
		// A block of text ends on a later line.
		for i := max(0, n.at.Line-1); i < len(r.lines); i++ {
			r.lines[i] = strings.ReplaceAll(r.lines[i], word, strings.Repeat("*", len(word)))
		}
	}
}

// within calls read with a field's name added to the path.
func (r *reader) within(name string, read func()) {
	r.path = append(r.path, name)
	read()
	r.path = r.path[:len(r.path)-1]
}

// setOrigin records the origin of a field's value.
func (r *reader) setOrigin(name, origin string) {
	// Clip keeps append from writing into the array of the path.
	r.origins[strings.Join(append(slices.Clip(r.path), name), ".")] = origin
}

// wrongType reports a value of another kind than the field needs.
func (r *reader) wrongType(n *node, name, want, hint string) {
	if n.kind == null {
		if n.flow {
			return // already reported, such as an alias
		}
		r.errorf(n.at, Missing, hint, "%s has no value", name)
		return
	}
	r.errorf(n.at, WrongType, hint, "%s %s, but must %s", name, n.kind, want)
}

// text returns a text of one line, or reports what it is instead.
func (r *reader) text(n *node, name, example string) (string, bool) {
	hint := "write " + name + ": " + example
	switch {
	// An unquoted 0123 is a number in YAML. In quotes it keeps its zero.
	case n.kind == number, n.kind == boolean:
		r.errorf(n.at, WrongType, fmt.Sprintf("write it in quotes: %q", n.text), "%s %s, but must be text", name, n.kind)
	// YAML reads {path.id} as a mapping.
	case n.kind == mapping && n.flow:
		r.errorf(n.at, WrongType, "put a value that begins with { in quotes", "%s %s, but must be text", name, n.kind)
	case n.kind != text:
		r.wrongType(n, name, "be text", hint)
	case n.text == "":
		r.errorf(n.at, Missing, "leave it out, or "+hint, "%s is empty", name)
	case strings.ContainsFunc(n.text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.errorf(n.at, BadValue, "write it on one line, without tabs", "%s contains a control character", name)
	default:
		return n.text, true
	}
	return "", false
}

// variable matches a reference to an environment variable.
var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// variableName is the name of a variable in POSIX. Defaults such as ${A:-b} are not
// supported.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expanded is text with ${NAME} replaced from the environment.
func (r *reader) expanded(n *node, name, example string) (string, bool) {
	s, ok := r.text(n, name, example)
	if !ok || !strings.Contains(s, "${") {
		return s, ok
	}
	at := n.inside()
	for _, m := range variable.FindAllStringSubmatchIndex(s, -1) {
		pos := rule.Pos{Line: at.Line, Col: at.Col + m[0]}
		name := s[m[2]:m[3]]
		// All variables are checked before the first is replaced, to report every missing
		// one.
		value, set := r.getenv(name)
		switch {
		case !variableName.MatchString(name):
			r.errorf(pos, BadValue, "write ${REDIS_URL}", "${%s} is not the name of an environment variable", truncate(name))
			ok = false
		// An empty value usually means that a deployment lacks a secret.
		case !set || value == "":
			r.errorf(pos, Unset, "set it, or write the value itself", "the environment variable %s is not set", name)
			ok = false
		case strings.Contains(value, "${"):
			r.errorf(pos, BadValue, "give it a value without ${", "the environment variable %s refers to another one", name)
			ok = false
		}
	}
	if !ok {
		return "", false
	}
	// Values are not expanded again: an environment variable cannot name another.
	s = variable.ReplaceAllStringFunc(s, func(m string) string {
		value, _ := r.getenv(m[2 : len(m)-1])
		return value
	})
	if strings.Contains(s, "${") {
		r.errorf(n.at, BadValue, "write ${REDIS_URL}", "%s contains ${ without a closing }", name)
		return "", false
	}
	return s, true
}

// quote returns a value of the file for a message, in quotes if it is long, empty or not
// printable.
func quote(s string) string {
	if s == "" || len(s) > 40 || strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || !strconv.IsPrint(c) }) {
		return strconv.Quote(truncate(s))
	}
	return s
}

// truncate cuts a value of the file after 40 bytes, to keep messages readable.
func truncate(s string) string {
	if len(s) <= 40 {
		return s
	}
	return strings.ToValidUTF8(s[:40], "") + "…"
}
