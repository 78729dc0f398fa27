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

// shadowPatience bounds how long a request is held up that is only observed.
const shadowPatience = time.Second

// observe answers the request as if nobody were there, and reports what would have
// become of it.
func (q *request) observe() {
	ctx, cancel := context.WithTimeout(q.Context(), shadowPatience)
	claim := q.observed(ctx)
	cancel()
	q.unread()
	r := q.decided(q.Context())
	defer q.handBack(r)
	if claim == nil {
		q.next.ServeHTTP(q.w, r)
		return
	}
	defer claim.Abandon() //nolint:errcheck // it is settled by then, unless there was a panic
	c := &q.capture
	c.most, c.keeps, c.passes = q.settings.maxResponse, q.middleware.keeps(), true
	c.begin(q.w, q.Method, nil)
	q.next.ServeHTTP(c, r)
	c.end()
	q.settle(claim)
}

// observed returns the claim of a request that would have run, and nil for others.
func (q *request) observed(ctx context.Context) *guard.Claim[*Response] {
	key, err := q.identify()
	if errors.Is(err, errPass) {
		return nil
	}
	var claim *guard.Claim[*Response]
	if err == nil {
		_, claim, err = q.begin(ctx, key)
	}
	if err != nil {
		if q.Context().Err() == nil {
			q.report(Shadowed{Problem: q.settings.dress(q.middleware.problem(err))})
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

// tell tells a client of a problem.
func (s *settings) tell(w http.ResponseWriter, r *http.Request, p *Problem) {
	p = s.dress(p)
	if s.answer != nil {
		s.answer(w, r, p)
		return
	}
	p.ServeHTTP(w, r)
}

// dress gives a problem what the options say.
func (s *settings) dress(p *Problem) *Problem {
	if status, ok := s.statuses[p.Code]; ok {
		p.Status = status
	}
	if m, ok := s.messages[p.Code]; ok {
		p.Message = m
	}
	p.Docs = s.docs
	return p
}
