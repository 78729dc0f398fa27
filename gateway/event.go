package gateway

import (
	"net/http"
	"strings"
	"time"

	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// An Event is one rule's work on one request. Method, Path and the key of a lock are the
// client's bytes: escape them before you print them.
type Event struct {
	Rule    string  `json:"rule"`           // the rule's name
	Verb    string  `json:"verb"`           // lock, once, submit or limit
	Key     string  `json:"key"`            // the lock's key or, for a guard, the id of its record; as the admin API lists it
	Outcome string  `json:"outcome"`        // ran, replayed, refused, waited, unguarded, local, shadowed, unknown, failed
	Code    string  `json:"code,omitempty"` // the code of the problem, if the request was refused
	Method  string  `json:"method"`
	Path    string  `json:"path"` // cut after 1 KiB
	Status  int     `json:"status"`
	Took    float64 `json:"took_ms"` // milliseconds
}

// waitThreshold is the delay from which a request counts as one that waited for its
// lock. An uncontended acquire takes less, even over a network.
const waitThreshold = 5 * time.Millisecond

// outcome names what the rule did with the request; h is the response header. The order of
// the cases matters: several can hold, and the first one tells an operator the most.
func (s *ruleStep) outcome(h http.Header) string {
	switch {
	case s.shadow:
		return "shadowed"
	case s.refused:
		return "refused"
	case s.ran.IsZero() && h.Get("Idempotent-Replayed") != "":
		return "replayed"
	case s.ran.IsZero(), s.settled() == interlockhttp.NotExecuted:
		return "failed"
	case s.settled() == interlockhttp.Unknown:
		return "unknown"
	case s.hasNoKey(), h.Get("Interlock-Unguarded") != "":
		return "unguarded"
	case h.Get("Interlock-Local") != "":
		return "local"
	case s.mayWait() && s.ran.Sub(s.began) >= waitThreshold:
		return "waited"
	}
	return "ran"
}

// mayWait reports whether the rule waits for a lock that is held.
func (s *ruleStep) mayWait() bool {
	return s.rule.Do.Verb == rule.Lock && s.rule.Do.Wait != rule.Try && !s.rule.Shadow
}

// settled returns the outcome that the rule settled its claim with. For a 4xx without a
// declared outcome it returns undecided even if the 4xx frees the key, so that the event
// says ran.
func (s *ruleStep) settled() interlockhttp.Outcome {
	status := s.exchange.response.status
	refusal := status >= http.StatusBadRequest && status < http.StatusInternalServerError
	if s.result.outcome != undecided || s.rule.middleware.outcome == nil || refusal {
		return s.result.outcome
	}
	return s.rule.middleware.outcome(status)
}

// hasNoKey reports whether the request passed an optional rule without a key.
func (s *ruleStep) hasNoKey() bool {
	return !s.ran.IsZero() && s.key == "" && s.rule.Key != nil && !s.rule.Shadow
}

// report logs what the rule did, and sends it to Options.Events.
func (s *ruleStep) report(h http.Header) {
	x := s.exchange
	outcome := s.outcome(h)
	counters := x.gateway.traffic.rule(s.rule.Do.Name)
	counters.count(ruleOutcomes[:], outcome)
	if s.hasNoKey() {
		counters.noKey.Add(1)
	}
	x.log(outcome, s, s.result)
	if x.gateway.options.Events == nil {
		return
	}
	x.gateway.options.Events(Event{
		Rule: s.rule.Do.Name, Verb: string(s.rule.Do.Verb), Key: s.id(), Outcome: outcome, Code: string(s.result.code),
		Method: cut(x.request.Method), Path: cut(x.request.URL.Path), Status: x.response.status, Took: milliseconds(time.Since(s.began)),
	})
}

// maxEventText bounds a client's text in an event, in bytes: receivers keep thousands.
const maxEventText = 1 << 10

func cut(text string) string {
	if len(text) > maxEventText {
		return strings.ToValidUTF8(text[:maxEventText], "") + "…"
	}
	return text
}

// milliseconds returns d in milliseconds, exact to a microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
