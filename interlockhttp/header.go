package interlockhttp

import (
	"net/http"
	"slices"
	"strings"
)

// The fields of our own in answers.
const (
	fieldKey       = "Idempotency-Key"     // the key, as it came
	fieldReplayed  = "Idempotent-Replayed" // this is the answer to an earlier request
	fieldStored    = "Idempotency-Stored"  // false: who repeats the request does not get this answer
	fieldExpires   = "Idempotency-Expires" // for how many seconds the key is remembered
	fieldUnguarded = "Interlock-Unguarded" // true: the engine was down, and the request ran all the same
)

// notKept are fields that are never stored: they are about the connection, or this
// one answer, or for nobody but the first caller.
var notKept = fields(
	"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Content-Length", "Date", "Server", "Alt-Svc", "Server-Timing", "Strict-Transport-Security",
	"Set-Cookie", "Set-Cookie2", "Clear-Site-Data", "Authorization", "Proxy-Authorization",
	"Www-Authenticate", "Proxy-Authenticate", "Authentication-Info", "Proxy-Authentication-Info",
	"X-Csrf-Token", "X-Xsrf-Token", "Csrf-Token",
	"X-Request-Id", "Request-Id", "X-Correlation-Id", "X-Trace-Id", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context",
	"Traceparent", "Tracestate", "B3", "Uber-Trace-Id",
	fieldKey, fieldReplayed, fieldStored, fieldExpires, fieldUnguarded,
)

// notKeptPrefixes are what the names of such fields begin with.
var notKeptPrefixes = []string{"Proxy-", "X-B3-", "Ratelimit", "X-Ratelimit", "X-Rate-Limit"}

func fields(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[http.CanonicalHeaderKey(name)] = true
	}
	return set
}

// keepsField tells whether a field of an answer is stored.
func (s *settings) keepsField(name string) bool {
	name = http.CanonicalHeaderKey(name) // a handler may have put it there in any form
	if kept, ok := s.keptFields[name]; ok {
		return kept
	}
	if notKept[name] {
		return false
	}
	return !slices.ContainsFunc(notKeptPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
