package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// duration reads a duration within bounds.
func (r *reader) duration(n *node, name string, least, most time.Duration) (time.Duration, bool) {
	if !n.scalar() {
		r.wrongType(n, name, "be a duration", "write "+name+": 3s")
		return 0, false
	}
	d, err := time.ParseDuration(n.text)
	switch {
	// Seconds and milliseconds are both common, so a bare number is never guessed.
	case err != nil && n.kind == number:
		r.errorf(n.at, BadValue, fmt.Sprintf("write %ss or %[1]sms", n.text), "%s: %s has no unit", name, n.text)
	case err != nil:
		r.errorf(n.at, BadValue, "use 3s, 500ms, 2m, 24h", "%s: %s is not a duration", name, quote(n.text))
	case d < least || d > most:
		r.errorf(n.at, BadValue, fmt.Sprintf("use %s to %s", durationText(least), durationText(most)), "%s: %s is out of range", name, quote(n.text))
	default:
		return d, true
	}
	return 0, false
}

// units are the units of sizes, multiples of 1,024.
var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// bytes reads a size within bounds.
func (r *reader) bytes(n *node, name string, least, most int64) (int64, bool) {
	if n.kind != text && n.kind != number {
		r.wrongType(n, name, "be a size", "write "+name+": 1MiB")
		return 0, false
	}
	digits, unit := n.text, int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(n.text, u.name); ok {
			digits, unit = strings.TrimSpace(rest), u.bytes
		}
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil:
		r.errorf(n.at, BadValue, "use bytes, KiB, MiB or GiB, as in 1MiB", "%s: %s is not a size", name, quote(n.text))
	// The division comes first: the product could overflow into the allowed range.
	case v > math.MaxInt64/unit || v*unit < least || v*unit > most:
		r.errorf(n.at, BadValue, fmt.Sprintf("use %s to %s", sizeText(least), sizeText(most)), "%s: %s is out of range", name, quote(n.text))
	default:
		return v * unit, true
	}
	return 0, false
}

// sizeText returns a size in the largest unit that divides it.
func sizeText(v int64) string {
	for _, u := range units {
		if v >= u.bytes && v%u.bytes == 0 {
			return strconv.FormatInt(v/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(v, 10)
}

// durationText returns a duration as a user would write it: 1h, not 1h0m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// plainNode is a value that is printed without quotes.
func plainNode(s string) *node { return &node{kind: number, text: s} }

// textNode is a text; nil if it is empty.
func textNode(s string) *node {
	if s == "" {
		return nil
	}
	return &node{kind: text, text: s}
}

// textList is a list in brackets; nil if it is empty, so that Print leaves it out.
func textList(all []string) *node {
	if len(all) == 0 {
		return nil
	}
	l := &node{kind: list, flow: true}
	for _, s := range all {
		l.items = append(l.items, textNode(s))
	}
	return l
}

// textSchema is the schema of a text. Hints show the first example.
func textSchema(examples ...any) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: new(1), Examples: examples}
}

// durationSchema matches what time.ParseDuration accepts, without a sign.
func durationSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$`, Examples: []any{"3s"}}
}

// sizeSchema accepts a number of bytes, or a text with a unit.
func sizeSchema() *jsonschema.Schema {
	return anyOf(
		&jsonschema.Schema{Type: "integer", Minimum: new(1.0)},
		&jsonschema.Schema{Type: "string", Pattern: `^[0-9]+ *(KiB|MiB|GiB)?$`, Examples: []any{"1MiB"}})
}

// enumSchema is the schema of a text with fixed values, which editors complete.
func enumSchema(all ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range all {
		s.Enum = append(s.Enum, w)
	}
	return s
}

// anyOf is the schema of a field with several forms. Hints use the first.
func anyOf(all ...*jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{AnyOf: all} }

// oneOrMore is a value or a list of such values.
func oneOrMore(s *jsonschema.Schema) *jsonschema.Schema {
	return anyOf(s, &jsonschema.Schema{Type: "array", Items: s.CloneSchemas(), MinItems: new(1)})
}
