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

// A Code says what kind of [Problem] it is. Clients go by it, and not by the
// status, which a service may choose.
type Code string

// The codes, with the status each has unless [Status] gives it another.
const (
	KeyMissing        Code = "key_missing"        // 400: the request needs a key, and has none
	KeyInvalid        Code = "key_invalid"        // 400: it is malformed, too short or too long, or there are two
	BodyBroken        Code = "body_broken"        // 400: the body broke off, or does not say what it should
	UserMissing       Code = "user_missing"       // 401: nobody is signed in
	TokenUnknown      Code = "token_unknown"      // 403: the token was not issued here
	TokenForeign      Code = "token_foreign"      // 403: it was issued to another user, or for another form
	BodyLate          Code = "body_late"          // 408: the body did not come in time
	InProgress        Code = "in_progress"        // 409: an earlier request with the key is still at work
	Duplicate         Code = "duplicate"          // 429, or what the policy says: it was done a moment ago
	OutcomeUnknown    Code = "outcome_unknown"    // 409: nobody knows what became of an earlier request
	ResultUnavailable Code = "result_unavailable" // 409: it was done, and its answer was not kept
	FailedBefore      Code = "failed_before"      // 409: it was tried, and failed for good
	TokenExpired      Code = "token_expired"      // 410: the token is too old
	BodyTooLarge      Code = "body_too_large"     // 413: the body is larger than [MaxBody]
	KeyReused         Code = "key_reused"         // 422: the key was used for another request
	Locked            Code = "locked"             // 423: another request holds the lock
	TooManyWaiters    Code = "too_many_waiters"   // 429: too many wait for the same already
	RecordCorrupt     Code = "record_corrupt"     // 500: what was stored is not as it was
	StoreUnavailable  Code = "store_unavailable"  // 503: the engine cannot be asked, so nothing was done
	Closing           Code = "closing"            // 503: this server is shutting down

	// What a proxy tells besides, such as package gateway.
	RequestAmbiguous    Code = "request_ambiguous"    // 400: the proxy and the service behind it may read it differently
	UpgradeRefused      Code = "upgrade_refused"      // 400: a guarded request cannot become another protocol
	UpstreamUnreachable Code = "upstream_unreachable" // 502: the service behind was not reached, so nothing was done
	UpstreamUnknown     Code = "upstream_unknown"     // 502, or 504 if it took too long: it was reached, and did not answer
	LoopDetected        Code = "loop_detected"        // 508: the request has been here before
)

// DefaultDocs is where the kinds of problems are explained, unless [Problem.Docs]
// says otherwise.
const DefaultDocs = "https://github.com/interlock-go/interlock/blob/main/docs/problems.md"

// A Problem is what a client is told that does not get an answer of the handler:
// an RFC 9457 problem, in the language and form that it asks for.
//
// A client may repeat the request by itself if both Retryable and SameKey are
// true: it cannot be done twice then. If only Retryable is true, it is for a
// person to say that it is to be done once more.
type Problem struct { //nolint:errname // it is what RFC 9457 calls it, and an error besides
	Code       Code
	Status     int           // of the answer
	Retryable  bool          // the same request may succeed later
	SameKey    bool          // if it is repeated, then with the same key
	RetryAfter time.Duration // how long to wait before that; zero if that is not known
	FirstSeen  time.Time     // when the earlier request came; zero if that is not known

	OriginalStatus int    // of an answer that was not kept; zero if there was none
	Location       string // of that answer

	Message guard.Message // takes the place of the detail, if there is one
	Docs    string        // where the kinds of problems are explained: the type is that, and # and the code
	Err     error         // what is behind it; for logs, and never sent
}

// Error implements error. It is for logs: a client gets other words.
func (p *Problem) Error() string {
	_, text := p.localize(nil)
	why := text.detail
	if p.Err != nil {
		why = p.Err.Error()
	}
	return fmt.Sprintf("interlockhttp: %s (%d): %s", p.Code, p.status(), why)
}

// Unwrap returns what is behind the problem.
func (p *Problem) Unwrap() error { return p.Err }

// A kind is what the problems of a code have in common.
type kind struct {
	status             int
	retryable, sameKey bool
}

