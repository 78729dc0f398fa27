package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// A Claim is what is known of work that happens once.
type Claim struct {
	ID    string    `json:"id" doc:"What the engine calls it: the guard's name and a hash of the key, from which nobody can read who did what."`
	Guard string    `json:"guard"`
	State string    `json:"state" enum:"absent,running,done,failed,unknown" doc:"unknown: it began, and nobody knows what became of it."`
	Fence uint64    `json:"fence" doc:"Of the attempt that decided or decides. It grows with every one."`
	Began time.Time `json:"began" doc:"When that was granted, by the engine's clock."`
	TTLMS int64     `json:"ttl_ms" doc:"What remains of its lease if it runs, and otherwise until it is forgotten."`
}

// A ClaimDetail says besides what is kept.
type ClaimDetail struct {
	Claim
	Result *Result `json:"result,omitempty" doc:"What is kept of the result, if anything is. The result itself is not told."`
}

// A Result is what is kept, seen from outside.
type Result struct {
	Holds     string `json:"holds" enum:"result,error,nothing" doc:"nothing: it was done, and the result was not kept."`
	Bytes     int    `json:"bytes"`
	Encrypted bool   `json:"encrypted"`
}

// Claims are a page of a list.
type Claims struct {
	Claims []Claim `json:"claims"`
	Next   string  `json:"next_cursor,omitempty" doc:"Where to go on; it is missing at the end."`
}

func (s *Server) claimRoutes() {
	route(s, "list-claims", "GET /claims", "List what is known of work that happens once",
		"In no order. A record may come twice over several pages, and a page may be empty while there is a next_cursor.", s.listClaims)
	route(s, "get-claim", "GET /claims/{id}", "Look at one record", "", s.getClaim)
	route(s, "expire-claim", "POST /claims/{id}/expire", "Forget what became of work",
		"The next call with the same key runs it again. Work that still runs cannot be forgotten.", s.expireClaim)
	route(s, "resolve-claim", "POST /claims/{id}/resolve", "Say what became of work whose outcome is unknown",
		"done: callers get `response` (a guard of the gateway or the middleware), `result` (a guard in a Go program with the codec JSON and no "+
			"encryption), or that there is no result to be had. failed: they get that it failed. free: it did not happen, and the next call runs it.",
		s.resolveClaim)
	route(s, "list-tokens", "GET /tokens", "List what can be known of tokens of forms",
		"Tokens are signed, not stored: of one that was issued and not used nobody knows. One that was spent is the record of its work, "+
			"and so these are the records of guards that the rules say take tokens.", s.listTokens)
}

func (s *Server) listClaims(ctx context.Context, in *struct {
	PageQuery
	Guard string `query:"guard" maxLength:"64" doc:"Only those of the guard that is named so."`
	State string `query:"state" enum:"running,done,failed,unknown" doc:"Only those in this state."`
}) (*body[Claims], error) {
	return s.claims(ctx, in.PageQuery, func(c Claim) bool {
		return (in.Guard == "" || in.Guard == c.Guard) && (in.State == "" || in.State == c.State)
	}, in.Guard)
}

// claims returns the claims that are wanted. The engine is asked for those of one
// guard if it is named.
func (s *Server) claims(ctx context.Context, in PageQuery, want func(Claim) bool, name string) (*body[Claims], error) {
	if s.records == nil {
		return nil, problem(NotSupported, "%v", errNoRecords)
	}
	pattern := in.Pattern
	if name != "" {
		pattern = guard.Pattern(name)
	}
	out := Claims{Claims: []Claim{}, Next: in.Cursor}
	for range maxPages {
		recs, next, err := s.records.From(ctx, pattern, out.Next)
		if err != nil {
			return nil, badCursor(err, in.Cursor)
		}
		for _, rec := range recs {
			if c := claim(rec).Claim; want(c) && (in.Pattern == "" || engine.Match(in.Pattern, c.ID)) {
				out.Claims = append(out.Claims, c)
			}
		}
		if out.Next = next; next == "" || len(out.Claims) >= in.Limit {
			break
		}
	}
	return answer(out), nil
}

func (s *Server) getClaim(ctx context.Context, in *struct{ IDPath }) (*body[ClaimDetail], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	c, err := s.claim(ctx, id)
	if err != nil {
		return nil, err
	}
	return answer(c), nil
}

// claim finds a record. One of which nothing is known is not there.
func (s *Server) claim(ctx context.Context, id string) (ClaimDetail, error) {
	if s.records == nil {
		return ClaimDetail{}, problem(NotSupported, "%v", errNoRecords)
	}
	rec, err := s.records.Lookup(ctx, id)
	switch {
	case err != nil:
		return ClaimDetail{}, err
	case rec.State == engine.Absent:
		return ClaimDetail{}, problem(NotFound, "nothing is known of %s, or not any more", sanitize(id))
	}
	return claim(rec), nil
}

