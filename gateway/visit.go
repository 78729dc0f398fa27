package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// A visit is a request on its way through the gateway. All of it happens in one
// goroutine.
type visit struct {
	gateway  *Gateway
	plan     *plan
	began    time.Time
	trusted  bool     // it comes from a proxy that is believed
	segments []string // of the path
	chain    []*layer
	step     *step    // the rule that looks at it now
	keys     []string // that rules have found
	fence    uint64
	fate     interlockhttp.Outcome // what is known of it besides its status
	code     interlockhttp.Code    // of the problem that the client was told
	cause    error                 // what is behind that
	wire     wire
	answered bool // the service has begun to
	body     *clientBody
	answer   recorder
}

// A step is what one rule did about a request.
type step struct {
	layer  *layer
	began  time.Time
	ran    time.Time // when what is inside began; zero if it did not
	key    string
	id     *identity
	code   interlockhttp.Code // of the rule's own refusal
	shadow bool               // it would not have run
}

const undecided interlockhttp.Outcome = 0

type visitKey struct{}

// visitOf returns the visit that a context belongs to.
func visitOf(ctx context.Context) *visit { return ctx.Value(visitKey{}).(*visit) }

// refuse tells the client of a problem: what is inside of the rule did not begin, so
// that a rule outside of it need not fear that something was done.
func (v *visit) refuse(w http.ResponseWriter, r *http.Request, p *interlockhttp.Problem) {
	v.code, v.cause, v.fate = p.Code, p.Err, interlockhttp.NotDone
	if v.step != nil {
		v.step.code = p.Code
	}
	p.ServeHTTP(w, r)
}

// answer is how package interlockhttp tells a problem.
func answer(w http.ResponseWriter, r *http.Request, p *interlockhttp.Problem) {
	if errors.Is(p.Err, errCrowded) { // there it is an error like any other
		err := p.Err
		p = interlockhttp.NewProblem(interlockhttp.TooManyWaiters)
		p.Err, p.RetryAfter = err, time.Second
	}
	visitOf(r.Context()).refuse(w, r, p)
}

// shadowed is told of a request that would not have run.
func shadowed(s interlockhttp.Shadowed) {
	v := visitOf(s.Request.Context())
	v.step.shadow = true
	if s.Problem != nil {
		v.code, v.cause = s.Problem.Code, s.Problem.Err
	}
}

// ambiguous returns the problem of a request that others may read differently.
func ambiguous(format string, args ...any) *interlockhttp.Problem {
	p := interlockhttp.NewProblem(interlockhttp.RequestAmbiguous)
	p.Err = fmt.Errorf(format, args...)
	return p
}

// waitedFor is from when on a request counts as one that waited for its lock.
const waitedFor = 5 * time.Millisecond

// outcome returns what became of the request, as far as the current rule goes.
func (v *visit) outcome(h http.Header) string {
	s, guarded := v.step, v.step.layer.Do.Verb != rule.Lock
	switch {
	case s.shadow:
		return "shadowed"
	case s.code != "":
		return "refused"
	case s.ran.IsZero() && h.Get("Idempotent-Replayed") != "":
		return "replayed"
	case s.ran.IsZero(), v.fate == interlockhttp.NotDone:
		return "failed"
	case v.fate == interlockhttp.InDoubt, guarded && v.answer.status >= http.StatusInternalServerError:
		return "unknown"
	case s.key == "" && s.layer.Key != nil, h.Get("Interlock-Unguarded") != "":
		return "unguarded"
	case !guarded && s.ran.Sub(s.began) >= waitedFor:
		return "waited"
	}
	return "ran"
}

// mostTold is how long a text may be that is told, in bytes: who watches keeps it.
const mostTold = 1 << 10

func cut(text string) string {
	if len(text) > mostTold {
		return strings.ToValidUTF8(text[:mostTold], "") + "…"
	}
	return text
}

// tell tells whoever watches what the current rule did.
func (v *visit) tell(h http.Header) {
	s := v.step
	outcome := v.outcome(h)
	v.log(outcome)
	if v.gateway.options.Events == nil {
		return
	}
	r := v.answer.request
	v.gateway.options.Events(Event{
		Rule: s.layer.Do.Name, Verb: string(s.layer.Do.Verb), Key: s.key, Outcome: outcome, Code: string(v.code),
		Method: cut(r.Method), Path: cut(r.URL.Path), Status: v.answer.status, Took: time.Since(s.began).Seconds(),
	})
}
