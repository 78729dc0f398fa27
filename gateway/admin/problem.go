package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

// A Code says what kind of [Problem] it is. Programs go by it.
type Code string

// The codes.
const (
	Invalid          Code = "invalid"            // 400 or 422: the request is not as the document says
	KeyInvalid       Code = "key_invalid"        // 400: no lock or record can be called so
	Unauthenticated  Code = "unauthenticated"    // 401: there is no token, or a wrong one
	Forbidden        Code = "forbidden"          // 403: the token is only for looking
	ReadOnly         Code = "read_only"          // 403: nothing can be changed here
	CrossOrigin      Code = "cross_origin"       // 403: the request was made by another site's page
	NotFound         Code = "not_found"          // 404
	MethodNotAllowed Code = "method_not_allowed" // 405
	Conflict         Code = "conflict"           // 409: it is not, or not any more, in a state for that
	NotALock         Code = "not_a_lock"         // 409: there is something else at the key
	NotSupported     Code = "not_supported"      // 409: this engine or process has no such thing
	TooLarge         Code = "too_large"          // 413
	HostRefused      Code = "host_refused"       // 421: it was called by a name that is not its own
	TooMany          Code = "too_many"           // 429: requests, or wrong tokens
	Unavailable      Code = "engine_unavailable" // 503: the engine cannot be asked
	OutcomeUnknown   Code = "outcome_unknown"    // 503: the engine was asked and has not answered; look
	TooManyStreams   Code = "too_many_streams"   // 503: so many listen to events already
	Failed           Code = "failed"             // 500
)

// DocsURL is where the codes are explained.
const DocsURL = "https://github.com/interlock-go/interlock/blob/main/docs/admin.md"

var statuses = map[Code]int{
	Invalid: 422, KeyInvalid: 400, Unauthenticated: 401, Forbidden: 403, ReadOnly: 403, CrossOrigin: 403,
	NotFound: 404, MethodNotAllowed: 405, Conflict: 409, NotALock: 409, NotSupported: 409, TooLarge: 413,
	HostRefused: 421, TooMany: 429, Unavailable: 503, OutcomeUnknown: 503, TooManyStreams: 503, Failed: 500,
}

// A Problem is an answer that is not what was asked for: an RFC 9457 problem.
type Problem struct { //nolint:errname // it is what RFC 9457 calls it, and an error besides
	Type         string       `json:"type" format:"uri" doc:"Where this kind of problem is explained."`
	Title        string       `json:"title" doc:"The status in words."`
	Status       int          `json:"status" minimum:"400" maximum:"599"`
	Code         Code         `json:"code" doc:"What kind it is. Programs go by it."`
	Detail       string       `json:"detail" doc:"What happened, and what to do about it."`
	RetryAfterMS int64        `json:"retry_after_ms,omitempty" doc:"After how long it may be tried again."`
	Errors       []FieldError `json:"errors,omitempty" doc:"What is wrong with the request, one by one."`
}

// A Mistake is something that is wrong with a request.
type FieldError struct {
	Location string `json:"location" doc:"Where, such as body.reason."`
	Message  string `json:"message"`
}

// Error implements error.
func (p *Problem) Error() string { return fmt.Sprintf("admin: %s: %s", p.Code, p.Detail) }

// GetStatus implements [huma.StatusError].
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements [huma.ContentTypeFilter].
func (p *Problem) ContentType(string) string { return problemJSON }

const problemJSON = "application/problem+json"

func problem(c Code, format string, args ...any) *Problem {
	status := statuses[c]
	return &Problem{
		Type: DocsURL + "#" + string(c), Title: http.StatusText(status), Status: status, Code: c, Detail: fmt.Sprintf(format, args...),
	}
}

// after says when it may be tried again.
func (p *Problem) after(d time.Duration) *Problem {
	p.RetryAfterMS = max(d, time.Millisecond).Milliseconds()
	return p
}

// write sends the problem.
func (p *Problem) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", problemJSON)
	if p.Code == Unauthenticated {
		h.Set("WWW-Authenticate", `Bearer realm="interlock"`)
	}
	if p.RetryAfterMS > 0 {
		h.Set("Retry-After", strconv.FormatInt((p.RetryAfterMS+999)/1000, 10))
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts and numbers
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(text)
}

// explain makes a problem of an error.
func explain(err error) *Problem {
	var p *Problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, guard.ErrNotUnknown):
		return problem(Conflict, "%v", err)
	case errors.Is(err, engine.ErrKind):
		return problem(NotALock, "%v", err)
	case errors.Is(err, interlock.ErrKey):
		return problem(KeyInvalid, "%v", err)
	case errors.Is(err, errors.ErrUnsupported):
		return problem(NotSupported, "%v", err)
	case errors.Is(err, engine.ErrUnknown):
		return problem(OutcomeUnknown, "look before you try again: %v", err).after(time.Second)
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return problem(Unavailable, "%v", err).after(time.Second)
	}
	return problem(Failed, "%v", err)
}

// translate makes problems of what huma has found wrong.
func translate(_ huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	code := map[int]Code{404: NotFound, 405: MethodNotAllowed, 413: TooLarge, 500: Failed}[m.Status]
	if code == "" {
		code = Invalid
	}
	p := problem(code, "%s", m.Detail)
	p.Status, p.Title = m.Status, http.StatusText(m.Status)
	for _, e := range m.Errors {
		p.Errors = append(p.Errors, FieldError{Location: e.Location, Message: e.Message})
	}
	return p, nil
}
