package interlockhttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// Shadowed is what [Shadow] reports of a request that would not have run.
type Shadowed struct {
	Guard   string    // the policy's name; empty for a lock
	Method  string    // of the request
	Route   string    // the pattern that matched it, or else its path
	Problem *Problem  // that it would have been told; nil if it would have got an answer
	Replay  *Response // the answer that it would have got; nil if there is a problem
	Request *http.Request
}

// shadowTimeout bounds how long a request is held up that is only observed.
const shadowTimeout = time.Second

// observe answers the request as if nobody were there, and reports what would have
// become of it.
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
	defer claim.Abandon() //nolint:errcheck // it is settled by then, unless there was a panic
	c := &q.capture
	c.maxBody, c.keeping, c.passThrough = q.settings.maxResponse, q.middleware.keeps(), true
	c.begin(q.w, q.Method, nil)
	q.next.ServeHTTP(c, r)
	c.end()
	q.settle(claim)
}

// observeClaim returns the claim of a request that would have run, and nil for others.
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

// sendProblem tells a client of a problem.
func (s *settings) sendProblem(w http.ResponseWriter, r *http.Request, p *Problem) {
	p = s.applyOptions(p)
	if s.writeProblem != nil {
		s.writeProblem(w, r, p)
		return
	}
	p.ServeHTTP(w, r)
}

// applyOptions gives a problem what the options say.
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
