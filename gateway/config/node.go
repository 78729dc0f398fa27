package config

import (
	"github.com/interlock-go/interlock/rule"
)

// A node is a value of a file with its position. The YAML library's tree has three dozen
// kinds of nodes; a configuration needs only these.
type node struct {
	kind  kind
	at    rule.Pos
	text  string // the text of a scalar
	quote bool   // the scalar is in quotes or a block, so it is text, even if it looks like a number
	flow  bool   // the mapping or list is in brackets; for a null: its mistake is already reported
	pairs []pair
	items []*node

	comment string // printed behind the value
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
	null    kind = iota // no value
	text                // in quotes, or not readable as another kind
	number              // unquoted, and readable as a number
	boolean             // true or false
	mapping
	list
)

// String returns a predicate for messages.
func (k kind) String() string {
	// The order is that of the constants.
	return [...]string{"is empty", "is text", "is a number", "is true or false", "has fields", "is a list"}[k]
}

// scalar reports whether n is a single value.
func (n *node) scalar() bool { return n.kind == text || n.kind == number || n.kind == boolean }

// inside returns the position of a scalar's text, behind its opening quote.
func (n *node) inside() rule.Pos {
	if n.quote {
		return rule.Pos{Line: n.at.Line, Col: n.at.Col + 1}
	}
	return n.at
}

// field returns the value of a field, or nil.
// Mappings are short, so a scan is enough.
func (n *node) field(name string) *node {
	for _, p := range n.pairs {
		if p.name == name {
			return p.value
		}
	}
	return nil
}
