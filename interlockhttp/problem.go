package interlockhttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// A Code identifies the kind of a [Problem]. Clients should use it rather than the
// status, which a service may change.
type Code string

// The codes, each with its default status; see [Status].
const (
	KeyMissing        Code = "key_missing"        // 400: the request has no key, and needs one
	KeyInvalid        Code = "key_invalid"        // 400: the key is malformed, too short or too long, or there are two
	BodyBroken        Code = "body_broken"        // 400: the body is truncated or malformed
	UserMissing       Code = "user_missing"       // 401: the request has no authenticated user
	TokenUnknown      Code = "token_unknown"      // 403: the token was not issued here
	TokenForeign      Code = "token_foreign"      // 403: the token was issued to another user or for another form
	BodyLate          Code = "body_late"          // 408: the body was not received in time
	InProgress        Code = "in_progress"        // 409: an earlier request with the key is still running
	Duplicate         Code = "duplicate"          // 429, or the policy's status: the request was done a moment ago
	OutcomeUnknown    Code = "outcome_unknown"    // 409: the outcome of an earlier request is unknown
	ResultUnavailable Code = "result_unavailable" // 409: the request was done, and its response was not kept
	FailedBefore      Code = "failed_before"      // 409: the request failed before, and is not run again
	TokenExpired      Code = "token_expired"      // 410: the token has expired
	BodyTooLarge      Code = "body_too_large"     // 413: the body is larger than [MaxBody]
	KeyReused         Code = "key_reused"         // 422: the key was used for another request
	Locked            Code = "locked"             // 423: another request holds the lock
	TooManyWaiters    Code = "too_many_waiters"   // 429: too many requests wait for the same key
	QuotaExceeded     Code = "quota_exceeded"     // 429: the quota of this window is used up
	RecordCorrupt     Code = "record_corrupt"     // 500: the stored record is damaged
	StoreUnavailable  Code = "store_unavailable"  // 503: the engine is down, and nothing was done
	Closing           Code = "closing"            // 503: this server is shutting down

	// Codes that only a proxy sends, such as package gateway.
	RequestAmbiguous    Code = "request_ambiguous"    // 400: the proxy and the upstream may read the request differently
	UpgradeRefused      Code = "upgrade_refused"      // 400: a guarded request cannot switch protocols
	UpstreamUnreachable Code = "upstream_unreachable" // 502: the upstream was not reached, and nothing was done
	UpstreamUnknown     Code = "upstream_unknown"     // 502, or 504 on a timeout: the upstream was reached, and did not respond
	LoopDetected        Code = "loop_detected"        // 508: the request passed this proxy before
)

// DefaultDocs is the default of [Problem.Docs]: the page that explains the codes.
const DefaultDocs = "https://github.com/interlock-go/interlock/blob/main/docs/problems.md"

// A Problem is the response to a request that the handler did not answer: an RFC 9457
// problem in the language and format that the client accepts.
//
// If both Retryable and SameKey are true, a client may retry by itself, since the request
// cannot run twice. If only Retryable is true, a retry is a new operation, which the user
// has to confirm.
type Problem struct { //nolint:errname // named after RFC 9457
	Code       Code
	Status     int           // HTTP status
	Retryable  bool          // the same request may succeed later
	SameKey    bool          // a retry must use the same key
	RetryAfter time.Duration // how long to wait before a retry; zero if unknown
	FirstSeen  time.Time     // when the earlier request began; zero if unknown

	OriginalStatus int    // the status of an earlier response that was not kept; zero without one
	Location       string // the Location of that response

	Message guard.Message // replaces the default detail, if not empty
	Docs    string        // URL of the page that explains the codes; the type is Docs#code
	Err     error         // the cause, for logs; never sent
}

// Error implements error. The text is for logs; the client gets another one.
func (p *Problem) Error() string {
	_, text := p.localize(nil)
	why := text.detail
	if p.Err != nil {
		why = p.Err.Error()
	}
	return fmt.Sprintf("interlockhttp: %s (%d): %s", p.Code, p.status(), why)
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Err }

// A kind holds the defaults of a code.
type kind struct {
	status             int
	retryable, sameKey bool
}

