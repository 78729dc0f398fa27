// Package cases sends the same requests to the same shop, directly and behind the
// gateway. It reports events as they happen, and checks each run with the history
// checker of the tests.
package cases

import (
	"net/http"
	"strings"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/shop"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// A Case is a scenario of the demo's page.
type Case struct {
	ID      string
	Group   Group
	Title   i18n.Text
	About   i18n.Text
	Rules   []string // the matches of its rules in the configuration
	Snippet string   // the file of package snippets with the same in Go

	calls []call // every run replaces {id} by a new ID
	want  want
}

// A Group is a section of the page's navigation.
type Group string

// The groups.
const (
	Submit Group = "submit" // duplicate submissions
	Once   Group = "once"   // requests that must run once
	OneAt  Group = "one"    // requests that must run one at a time
	Scenes Group = "scenes" // scenes of a shop
)

// A call is a request of a case.
type call struct {
	method, path, body string
	key                string // the Idempotency-Key
	label              string // on the page
	shared             bool   // a read, which may overlap with others

	at     time.Duration // sent this long after the first request entered the shop, or
	after  int           // sent when this request, counted from 1, is answered, or
	queued bool          // sent when the previous request runs or is queued
}

// want is the expected result of a case behind Interlock.
type want struct {
	ran         int  // requests that reach the shop; 0: all
	replayed    int  // minimum
	refused     int  // maximum: on a busy machine, a late request is replayed instead
	ordered     bool // first come, first served
	sharedReads bool // reads may overlap

	effect func(shop.State, string) effect
}

// An effect is a finding about the shop's data after a run.
type effect struct {
	ok   bool
	name i18n.Text
	text i18n.Text
	args []any
}

// Requests returns the number of requests.
func (c Case) Requests() int { return len(c.calls) }

// Curl returns a command that sends the first request. It has fixed numbers in place of
// {id} and {n}, so that a reader can repeat it.
func (c Case) Curl(base string) string {
	s := c.calls[0]
	fill := strings.NewReplacer("{id}", "42", "{n}", "1").Replace
	line := "curl -i"
	if s.method != http.MethodGet {
		line += " -X " + s.method
	}
	if s.key != "" {
		line += " -H 'Idempotency-Key: payment-of-order-42'"
	}
	if s.body != "" {
		line += " -H 'Content-Type: application/json' -d '" + fill(s.body) + "'"
	}
	return line + " '" + base + fill(s.path) + "'"
}

// checks returns the history checks beyond exclusion.
func (w want) checks() []history.Option {
	if w.ordered {
		return []history.Option{history.Ordered(0)}
	}
	return nil
}

// Find returns the case with an ID.
func Find(id string) (Case, bool) {
	for _, c := range Cases() {
		if c.ID == id {
			return c, true
		}
	}
	return Case{}, false
}
