package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/rule"
)

// A file is read in four steps:
//
//	parseTree    YAML to nodes with positions          yaml.go, node.go
//	shape.read   nodes to a Config, field by field     shapes.go, field.go, value.go
//	rules        drafts to rules, with their presets   ruledraft.go, rule.go, key.go, option.go, preset.go
//	checkFile    contradictions between settings       check.go
//
// No step stops at the first mistake. Print goes the other way, from a Config to nodes to
// text (print.go).

// A field defines one field of a file. The reader, the printer, the schema and the tables
// in docs/config.md all use this definition, so that they cannot disagree.
type field[T any] struct {
	name        string
	description string
	defaultText string // as written in a file; empty: no default
	required    bool
	read        func(r *reader, to *T, n *node)
	print       func(t *T) *node // returns nil if the field is not set
	schema      func() *jsonschema.Schema
}

// A shape is the set of fields that a mapping may have.
type shape[T any] struct {
	name   string // in messages
	fields []field[T]
	hints  map[string]string // by a wrong name that users try, or by "+name" for a missing required field
}

// read reads a mapping into to, and reports unknown and missing fields.
func (s shape[T]) read(r *reader, to *T, n *node) {
	if n.kind != mapping {
		r.wrongType(n, s.name, "have fields", "write "+s.fields[0].name+": … on a line of its own")
		return
	}
	for _, p := range n.pairs {
		i := slices.IndexFunc(s.fields, func(f field[T]) bool { return f.name == p.name })
		if i < 0 {
			s.unknown(r, p)
			continue
		}
		r.setOrigin(p.name, "file")
		r.within(p.name, func() { s.fields[i].read(r, to, p.value) })
	}
	for _, f := range s.fields {
		if f.required && n.field(f.name) == nil && !n.has(f.name) {
			r.errorf(n.at, Missing, cmp.Or(s.hints["+"+f.name], "add "+f.name+": "+f.example()), "%s has no %s", s.name, f.name)
		}
	}
}

// has reports whether a field of this name exists, even if it is empty.
func (n *node) has(name string) bool {
	return slices.ContainsFunc(n.pairs, func(p pair) bool { return p.name == name })
}

// example returns a value for hints: the default, or an example of the schema.
func (f field[T]) example() string {
	if f.defaultText != "" {
		return f.defaultText
	}
	return schemaExample(f.schema(), "…")
}

// schemaExample returns a value that conforms to a schema, for hints; or the fallback.
func schemaExample(s *jsonschema.Schema, fallback string) string {
	switch {
	case len(s.AnyOf) > 0:
		return schemaExample(s.AnyOf[0], fallback)
	case len(s.Examples) > 0:
		return fmt.Sprint(s.Examples[0])
	case len(s.Enum) > 0:
		return fmt.Sprint(s.Enum[0])
	}
	return fallback
}

// names returns the names of the fields.
func (s shape[T]) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

// unknown reports a field that does not exist, with the one that was probably meant.
func (s shape[T]) unknown(r *reader, p pair) {
	names := s.names()
	switch meant, hint := rule.Meant(p.name, names), s.hints[p.name]; {
	case hint != "":
		r.errorf(p.at, UnknownField, hint, "%s has no field %s", s.name, quote(p.name))
	case meant != "":
		r.errorf(p.at, UnknownField, fmt.Sprintf("did you mean %s?", meant), "%s has no field %s", s.name, quote(p.name))
	case len(names) > 16:
		r.errorf(p.at, UnknownField, "docs/config.md lists the fields", "%s has no field %s", s.name, quote(p.name))
	default:
		r.errorf(p.at, UnknownField, "the fields are "+strings.Join(names, ", "), "%s has no field %s", s.name, quote(p.name))
	}
}

// print returns the fields that are set as a mapping.
func (s shape[T]) print(t *T) *node {
	m := &node{kind: mapping}
	for _, f := range s.fields {
		if v := f.print(t); v != nil {
			m.pairs = append(m.pairs, pair{name: f.name, value: v})
		}
	}
	return m
}

// schemaOf returns the schema of a mapping with these fields and no others.
func (s shape[T]) schemaOf() *jsonschema.Schema {
	o := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{},
		// {"not": {}} accepts nothing: an editor marks a misspelled field at once.
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, f := range s.fields {
		p := f.schema()
		p.Description = f.description
		if f.defaultText != "" {
			p.Description += " Default: " + f.defaultText + "."
		}
		o.Properties[f.name] = p
		o.PropertyOrder = append(o.PropertyOrder, f.name)
		if f.required {
			o.Required = append(o.Required, f.name)
		}
	}
	return o
}

// A stringField is a field with one text.
func stringField[T any](name, about, example string, ptr func(*T) *string) field[T] {
	return field[T]{
		name: name, description: about,
		read: func(r *reader, to *T, n *node) {
			if s, ok := r.text(n, name, example); ok {
				*ptr(to) = s
			}
		},
		print:  func(t *T) *node { return textNode(*ptr(t)) },
		schema: func() *jsonschema.Schema { return textSchema(example) },
	}
}

