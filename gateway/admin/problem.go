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

// A Code is the kind of a [Problem]. Programs may rely on it.
type Code string

// The codes.
const (
	Invalid          Code = "invalid"            // 400 or 422: the request does not conform to the OpenAPI document
	KeyInvalid       Code = "key_invalid"        // 400: the key of a lock or record is not valid
	Unauthenticated  Code = "unauthenticated"    // 401: the token is missing or wrong
	Forbidden        Code = "forbidden"          // 403: the token has the role view
	ReadOnly         Code = "read_only"          // 403: the API is configured as read-only
	CrossOrigin      Code = "cross_origin"       // 403: a page of another site sent the request
	NotFound         Code = "not_found"          // 404
	MethodNotAllowed Code = "method_not_allowed" // 405
	Conflict         Code = "conflict"           // 409: the current state does not allow the change
	NotALock         Code = "not_a_lock"         // 409: the key holds another kind of value
	NotSupported     Code = "not_supported"      // 409: this engine or process lacks the feature
	TooLarge         Code = "too_large"          // 413
	HostRefused      Code = "host_refused"       // 421: the Host field names another server
	TooMany          Code = "too_many"           // 429: too many requests or wrong tokens
	Unavailable      Code = "engine_unavailable" // 503: the engine does not answer
	OutcomeUnknown   Code = "outcome_unknown"    // 503: the engine may have made the change; read the state
	AuditUnavailable Code = "audit_unavailable"  // 503: the audit log cannot be written, and nothing was changed
	TooManyStreams   Code = "too_many_streams"   // 503: the number of event streams is limited
	Failed           Code = "failed"             // 500
)

// DocsURL is the page that explains the codes.
const DocsURL = "https://github.com/interlock-go/interlock/blob/main/docs/admin.md"

// statuses has an entry for every code: WriteHeader panics with the status 0.
var statuses = map[Code]int{
	Invalid: 422, KeyInvalid: 400, Unauthenticated: 401, Forbidden: 403, ReadOnly: 403, CrossOrigin: 403,
	NotFound: 404, MethodNotAllowed: 405, Conflict: 409, NotALock: 409, NotSupported: 409, TooLarge: 413,
	HostRefused: 421, TooMany: 429, Unavailable: 503, OutcomeUnknown: 503, AuditUnavailable: 503, TooManyStreams: 503, Failed: 500,
}

// A Problem is an error response in the format of RFC 9457.
type Problem struct { //nolint:errname // the name in RFC 9457
	Type         string       `json:"type" format:"uri" doc:"A page that explains this kind of problem."`
	Title        string       `json:"title" doc:"The status in words."`
	Status       int          `json:"status" minimum:"400" maximum:"599"`
	Code         Code         `json:"code" doc:"The kind of the problem. Programs may rely on it."`
	Detail       string       `json:"detail" doc:"What happened, and what to do about it."`
	RetryAfterMS int64        `json:"retry_after_ms,omitempty" doc:"The time to wait before a retry."`
	Errors       []FieldError `json:"errors,omitempty" doc:"Each mistake in the request."`
}

// A FieldError is a mistake in a request.
type FieldError struct {
	Location string `json:"location" doc:"The position of the mistake, such as body.reason."`
	Message  string `json:"message"`
}

// Error implements error.
func (p *Problem) Error() string { return fmt.Sprintf("admin: %s: %s", p.Code, p.Detail) }

// GetStatus implements [huma.StatusError].
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements [huma.ContentTypeFilter].
func (p *Problem) ContentType(string) string { return problemJSON }

// problemJSON is the media type of RFC 9457.
const problemJSON = "application/problem+json"

// problem returns a problem. Its detail reaches the client: sanitize what the client
// sent.
func problem(c Code, format string, args ...any) *Problem {
	status := statuses[c]
	return &Problem{
		Type: DocsURL + "#" + string(c), Title: http.StatusText(status), Status: status, Code: c, Detail: fmt.Sprintf(format, args...),
	}
}

// after sets the time to wait before a retry.
func (p *Problem) after(d time.Duration) *Problem {
	// Zero would be left out of the JSON, and tell the client nothing.
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
		// The header has whole seconds. Rounding down would invite a retry that is too
		// early.
		h.Set("Retry-After", strconv.FormatInt((p.RetryAfterMS+999)/1000, 10))
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(text)
}

// explain converts an error to a problem.
func explain(err error) *Problem {
	var p *Problem
	switch {
	// The order matters: an error may wrap several of these, and the most specific comes
	// first.
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
		return problem(OutcomeUnknown, "the change may have been made; read the state before you retry: %v", err).after(time.Second)
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return problem(Unavailable, "%v", err).after(time.Second)
	}
	return problem(Failed, "%v", err)
}

// translate converts huma's errors to problems.
func translate(_ huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	// huma knows statuses only. Whatever has no code of its own is an invalid request.
	code := map[int]Code{404: NotFound, 405: MethodNotAllowed, 413: TooLarge, 500: Failed}[m.Status]
	if code == "" {
		code = Invalid
	}
	p := problem(code, "%s", m.Detail)
	// huma distinguishes 400 from 422, and one code stands for both.
	p.Status, p.Title = m.Status, http.StatusText(m.Status)
	for _, e := range m.Errors {
		p.Errors = append(p.Errors, FieldError{Location: e.Location, Message: e.Message})
	}
	return p, nil
}
