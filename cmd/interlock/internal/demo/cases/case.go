// Package cases lets somebody try what Interlock is for: the same requests to the
// same shop, directly and behind the gateway, told as they happen and judged by
// the checker that the tests use.
package cases

import (
	"net/http"
	"strings"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/shop"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// A Case is something to try.
type Case struct {
	ID    string
	Group Group
	Title i18n.Text
	About i18n.Text
	Rules []string // of the configuration, by their matches
	Lines string   // the file of package lines that does the same in Go

	shots []shot // the requests; {id} in them is new in every run
	want  want
}

// A Group is what belongs together on the page.
type Group string

// The groups.
const (
	Seeds  Group = "seeds"  // the endpoints of the requirements
	Once   Group = "once"   // what must happen once
	OneAt  Group = "one"    // what must happen one at a time
	Scenes Group = "scenes" // of a shop
)

// A shot is one request.
type shot struct {
	method, path, body string
	key                string // for Idempotency-Key
	label              string // what the page calls it
	shared             bool   // it only reads

	at     time.Duration // after the shop began with the first, or
	after  int           // once this one, counted from 1, is answered, or
	inLine bool          // once the one before it is served or stands in line
}

// What should come of a case, behind Interlock.
type want struct {
	ran      int  // how many reach the shop; 0 means all
	replayed int  // at least
	refused  int  // at most: on a busy machine one that comes late is replayed
	ordered  bool // first come, first served
	crowd    bool // several may be inside at a time: they read

	effect func(shop.State, string) effect
}

// An effect is what became of the shop's data.
type effect struct {
	ok   bool
	name i18n.Text
	text i18n.Text
	args []any
}

// Shots returns how many requests it is.
func (c Case) Shots() int { return len(c.shots) }

// Curl returns a line that sends the first of the requests by hand.
func (c Case) Curl(base string) string {
	s := c.shots[0]
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

// demands returns what the checker is asked for beyond exclusion.
func (w want) demands() []history.Option {
	if w.ordered {
		return []history.Option{history.Ordered(0)}
	}
	return nil
}

// Find returns the case with an id.
func Find(id string) (Case, bool) {
	for _, c := range Cases() {
		if c.ID == id {
			return c, true
		}
	}
	return Case{}, false
}