// A durationField is a field with a duration within bounds.
func durationField[T any](name, about string, def, least, most time.Duration, ptr func(*T) *time.Duration) field[T] {
	return field[T]{
		name: name, description: about, defaultText: durationText(def),
		read: func(r *reader, to *T, n *node) {
			if d, ok := r.duration(n, name, least, most); ok {
				*ptr(to) = d
			}
		},
		print:  func(t *T) *node { return plainNode(durationText(*ptr(t))) },
		schema: func() *jsonschema.Schema { return durationSchema() },
	}
}

// A sizeField is a field with a number of bytes within bounds.
func sizeField[T any, N int | int64](name, about string, def, least, most int64, ptr func(*T) *N) field[T] {
	return field[T]{
		name: name, description: about, defaultText: sizeText(def),
		read: func(r *reader, to *T, n *node) {
			if v, ok := r.bytes(n, name, least, most); ok {
				*ptr(to) = N(v)
			}
		},
		print:  func(t *T) *node { return plainNode(sizeText(int64(*ptr(t)))) },
		schema: sizeSchema,
	}
}

// An intField is a field with a whole number within bounds.
func intField[T any](name, about string, def, least, most int, ptr func(*T) *int) field[T] {
	return field[T]{
		name: name, description: about, defaultText: strconv.Itoa(def),
		read: func(r *reader, to *T, n *node) {
			v, err := strconv.Atoi(n.text)
			switch {
			case n.kind != number || err != nil:
				r.wrongType(n, name, "be a whole number", fmt.Sprintf("write %s: %d", name, def))
			case v < least || v > most:
				r.errorf(n.at, BadValue, fmt.Sprintf("use %d to %d", least, most), "%s: %d is out of range", name, v)
			default:
				*ptr(to) = v
			}
		},
		print: func(t *T) *node { return plainNode(strconv.Itoa(*ptr(t))) },
		schema: func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "integer", Minimum: new(float64(least)), Maximum: new(float64(most))}
		},
	}
}

// A boolField is a field that is true or false.
func boolField[T any](name, about string, ptr func(*T) *bool) field[T] {
	return field[T]{
		name: name, description: about, defaultText: "false",
		read: func(r *reader, to *T, n *node) {
			if n.kind != boolean || n.text != "true" && n.text != "false" {
				r.wrongType(n, name, "be true or false", "write "+name+": true, or leave it out")
				return
			}
			*ptr(to) = n.text == "true"
		},
		print: func(t *T) *node {
			if !*ptr(t) {
				return nil
			}
			return plainNode("true")
		},
		schema: func() *jsonschema.Schema { return &jsonschema.Schema{Type: "boolean"} },
	}
}

// A stringsField is a field with one text or a list of texts.
func stringsField[T any](name, about, example string, ptr func(*T) *[]string) field[T] {
	return field[T]{
		name: name, description: about,
		read: func(r *reader, to *T, n *node) {
			*ptr(to) = nil
			for _, item := range r.each(n, name) {
				if s, ok := r.text(item, name, example); ok {
					*ptr(to) = append(*ptr(to), s)
				}
			}
		},
		print:  func(t *T) *node { return textList(*ptr(t)) },
		schema: func() *jsonschema.Schema { return oneOrMore(textSchema(example)) },
	}
}

// An optionalSection is a field with fields of its own; nil if the file does not have it.
func optionalSection[T, U any](name, about string, s shape[U], create func() *U, ptr func(*T) **U) field[T] {
	return field[T]{
		name: name, description: about,
		read: func(r *reader, to *T, n *node) {
			*ptr(to) = create()
			s.read(r, *ptr(to), n)
		},
		print: func(t *T) *node {
			if *ptr(t) == nil {
				return nil
			}
			return s.print(*ptr(t))
		},
		schema: s.schemaOf,
	}
}

// A section is a field with fields of its own; without it, their defaults apply.
func section[T, U any](name, about string, s shape[U], ptr func(*T) *U) field[T] {
	return field[T]{
		name: name, description: about,
		read:   func(r *reader, to *T, n *node) { s.read(r, ptr(to), n) },
		print:  func(t *T) *node { return s.print(ptr(t)) },
		schema: s.schemaOf,
	}
}

// required returns the field as one that a file must have.
func required[T any](f field[T]) field[T] {
	f.required = true
	return f
}

// each returns the items of a list; a single value is a list of one.
func (r *reader) each(n *node, name string) []*node {
	switch {
	case n.kind != list:
		return []*node{n}
	case len(n.items) == 0:
		r.errorf(n.at, Missing, "leave it out, or add an item", "%s is an empty list", name)
	}
	return n.items
}
