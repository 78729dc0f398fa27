package interlockhttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// Shadowed describes a request that would not have run without [Shadow].
type Shadowed struct {
	Guard   string    // the policy's name; empty for a lock
	Method  string    // the method of the request
	Route   string    // the pattern that matched, or the path
	Problem *Problem  // the problem it would have got; nil if it would have got a replay
	Replay  *Response // the replay it would have got; nil if it would have got a problem
	Request *http.Request
}

// shadowTimeout bounds how long observing delays a request.
const shadowTimeout = time.Second

// observe runs the handler in any case. It reports a request that the middleware would
// have refused, or answered with a replay.
func (q *request) observe() {
	ctx, cancel := context.WithTimeout(q.Context(), shadowTimeout)
	claim := q.observeClaim(ctx)
	cancel()
	q.restoreBody()
	r := q.withOutcome(q.Context())
	defer q.copyBack(r)
	if claim == nil {
		q.next.ServeHTTP(q.w, r)
		return
	}
	defer claim.Abandon() //nolint:errcheck // the claim is settled by then, unless the handler panicked
	c := &q.capture
	c.maxBody, c.keeping, c.passThrough = q.settings.maxResponse, q.middleware.keeps(), true
	c.begin(q.w, q.Method, nil)
	q.next.ServeHTTP(c, r)
	c.end()
	q.settle(claim)
}

// observeClaim returns the claim of a request that the middleware would have run. For any
// other request it returns nil.
func (q *request) observeClaim(ctx context.Context) *guard.Claim[*Response] {
	key, err := q.identify()
	if errors.Is(err, errUnguarded) {
		return nil
	}
	var claim *guard.Claim[*Response]
	if err == nil {
		_, claim, err = q.begin(ctx, key)
	}
	if err != nil {
		if q.Context().Err() == nil {
			q.report(Shadowed{Problem: q.settings.applyOptions(q.middleware.problem(err))})
		}
		return nil
	}
	if response, ok := claim.Result(); ok {
		q.report(Shadowed{Replay: response})
		return nil
	}
	return claim
}

// report calls the Shadow function with the request's identity filled in.
func (q *request) report(s Shadowed) {
	s.Request, s.Method, s.Route = q.Request, q.Method, q.Pattern
	if q.middleware != nil {
		s.Guard = q.middleware.policy.Name
	}
	if s.Route == "" {
		s.Route = q.URL.Path
	}
	q.settings.shadow(s)
}

// sendProblem sends a problem to the client.
func (s *settings) sendProblem(w http.ResponseWriter, r *http.Request, p *Problem) {
	p = s.applyOptions(p)
	if s.writeProblem != nil {
		s.writeProblem(w, r, p)
		return
	}
	p.ServeHTTP(w, r)
}

// applyOptions sets status, message and docs of a problem from the options.
func (s *settings) applyOptions(p *Problem) *Problem {
	if status, ok := s.statuses[p.Code]; ok {
		p.Status = status
	}
	if m, ok := s.messages[p.Code]; ok {
		p.Message = m
	}
	p.Docs = s.docs
	return p
}
