package config

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
)

// The statuses that not-executed may list. A 2xx means that the request was executed.
const (
	minNotExecuted = 300
	maxNotExecuted = 599
)

// notExecutedField lists statuses by which an upstream says that it did nothing.
var notExecutedField = field[ruleDraft]{
	name: "not-executed", description: "Statuses of the upstream that mean that nothing was done, so that the next request runs; besides 429 and 503.",
	read: func(r *reader, d *ruleDraft, n *node) {
		d.NotExecuted = nil
		for _, item := range r.each(n, "not-executed") {
			status, err := strconv.Atoi(item.text)
			switch {
			case item.kind != number || err != nil:
				r.wrongType(item, "not-executed", "be a list of statuses", "write not-executed: [409, 500]")
			case status < minNotExecuted || status > maxNotExecuted:
				r.errorf(item.at, BadValue, fmt.Sprintf("use %d to %d", minNotExecuted, maxNotExecuted), "not-executed: %d is out of range", status)
			case slices.Contains(d.NotExecuted, status):
				r.errorf(item.at, Duplicate, "remove one", "not-executed has %d twice", status)
			default:
				d.NotExecuted = append(d.NotExecuted, status)
			}
		}
	},
	print: func(d *ruleDraft) *node {
		if len(d.NotExecuted) == 0 {
			return nil
		}
		l := &node{kind: list, flow: true}
		for _, status := range d.NotExecuted {
			l.items = append(l.items, plainNode(strconv.Itoa(status)))
		}
		return l
	},
	schema: func() *jsonschema.Schema {
		return oneOrMore(&jsonschema.Schema{Type: "integer", Minimum: new(float64(minNotExecuted)), Maximum: new(float64(maxNotExecuted))})
	},
}

var keepRedirectsField = boolField("keep-redirects", "Store 3xx responses; without it, 307 and 308 mean that nothing was done, and the outcome of other redirects is unknown.",
	func(d *ruleDraft) *bool { return &d.KeepRedirects })
