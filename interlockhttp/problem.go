package interlockhttp

import (
	"time"

	"github.com/interlock-go/interlock/guard"
)

// A Code says what kind of [Problem] it is. Clients go by it, and not by the
// status, which a service may choose.
type Code string

// The codes, with the status each has unless [Status] gives it another.
const (
	KeyMissing        Code = "key_missing"        // 400: the request needs a key, and has none
	KeyInvalid        Code = "key_invalid"        // 400: it is malformed, too long, or there are two
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
)

// A Problem is what a client is told that does not get an answer of the handler:
// an RFC 9457 problem, in the language and form that it asks for.
type Problem struct {
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