func (s *Server) expireClaim(ctx context.Context, in *struct {
	IDPath
	Body ReasonBody
}) (*body[ClaimDetail], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	deed := AuditEntry{Action: "expire", Key: id, Reason: in.Body.Reason}
	var out ClaimDetail
	err = s.act(ctx, &deed, func() error {
		if s.records == nil {
			return problem(NotSupported, "%v", errNoRecords)
		}
		rec, err := s.records.Erase(ctx, id)
		if err != nil {
			return err
		}
		out = claim(rec)
		deed.setBefore(out.Claim)
		switch rec.State {
		case engine.Absent:
			return problem(NotFound, "nothing is known of %s, or not any more", sanitize(id))
		case engine.Running:
			return problem(Conflict, "the work of %s still runs: wait until it is over, or until its lease is, in %d ms", sanitize(id), out.TTLMS)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer(out), nil
}

// A Response is what callers of a guard of the gateway get.
type Response struct {
	Status      int    `json:"status" minimum:"200" maximum:"599" example:"201"`
	ContentType string `json:"content_type,omitempty" maxLength:"200" example:"application/json"`
	Body        string `json:"body,omitempty"`
}

// outcomes are the words of the API for what became of work.
var outcomes = map[string]engine.State{"done": engine.Done, "failed": engine.Failed, "free": engine.Absent}

// A verdict is what an operator says became of work.
type resolution struct {
	ReasonBody
	Outcome  string          `json:"outcome" enum:"done,failed,free"`
	Result   json.RawMessage `json:"result,omitempty" doc:"Only with done: what a guard in a Go program returns."`
	Response *Response       `json:"response,omitempty" doc:"Only with done: what a guard of the gateway or the middleware answers."`
	Error    string          `json:"error,omitempty" maxLength:"500" doc:"Only with failed: what callers are told; the reason if it is missing."`
}

func (s *Server) resolveClaim(ctx context.Context, in *struct {
	IDPath
	Body resolution
}) (*body[ClaimDetail], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	kept, err := in.Body.stored()
	if err != nil {
		return nil, err
	}
	deed := AuditEntry{Action: "resolve:" + in.Body.Outcome, Key: id, Reason: in.Body.Reason}
	var out ClaimDetail
	err = s.act(ctx, &deed, func() error {
		was, err := s.claim(ctx, id)
		if err != nil {
			return err
		}
		deed.setBefore(was.Claim)
		if err := s.records.Resolve(ctx, id, outcomes[in.Body.Outcome], kept); err != nil {
			return err
		}
		rec, err := s.records.Lookup(ctx, id)
		if out = claim(rec); err != nil { // it is done, and can be looked up later
			out = was
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer(out), nil
}

// kept returns what is to be kept as the result.
func (v *resolution) stored() ([]byte, error) {
	given := 0
	for _, is := range []bool{v.Result != nil, v.Response != nil, v.Error != ""} {
		if is {
			given++
		}
	}
	switch {
	case given > 1, v.Outcome != "done" && (v.Result != nil || v.Response != nil), v.Outcome != "failed" && v.Error != "":
		return nil, problem(Invalid, "result and response go with done, and error with failed: leave out what does not belong to %s", v.Outcome)
	case v.Outcome == "failed" && v.Error == "":
		return []byte(v.Reason), nil
	case v.Outcome == "failed":
		return []byte(v.Error), nil
	case v.Response == nil:
		return v.Result, nil
	case v.Response.Status < http.StatusOK || v.Response.Status > 599:
		return nil, problem(Invalid, "%d is no status of an answer: choose one from 200 to 599", v.Response.Status)
	}
	r := &interlockhttp.Response{Status: v.Response.Status, Header: http.Header{}, Body: []byte(v.Response.Body)}
	if v.Response.ContentType != "" {
		if strings.ContainsAny(v.Response.ContentType, "\r\n\x00") {
			return nil, problem(Invalid, "the content type has control characters")
		}
		r.Header.Set("Content-Type", v.Response.ContentType)
	}
	return r.MarshalBinary()
}

func (s *Server) listTokens(ctx context.Context, in *struct{ PageQuery }) (*body[Claims], error) {
	var guards []string
	if s.o.Rules != nil {
		if cfg := s.o.Rules(); cfg != nil {
			for _, r := range cfg.Rules {
				if r.Form != "" {
					guards = append(guards, r.Policy.Name)
				}
			}
		}
	}
	if len(guards) == 0 {
		return answer(Claims{Claims: []Claim{}}), nil
	}
	return s.claims(ctx, in.PageQuery, func(c Claim) bool { return slices.Contains(guards, c.Guard) }, "")
}

// claim tells about a record.
func claim(rec guard.Record) ClaimDetail {
	c := ClaimDetail{Claim: Claim{
		ID: rec.Key, Guard: rec.Guard, State: rec.State.String(), Fence: rec.Fence, Began: rec.Began, TTLMS: millis(rec.Left),
	}}
	if k := rec.Kept; k != nil {
		c.Result = &Result{Holds: k.Holds, Bytes: k.Bytes, Encrypted: k.Sealed}
	}
	return c
}