// kinds lists the defaults of every code. sameKey is true wherever an earlier try with the
// key may have been executed: a client that retries after a timeout would pay twice with
// another key. It is false only where the client needs a new key.
var kinds = map[Code]kind{
	KeyMissing:        {status: 400},
	KeyInvalid:        {status: 400},
	BodyBroken:        {status: 400, sameKey: true},
	UserMissing:       {status: 401, sameKey: true},
	TokenUnknown:      {status: 403},
	TokenForeign:      {status: 403},
	BodyLate:          {status: 408, retryable: true, sameKey: true},
	InProgress:        {status: 409, retryable: true, sameKey: true},
	Duplicate:         {status: 429, retryable: true}, // a retry is a new intent
	OutcomeUnknown:    {status: 409, sameKey: true},
	ResultUnavailable: {status: 409, sameKey: true},
	FailedBefore:      {status: 409},
	TokenExpired:      {status: 410},
	BodyTooLarge:      {status: 413},
	KeyReused:         {status: 422},
	Locked:            {status: 423, retryable: true, sameKey: true},
	TooManyWaiters:    {status: 429, retryable: true, sameKey: true},
	QuotaExceeded:     {status: 429, retryable: true, sameKey: true},
	RecordCorrupt:     {status: 500, sameKey: true},
	StoreUnavailable:  {status: 503, retryable: true, sameKey: true},
	Closing:           {status: 503, retryable: true, sameKey: true},

	RequestAmbiguous:    {status: 400, sameKey: true},
	UpgradeRefused:      {status: 400, sameKey: true},
	UpstreamUnreachable: {status: 502, retryable: true, sameKey: true},
	UpstreamUnknown:     {status: 502, sameKey: true},
	LoopDetected:        {status: 508, sameKey: true},
}

// NewProblem returns a problem with the defaults of its code, for handlers that send
// problems themselves.
func NewProblem(c Code) *Problem { return newProblem(c) }

// newProblem returns a problem with the defaults of its code.
func newProblem(c Code) *Problem {
	k := kinds[c]
	p := &Problem{Code: c, Retryable: k.retryable, SameKey: k.sameKey}
	p.Status = p.status()
	return p
}

// status returns the HTTP status: the problem's own if it is valid, or that of its code.
func (p *Problem) status() int {
	if p.Status >= 400 && p.Status <= 599 {
		return p.Status
	}
	if k, ok := kinds[p.Code]; ok {
		return k.status
	}
	return 500
}

// maxProblem bounds the body that ReadProblem reads. Ours have less than 2 KiB.
const maxProblem = 64 << 10

// ReadProblem returns the problem in a response, if there is one: the response is
// application/problem+json, or application/json with a status of 400 or more and the
// type and code of this package. A problem of another service has no code, or one that
// is not in this package.
//
// The body can still be read from its beginning, and must be closed as usual. A body of
// more than 64 KiB is not a problem.
func ReadProblem(resp *http.Response) (*Problem, bool) {
	if resp == nil || resp.Body == nil || resp.ContentLength > maxProblem {
		return nil, false
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	ours := media == plainJSON && resp.StatusCode >= 400 // below 400 it may be a stream, which must not be delayed
	if media != problemJSON && !ours {
		return nil, false
	}
	var m map[string]json.RawMessage
	if text, ok := peek(resp); !ok || json.Unmarshal(text, &m) != nil || m == nil {
		return nil, false
	}
	code := member[Code](m, "code")
	docs, hasCode := strings.CutSuffix(member[string](m, "type"), "#"+string(code))
	if ours && (!hasCode || code == "") {
		return nil, false
	}
	p := &Problem{
		Code:           code,
		Status:         resp.StatusCode,
		Retryable:      member[bool](m, "retryable"),
		SameKey:        member[bool](m, "same_key"),
		RetryAfter:     retryAfter(m, resp.Header),
		OriginalStatus: member[int](m, "original_status"),
		Location:       resp.Header.Get("Location"),
	}
	if hasCode {
		p.Docs = docs
	}
	p.FirstSeen, _ = time.Parse(time.RFC3339, member[string](m, "first_seen"))
	if detail := member[string](m, "detail"); detail != "" {
		language, _, _ := strings.Cut(resp.Header.Get("Content-Language"), ",")
		if !isTag(language) {
			language = "en"
		}
		p.Message = guard.Message{strings.ToLower(language): detail}
	}
	return p, true
}

// peek reads the body of a response and puts it back. It reports false if the body is too
// long or truncated.
func peek(resp *http.Response) (text []byte, ok bool) {
	body := resp.Body
	text, err := io.ReadAll(io.LimitReader(body, maxProblem+1))
	rest := io.Reader(body)
	if err != nil {
		rest = broken{err}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), rest), body}
	return text, err == nil && len(text) <= maxProblem
}

// A broken reader returns the error at which a body broke off.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// member returns a member of a problem. A member of the wrong type is ignored (RFC 9457,
// section 3.1).
func member[T bool | int | int64 | string | Code](m map[string]json.RawMessage, name string) (v T) {
	_ = json.Unmarshal(m[name], &v) // leaves v unchanged on an error
	return v
}

// retryAfter returns how long to wait: from the member, which is more precise, or else
// from the header.
func retryAfter(m map[string]json.RawMessage, h http.Header) time.Duration {
	if ms := member[int64](m, "retry_after_ms"); ms > 0 {
		return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(min(max(s, 0), math.MaxInt64/int64(time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
