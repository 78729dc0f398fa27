package config

import (
	"github.com/interlock-go/interlock/rule"
)

// A node is a piece of a file, as far as it is read here: what it says and where.
// The YAML library's own tree has three dozen kinds; these are the ones a file may
// have.
type node struct {
	kind  kind
	at    rule.Pos
	text  string // of a scalar
	quote bool   // it is in quotes, or a block: then it is text, whatever it looks like
	flow  bool   // a mapping or list in brackets
	pairs []pair
	items []*node

	comment string // when it is printed: what stands behind it
}

// A pair is a field of a mapping.
type pair struct {
	name  string
	at    rule.Pos
	value *node
}

// A kind is a kind of node.
type kind int

const (
	null    kind = iota // nothing is there
	text                // a text, in quotes or such that it can be nothing else
	number              // plain, and looks like a number
	boolean             // true or false
	mapping
	list
)

// String says what it is, for messages.
func (k kind) String() string {
	return [...]string{"is nothing", "is text", "is a number", "is true or false", "has fields", "is a list"}[k]
}

// scalar tells whether n is a single value.
func (n *node) scalar() bool { return n.kind == text || n.kind == number || n.kind == boolean }

// inside is where the text of a scalar begins: behind its quote, if it has one.
func (n *node) inside() rule.Pos {
	if n.quote {
		return rule.Pos{Line: n.at.Line, Col: n.at.Col + 1}
	}
	return n.at
}

// field returns the value of a field, or nil.
func (n *node) field(name string) *node {
	for _, p := range n.pairs {
		if p.name == name {
			return p.value
		}
	}
	return nil
}