// kinds has one for each code. The same key is asked for wherever an earlier
// attempt with it may have been done: who answers a timeout with a repeat, and gets
// one of these, would pay twice with another key. So it is false only where a new
// key is what is needed.
var kinds = map[Code]kind{
	KeyMissing:        {status: 400},
	KeyInvalid:        {status: 400},
	BodyBroken:        {status: 400, sameKey: true},
	UserMissing:       {status: 401, sameKey: true},
	TokenUnknown:      {status: 403},
	TokenForeign:      {status: 403},
	BodyLate:          {status: 408, retryable: true, sameKey: true},
	InProgress:        {status: 409, retryable: true, sameKey: true},
	Duplicate:         {status: 429, retryable: true}, // and then it is done again: a new intent
	OutcomeUnknown:    {status: 409, sameKey: true},
	ResultUnavailable: {status: 409, sameKey: true},
	FailedBefore:      {status: 409},
	TokenExpired:      {status: 410},
	BodyTooLarge:      {status: 413},
	KeyReused:         {status: 422},
	Locked:            {status: 423, retryable: true, sameKey: true},
	TooManyWaiters:    {status: 429, retryable: true, sameKey: true},
	RecordCorrupt:     {status: 500, sameKey: true},
	StoreUnavailable:  {status: 503, retryable: true, sameKey: true},
	Closing:           {status: 503, retryable: true, sameKey: true},

	RequestAmbiguous:    {status: 400, sameKey: true},
	UpgradeRefused:      {status: 400, sameKey: true},
	UpstreamUnreachable: {status: 502, retryable: true, sameKey: true},
	UpstreamUnknown:     {status: 502, sameKey: true},
	LoopDetected:        {status: 508, sameKey: true},
}

// NewProblem returns a problem as those of its code usually are, for handlers that
// tell of one themselves.
func NewProblem(c Code) *Problem { return newProblem(c) }

// newProblem returns a problem as those of its code usually are.
func newProblem(c Code) *Problem {
	k := kinds[c]
	p := &Problem{Code: c, Retryable: k.retryable, SameKey: k.sameKey}
	p.Status = p.status()
	return p
}

// status returns the status of the answer: that of the problem if it says that there
// is one, or else that of its code.
func (p *Problem) status() int {
	if p.Status >= 400 && p.Status <= 599 {
		return p.Status
	}
	if k, ok := kinds[p.Code]; ok {
		return k.status
	}
	return 500
}

// maxProblem is how much of an answer ReadProblem looks at. Ours have less than 2 KiB.
const maxProblem = 64 << 10

// ReadProblem returns the problem that a response tells of, if it does: it is
// application/problem+json, or application/json with a status of 400 or more and the
// type and code of a problem from this package. A problem of somebody else's has no
// code, or one that is not in this package.
//
// The body can still be read from its beginning, and is to be closed as always.
// One of more than 64 KiB is not taken for a problem.
func ReadProblem(resp *http.Response) (*Problem, bool) {
	if resp == nil || resp.Body == nil || resp.ContentLength > maxProblem {
		return nil, false
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	ours := media == plainJSON && resp.StatusCode >= 400 // less may be a stream, which is not to be held up
	if media != problemJSON && !ours {
		return nil, false
	}
	var m map[string]json.RawMessage
	if text, ok := peek(resp); !ok || json.Unmarshal(text, &m) != nil || m == nil {
		return nil, false
	}
	code := member[Code](m, "code")
	docs, is := strings.CutSuffix(member[string](m, "type"), "#"+string(code))
	if ours && (!is || code == "") {
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
	if is {
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

// peek returns the body of a response, if it is not too long and does not break off,
// and puts back what it read.
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

// A broken reader is where a body broke off.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// member returns a member of a problem. One of another type counts as not there
// (RFC 9457 3.1).
func member[T bool | int | int64 | string | Code](m map[string]json.RawMessage, name string) (v T) {
	_ = json.Unmarshal(m[name], &v) // which leaves v alone then
	return v
}

// retryAfter returns how long to wait: by the member, which is finer, or else by the
// header, which others may have set.
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
