package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// A Claim is the record of work that a guard runs once.
type Claim struct {
	ID    string    `json:"id" doc:"The record's key on the engine: the guard's name and a hash of the key, which does not reveal the key."`
	Guard string    `json:"guard"`
	State string    `json:"state" enum:"absent,running,done,failed,unknown" doc:"unknown: the work began, and its outcome is not known."`
	Fence uint64    `json:"fence" doc:"The fence of the latest attempt. It grows with each attempt."`
	Began time.Time `json:"began" doc:"When the latest attempt was granted, by the engine's clock."`
	TTLMS int64     `json:"ttl_ms" doc:"While the work runs, the time left on its lease; later, the time until the record expires."`
}

// A ClaimDetail is a Claim with a description of its stored result.
type ClaimDetail struct {
	Claim
	Result *Result `json:"result,omitempty" doc:"The stored result, if any, without its content."`
}

// A Result describes a stored result. Its content may be secret, and is not shown.
type Result struct {
	Holds     string `json:"holds" enum:"result,error,nothing" doc:"nothing: the work was done, and its result was not stored."`
	Bytes     int    `json:"bytes"`
	Encrypted bool   `json:"encrypted"`
}

// Claims are a page of a list.
type Claims struct {
	Claims []Claim `json:"claims"`
	Next   string  `json:"next_cursor,omitempty" doc:"The cursor of the next page; missing on the last page."`
}

// claimRoutes registers the operations on records. They exist on every engine, so that
// the OpenAPI document does not depend on it; without records, the code is not_supported.
func (s *Server) claimRoutes() {
	route(s, "list-claims", "GET /claims", "List the records of guards",
		"The order is undefined. A record may occur on two pages, and a page may be empty although it has a next_cursor.", s.listClaims)
	route(s, "get-claim", "GET /claims/{id}", "Get one record", "", s.getClaim)
	route(s, "expire-claim", "POST /claims/{id}/expire", "Delete a record",
		"The next call with the same key runs the work again. The record of running work cannot be deleted.", s.expireClaim)
	route(s, "resolve-claim", "POST /claims/{id}/resolve", "Set the outcome of work whose outcome is unknown",
		"done: callers get `response` (for a guard of the gateway or the middleware), `result` (for a guard in a Go program with the codec JSON and "+
			"without encryption), or the answer that there is no result. failed: callers get the error. free: the work did not happen, and the next call runs it.",
		s.resolveClaim)
	route(s, "list-tokens", "GET /tokens", "List the records of used form tokens",
		"Tokens are signed, not stored, so an unused token has no record. A used token is the record of its work; the list has the records of all "+
			"guards whose rules take tokens.", s.listTokens)
}

// listClaims filters by state in this process: engines find records by pattern only.
func (s *Server) listClaims(ctx context.Context, in *struct {
	PageQuery
	Guard string `query:"guard" maxLength:"64" doc:"Only records of the guard with this name."`
	State string `query:"state" enum:"running,done,failed,unknown" doc:"Only records in this state."`
	KeyQuery
}) (*body[Claims], error) {
	if in.KeyQuery != (KeyQuery{}) {
		return s.findClaim(ctx, in.Guard, in.KeyQuery)
	}
	return s.claims(ctx, in.PageQuery, func(c Claim) bool {
		return (in.Guard == "" || in.Guard == c.Guard) && (in.State == "" || in.State == c.State)
	}, in.Guard)
}

// A KeyQuery is a client's key. The parts other than the key depend on the guard's scope.
type KeyQuery struct {
	Key   string `query:"key" maxLength:"1024" doc:"With guard: only the record of this key, as the client sent it, or as the rule's template makes it."`
	User  string `query:"user" maxLength:"1024" doc:"With key: the user of the request, unless all users share keys."`
	Route string `query:"route" maxLength:"1024" doc:"With key and user: the route of the request, if the guard's scope includes it." example:"POST /orders"`
}

