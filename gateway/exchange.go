package gateway

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/interlock-go/interlock/interlockhttp"
)

// A request passes through the package in these steps:
//
//	Gateway.ServeHTTP   enters a snapshot                        gateway.go
//	requestBody         counts the bytes in memory                requestbody.go
//	exchange.serve      answers the token endpoint               exchange.go, tokens.go
//	exchange.route      finds the rules, refuses ambiguity       route.go, ambiguity.go, matcher.go
//	exchange.next       starts the next rule, or the upstream    exchange.go
//	ruleStep.run        authenticates, calls the middleware      rulestep.go, principal.go
//	middleware          locks or claims with interlockhttp       middleware.go, keysource.go
//	runInner            holds the lock, calls exchange.next      rulestep.go
//	backend.send        proxies the request                      backend.go, roundtrip.go
//	  rewrite           sets the outgoing header                 header.go, sendonce.go
//	  receive, fail     takes the response, or explains why not  response.go, failure.go
//
// Each call returns a result to its caller. ruleStep.report turns the result of a rule
// into a log line and an event (accesslog.go, event.go).

// An exchange is a request and what the gateway knows about it before the first rule
// runs. ServeHTTP fills it in; the rules and the backend only read it, and return a
// result. All of it happens in one goroutine.
type exchange struct {
	gateway  *Gateway
	snapshot *snapshot
	request  *http.Request // as received, for logs and events
	response recorder
	body     *requestBody // nil if the request has none
	began    time.Time
	trusted  bool           // the connection comes from a trusted proxy
	segments []string       // the decoded parts of the path
	rules    []*ruleHandler // the rules that match, outermost first
}

// A result is what became of a request, as far as the step that returns it knows.
type result struct {
	outcome   interlockhttp.Outcome // as the upstream declared or the gateway decided; see undecided
	code      interlockhttp.Code    // the problem that the client got, or that a shadow rule saw
	cause     error                 // the error behind code
	answered  bool                  // the upstream sent a response header
	aborted   bool                  // the response broke off, so the connection must be closed
	innermost *ruleStep             // the last rule that saw the request; nil if none matches
}

// undecided means that interlockhttp derives the outcome from the status of the response.
const undecided interlockhttp.Outcome = 0

// serve answers the request.
func (x *exchange) serve(w http.ResponseWriter, r *http.Request) result {
	if x.issueToken(w, r) {
		x.gateway.traffic.unruled(tokenOutcome)
		return result{}
	}
	if p := x.route(r); p != nil {
		p.ServeHTTP(w, r)
		x.gateway.traffic.unruled(refusedOutcome)
		x.log(refusedOutcome, nil, result{code: p.Code, cause: p.Err})
		return result{}
	}
	res := x.next(w, r, nil)
	if len(x.rules) == 0 {
		x.gateway.traffic.unruled(unmatchedOutcome)
		if !res.aborted {
			x.log(unmatchedOutcome, nil, res)
		}
	}
	return res
}

// route finds the rules of the request, or the reason to refuse it before any rule runs.
func (x *exchange) route(r *http.Request) *interlockhttp.Problem {
	rules, segments, err := x.snapshot.find(r)
	switch {
	case err != nil:
		return ambiguous("%w", err)
	case r.Method == http.MethodConnect || r.URL.Path == "*" || !strings.HasPrefix(r.URL.Path, "/"):
		return ambiguous("%s %q is a request to a forward proxy, and this is a reverse proxy", r.Method, r.RequestURI)
	case x.gateway.loops(r.Header):
		return interlockhttp.NewProblem(interlockhttp.LoopDetected)
	}
	x.rules, x.segments = rules, segments
	// ReverseProxy drops parameters that it cannot parse, and another transport would send
	// them.
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil && x.gateway.options.Transport != nil && x.usesQuery() {
		return ambiguous("the query can be read in several ways: %w", err)
	}
	return nil
}

// next passes the request to the rule inside outer, or to the upstream after the last
// rule. A nil outer starts with the first rule.
func (x *exchange) next(w http.ResponseWriter, r *http.Request, outer *ruleStep) result {
	depth := 0
	if outer != nil {
		depth = outer.depth + 1
	}
	if depth == len(x.rules) {
		return x.backend().send(w, r, x, outer)
	}
	s := &ruleStep{exchange: x, rule: x.rules[depth], outer: outer, depth: depth, began: time.Now()}
	s.result.innermost = s
	s.run(w, r)
	return s.result
}

// backend returns the upstream of the outermost rule that names one, or else the
// gateway's.
func (x *exchange) backend() *backend {
	for _, rule := range x.rules {
		if rule.Upstream != nil {
			return rule.backend
		}
	}
	return x.snapshot.backend
}

// catchAbort recovers http.ErrAbortHandler, with which httputil.ReverseProxy reports a
// response that broke off. Any other panic continues.
func catchAbort(aborted *bool) {
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler:
		*aborted = true
	default:
		panic(p)
	}
}
