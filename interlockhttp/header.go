package interlockhttp

import (
	"net/http"
	"slices"
	"strings"
)

// Our own header fields in responses.
const (
	fieldKey       = "Idempotency-Key"     // the key of the request
	fieldReplayed  = "Idempotent-Replayed" // true: the response is a replay
	fieldStored    = "Idempotency-Stored"  // false: a repeat does not get this response
	fieldExpires   = "Idempotency-Expires" // seconds for which the response is kept
	fieldUnguarded = "Interlock-Unguarded" // true: the engine was down, and the request ran unguarded
	fieldLocal     = "Interlock-Local"     // true: the engine was down, and this process alone guarded the request
	fieldOutcome   = "Interlock-Outcome"   // the outcome that a handler states; removed before the response is sent

	fieldRateLimit       = "RateLimit"        // the units that are left, and the seconds until the next
	fieldRateLimitPolicy = "RateLimit-Policy" // the limit and its window
)

// notKept lists fields that are not stored by default: they concern the connection, this
// one transmission, or only the first client.
var notKept = fields(
	"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Content-Length", "Date", "Server", "Alt-Svc", "Server-Timing", "Strict-Transport-Security",
	"Set-Cookie", "Set-Cookie2", "Clear-Site-Data", "Authorization", "Proxy-Authorization",
	"Www-Authenticate", "Proxy-Authenticate", "Authentication-Info", "Proxy-Authentication-Info",
	"X-Csrf-Token", "X-Xsrf-Token", "Csrf-Token",
	"X-Request-Id", "Request-Id", "X-Correlation-Id", "X-Trace-Id", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context",
	"Traceparent", "Tracestate", "B3", "Uber-Trace-Id",
	fieldKey, fieldReplayed, fieldStored, fieldExpires, fieldUnguarded, fieldLocal, fieldOutcome,
)

// notKeptPrefixes lists prefixes of further fields that are not stored by default.
var notKeptPrefixes = []string{"Proxy-", "X-B3-", "Ratelimit", "X-Ratelimit", "X-Rate-Limit"}

func fields(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[http.CanonicalHeaderKey(name)] = true
	}
	return set
}

// keepsField reports whether a header field of a response is stored.
func (s *settings) keepsField(name string) bool {
	name = http.CanonicalHeaderKey(name) // a handler may have set the field in lower case
	if kept, ok := s.keptFields[name]; ok {
		return kept
	}
	if notKept[name] {
		return false
	}
	return !slices.ContainsFunc(notKeptPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