// IDs returns the ids that the record of the key can have. The scope of the guard is not
// known here, so each scope that the parts fit is tried.
func (q KeyQuery) IDs(name string) (ids []string, err error) {
	for _, scope := range []guard.Scope{guard.PerRoute, guard.PerUser, guard.Global} {
		if scope == guard.PerRoute && q.Route == "" || scope != guard.Global && q.User == "" {
			continue
		}
		routes := []string{q.Route}
		if scope == guard.PerRoute { // a guard in a program uses the route as given, the middleware uses RouteOf
			method, _, _ := strings.Cut(q.Route, " ")
			routes = append(routes, interlockhttp.RouteOf(method, q.Route))
		}
		for _, route := range routes {
			id, err := guard.StoredKey(name, scope, guard.Key{User: q.User, Route: route, ID: q.Key})
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// findClaim lists the record of a client's key.
func (s *Server) findClaim(ctx context.Context, name string, q KeyQuery) (*body[Claims], error) {
	if name == "" || q.Key == "" {
		return nil, problem(Invalid, "a record is found by guard and key, and by user unless all users share keys: add guard and key")
	}
	ids, err := q.IDs(name)
	if err != nil {
		return nil, err
	}
	out := Claims{Claims: []Claim{}}
	for _, id := range ids {
		c, err := s.claim(ctx, id)
		var p *Problem
		switch {
		case err == nil:
			out.Claims = append(out.Claims, c.Claim)
		case !errors.As(err, &p) || p.Code != NotFound:
			return nil, err
		}
	}
	return answer(out), nil
}

// claims returns a page of the claims that want accepts. With a guard's name, the engine
// lists that guard's records only.
func (s *Server) claims(ctx context.Context, in PageQuery, want func(Claim) bool, name string) (*body[Claims], error) {
	records, err := s.records()
	if err != nil {
		return nil, err
	}
	// The engine takes one pattern: the guard's, if one is named. The caller's is applied
	// below.
	pattern := in.Pattern
	if name != "" {
		pattern = guard.Pattern(name)
	}
	// The empty list is [] in JSON; nil would be null.
	out := Claims{Claims: []Claim{}, Next: in.Cursor}
	// A page of the engine may contain no wanted record, so several may be needed.
	for range maxPages {
		recs, next, err := records.From(ctx, pattern, out.Next)
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

// getClaim describes the stored result, and never returns it: it may be another user's
// data.
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

// claim returns a record, or NotFound if it is absent.
func (s *Server) claim(ctx context.Context, id string) (ClaimDetail, error) {
	records, err := s.records()
	if err != nil {
		return ClaimDetail{}, err
	}
	rec, err := records.Lookup(ctx, id)
	switch {
	case err != nil:
		return ClaimDetail{}, err
	// Lookup of a missing key succeeds, with this state.
	case rec.State == engine.Absent:
		return ClaimDetail{}, problem(NotFound, "there is no record %s; it may have expired", sanitize(id))
	}
	return claim(rec), nil
}

// expireClaim deletes a record that has ended. The engine leaves running work alone,
// because its deletion would let a second call run beside it.
func (s *Server) expireClaim(ctx context.Context, in *struct {
	IDPath
	Body ReasonBody
}) (*body[ClaimDetail], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	entry := AuditEntry{Action: "expire", Key: id, Reason: in.Body.Reason}
	var out ClaimDetail
	err = s.act(ctx, &entry, func() error {
		records, err := s.records()
		if err != nil {
			return err
		}
		// Erase returns the record in either case, and its state tells whether it was
		// deleted.
		rec, err := records.Erase(ctx, id)
		if err != nil {
			return err
		}
		out = claim(rec)
		// A refused deletion records the state, too, which shows why it was refused.
		entry.setBefore(out.Claim)
		switch rec.State {
		case engine.Absent:
			return problem(NotFound, "there is no record %s; it may have expired", sanitize(id))
		case engine.Running:
			return problem(Conflict, "the work of %s is running: wait until it ends, or until its lease expires in %d ms", sanitize(id), out.TTLMS)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer(out), nil
}

// A Response is the response that callers of a gateway's guard get.
type Response struct {
	Status      int    `json:"status" minimum:"200" maximum:"599" example:"201"`
	ContentType string `json:"content_type,omitempty" maxLength:"200" example:"application/json"`
	Body        string `json:"body,omitempty"`
}

// outcomes are the API's words for the outcome of work.
var outcomes = map[string]engine.State{"done": engine.Done, "failed": engine.Failed, "free": engine.Absent}

// A Resolution is the outcome of work, as set by an operator.
type Resolution struct {
	Reason   string          `json:"reason" minLength:"1" maxLength:"500" doc:"The reason, for the audit log." example:"the host is gone"`
	Outcome  string          `json:"outcome" enum:"done,failed,free"`
	Result   json.RawMessage `json:"result,omitempty" doc:"Only with done: the result of a guard in a Go program."`
	Response *Response       `json:"response,omitempty" doc:"Only with done: the response of a guard of the gateway or the middleware."`
	Error    string          `json:"error,omitempty" maxLength:"500" doc:"Only with failed: the error that callers get. Default: the reason."`
}

// resolveClaim settles an unknown outcome. Any other outcome is a conflict, so that an
// operator cannot overwrite a result that callers may have received.
func (s *Server) resolveClaim(ctx context.Context, in *struct {
	IDPath
	Body Resolution
}) (*body[ClaimDetail], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	// An invalid request is refused before it counts as an attempt in the audit log.
	kept, err := in.Body.Stored()
	if err != nil {
		return nil, err
	}
	entry := AuditEntry{Action: "resolve:" + in.Body.Outcome, Key: id, Reason: in.Body.Reason}
	var out ClaimDetail
	err = s.act(ctx, &entry, func() error {
		// The audit log records the state before the change, and Resolve does not return
		// it.
		before, err := s.claim(ctx, id)
		if err != nil {
			return err
		}
		entry.setBefore(before.Claim)
		records, err := s.records()
		if err != nil {
			return err
		}
		if err := records.Resolve(ctx, id, outcomes[in.Body.Outcome], kept); err != nil {
			return err
		}
		// Read again for the response: Resolve does not return the new record.
		rec, err := records.Lookup(ctx, id)
		if out = claim(rec); err != nil { // the claim is resolved, even if it cannot be read again
			out = before
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer(out), nil
}

// Stored returns the result for [guard.Records.Resolve], encoded as guards expect it.
func (v Resolution) Stored() ([]byte, error) {
	given := 0
	for _, set := range []bool{v.Result != nil, v.Response != nil, v.Error != ""} {
		if set {
			given++
		}
	}
	switch {
	// JSON Schema could say this, but its message would not tell which field to remove.
	case given > 1, v.Outcome != "done" && (v.Result != nil || v.Response != nil), v.Outcome != "failed" && v.Error != "":
		return nil, problem(Invalid, "result and response are for done, and error is for failed: remove what does not fit %s", v.Outcome)
	// The API requires a reason, so callers always get a text.
	case v.Outcome == "failed" && v.Error == "":
		return []byte(v.Reason), nil
	case v.Outcome == "failed":
		return []byte(v.Error), nil
	// Without a result, callers learn that the work was done and that no result is
	// stored.
	case v.Response == nil:
		return v.Result, nil
	case v.Response.Status < http.StatusOK || v.Response.Status > 599:
		return nil, problem(Invalid, "%d is not the status of a response: use 200 to 599", v.Response.Status)
	}
	r := &interlockhttp.Response{Status: v.Response.Status, Header: http.Header{}, Body: []byte(v.Response.Body)}
	if v.Response.ContentType != "" {
		// Guards replay the value in a header, where a line end would begin another
		// field.
		if strings.ContainsAny(v.Response.ContentType, "\r\n\x00") {
			return nil, problem(Invalid, "content_type contains control characters: remove them")
		}
		r.Header.Set("Content-Type", v.Response.ContentType)
	}
	return r.MarshalBinary()
}

// listTokens lists by guard, because a record does not tell whether its key was a token.
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
	// Without this check, claims would read up to maxPages pages and accept no record.
	if len(guards) == 0 {
		return answer(Claims{Claims: []Claim{}}), nil
	}
	// Several guards have no common pattern, so the engine lists them all.
	return s.claims(ctx, in.PageQuery, func(c Claim) bool { return slices.Contains(guards, c.Guard) }, "")
}

// claim converts a record.
func claim(rec guard.Record) ClaimDetail {
	c := ClaimDetail{Claim: Claim{
		ID: rec.Key, Guard: rec.Guard, State: rec.State.String(), Fence: rec.Fence, Began: rec.Began, TTLMS: millis(rec.Left),
	}}
	if k := rec.Kept; k != nil {
		c.Result = &Result{Holds: k.Holds, Bytes: k.Bytes, Encrypted: k.Sealed}
	}
	return c
}
