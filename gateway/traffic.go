package gateway

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/histogram"
)

// Traffic are the counters of a gateway since it was made. A reload continues them.
type Traffic struct {
	InFlight  int64                    // requests that are being answered now
	Rules     map[string]RuleTraffic   // by the rule's name; "" for requests that no rule handled
	Upstreams map[string]ServerTraffic // by the server's host and port
}

// RuleTraffic are the requests that the rules of one name handled, by [Event.Outcome].
// Requests that no rule handled have one of the outcomes unmatched, refused and token.
type RuleTraffic map[string]uint64

// ServerTraffic are the requests to one server of an upstream.
type ServerTraffic struct {
	Took   interlock.Histogram // time until the header of the response, or the failure
	Errors map[string]uint64   // requests without a complete response: unreachable, timeout, broken or cancelled
}

// Traffic returns the counters. It has at most 1,000 names of rules and 100 servers, those of
// earlier configurations included. Further ones count as "other".
func (g *Gateway) Traffic() Traffic {
	t := Traffic{InFlight: g.traffic.inFlight.Load(), Rules: make(map[string]RuleTraffic), Upstreams: make(map[string]ServerTraffic)}
	for name, r := range g.traffic.rules.all() {
		t.Rules[name] = r.snapshot(ruleOutcomes[:])
		if name == "" {
			t.Rules[name] = r.snapshot(otherOutcomes[:])
		}
	}
	for host, s := range g.traffic.servers.all() {
		t.Upstreams[host] = ServerTraffic{Took: s.took.Snapshot(), Errors: s.errors.snapshot(serverErrors[:])}
	}
	return t
}

// The bounds of the series, and the name that all further ones share.
const (
	maxRuleNames = 1000
	maxServers   = 100
	otherName    = "other"
)

// traffic counts the requests of a gateway.
type traffic struct {
	inFlight atomic.Int64
	rules    table[ruleCounters]
	servers  table[serverCounters]
}

// A wordCounter counts words of a list by their index.
type wordCounter [9]atomic.Uint64

func (c *wordCounter) snapshot(words []string) map[string]uint64 {
	counts := make(map[string]uint64)
	for i, word := range words {
		counts[word] = c[i].Load()
	}
	return counts
}

func (c *wordCounter) count(words []string, word string) {
	if i := slices.Index(words, word); i >= 0 {
		c[i].Add(1)
	}
}

// The words that are counted.
var (
	ruleOutcomes  = [...]string{"ran", "replayed", "refused", "waited", "unguarded", "local", "shadowed", "unknown", "failed"}
	otherOutcomes = [...]string{unmatchedOutcome, refusedOutcome, tokenOutcome}
	serverErrors  = [...]string{"unreachable", "timeout", "broken", "cancelled"}
)

// The outcomes of requests that no rule handled.
const (
	unmatchedOutcome = "unmatched"
	refusedOutcome   = "refused"
	tokenOutcome     = "token"
)

// ruleCounters are the counters of the rules of one name.
type ruleCounters struct {
	wordCounter
	noKey atomic.Uint64 // requests that passed because they had no key
}

// serverCounters are the counters of one server.
type serverCounters struct {
	took   histogram.Histogram
	errors wordCounter
}

// expect makes the counters of a configuration, so that they are visible before the first
// request.
func (t *traffic) expect(s *snapshot) {
	t.rules.of("", maxRuleNames)
	for _, r := range s.rules {
		t.rules.of(r.Do.Name, maxRuleNames)
	}
	for _, b := range s.resources.backends {
		for _, target := range b.targets {
			t.servers.of(target.url.Host, maxServers)
		}
	}
}

// rule returns the counters of a rule.
func (t *traffic) rule(name string) *ruleCounters { return t.rules.of(name, maxRuleNames) }

// unruled counts a request that no rule handled.
func (t *traffic) unruled(outcome string) { t.rule("").count(otherOutcomes[:], outcome) }

// A table has counters by name.
type table[C any] struct {
	mu    sync.RWMutex
	names map[string]*C
}

// of returns the counters of a name. Beyond limit names it returns those of otherName.
func (t *table[C]) of(name string, limit int) *C {
	t.mu.RLock()
	c := t.names[name]
	t.mu.RUnlock()
	if c != nil {
		return c
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil {
		t.names = make(map[string]*C)
	}
	if t.names[name] == nil && len(t.names) >= limit {
		name = otherName
	}
	if t.names[name] == nil {
		t.names[name] = new(C)
	}
	return t.names[name]
}

// all returns a copy of the table.
func (t *table[C]) all() map[string]*C {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return maps.Clone(t.names)
}

// counters returns the counters of the server that the round trip uses.
func (t *roundTrip) counters() *serverCounters {
	return t.exchange.gateway.traffic.servers.of(t.target.url.Host, maxServers)
}

// countHeader counts the header of a response.
func (t *roundTrip) countHeader() { t.counters().took.Observe(time.Since(t.began)) }

// countFailure counts a request without a response. A client that breaks off its body is
// not a failure of the server.
func (t *roundTrip) countFailure(ctx context.Context, p *interlockhttp.Problem) {
	if t.body.err() != nil {
		return
	}
	word := "broken"
	switch {
	case p.Status == http.StatusGatewayTimeout:
		word = "timeout"
	case ctx.Err() != nil:
		word = "cancelled"
	case p.Code == interlockhttp.UpstreamUnreachable:
		word = "unreachable"
	}
	if !t.headed {
		t.countHeader()
	}
	t.counters().errors.count(serverErrors[:], word)
}

// countBreak counts a response that broke off after its header.
func (t *roundTrip) countBreak(ctx context.Context) {
	word := "broken"
	if ctx.Err() != nil {
		word = "cancelled"
	}
	t.counters().errors.count(serverErrors[:], word)
}
