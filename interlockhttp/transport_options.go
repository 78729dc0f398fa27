package interlockhttp

import (
	"fmt"
	"time"
)

// A TransportOption configures a [Transport]. An invalid value panics in [NewTransport].
type TransportOption func(*Transport)

// KeyHeader sets the header field of the key. Default: Idempotency-Key.
func KeyHeader(name string) TransportOption {
	return func(t *Transport) {
		if !isToken(name) {
			panic(fmt.Sprintf("interlockhttp: KeyHeader(%q): not the name of a header field", name))
		}
		t.field = name
	}
}

// Bare sends the key without quotation marks. Use it for servers that treat them as a part
// of the key. Those of Stripe and Adyen do, because they predate RFC 9651. Keys with spaces
// or one of "\,; are then refused.
func Bare() TransportOption {
	return func(t *Transport) { t.bare = true }
}

// KeyedMethods sets which requests get a key and are retried. All others pass through
// unchanged. Default: POST and PATCH.
func KeyedMethods(methods ...string) TransportOption {
	return func(t *Transport) {
		t.methods = make(map[string]bool)
		for _, m := range methods {
			if !isToken(m) {
				panic(fmt.Sprintf("interlockhttp: KeyedMethods(%q): not the name of a method", m))
			}
			t.methods[m] = true
		}
	}
}

// Attempts bounds the number of tries, including the first. Default: 4.
func Attempts(n int) TransportOption {
	return func(t *Transport) {
		if n < 1 {
			panic(fmt.Sprintf("interlockhttp: Attempts(%d): must be above zero", n))
		}
		t.attempts = n
	}
}

// RetryFor bounds how long after the first try another one may begin. A try in progress
// is not interrupted; use the request's context for that. Default: 30s.
func RetryFor(d time.Duration) TransportOption {
	return func(t *Transport) { t.retryFor = positive("RetryFor", d) }
}

// Lifetime sets how long the server keeps a key, counted from the first try. Later
// retries might execute the request again, so they are not sent. A shorter time in the
// response's Idempotency-Expires takes precedence. A caller that repeats a request with
// [WithKey] has to measure the time itself. Default: 24h.
func Lifetime(d time.Duration) TransportOption {
	return func(t *Transport) { t.lifetime = positive("Lifetime", d) }
}

// Backoff sets the pauses between tries. The upper bound starts at minPause, doubles with
// each try and ends at maxPause; each pause is random below it, so that clients do not
// retry in step. A pause that the server requests is added. Default: 200ms and 5s.
func Backoff(minPause, maxPause time.Duration) TransportOption {
	return func(t *Transport) {
		if minPause <= 0 || maxPause < minPause {
			panic(fmt.Sprintf("interlockhttp: Backoff(%v, %v): both must be above zero, and maxPause not below minPause", minPause, maxPause))
		}
		t.minPause, t.maxPause = minPause, maxPause
	}
}

// MaxRetryAfter bounds the pause that a server may request; a longer one is shortened to
// it. The default is longer than that of [RetryFor], so that a server which requests a
// long pause gets no retry rather than an early one. Default: 1m.
func MaxRetryAfter(d time.Duration) TransportOption {
	return func(t *Transport) { t.maxRetryAfter = positive("MaxRetryAfter", d) }
}

// MaxReplay bounds the body that is kept in memory for retries, in bytes. A larger one is
// sent once. A request with a GetBody, as [net/http.NewRequest] sets it for most bodies,
// needs no memory and has no bound. Default: 1 MiB.
func MaxReplay(n int64) TransportOption {
	return func(t *Transport) {
		if n < 0 {
			panic(fmt.Sprintf("interlockhttp: MaxReplay(%d): must not be below zero", n))
		}
		t.maxReplay = n
	}
}

// OnRetry calls f before the pause of each retry. The request waits for f, so f should be
// fast.
func OnRetry(f func(Retry)) TransportOption {
	return func(t *Transport) {
		if f == nil {
			panic("interlockhttp: OnRetry(nil): leave the option out")
		}
		t.onRetry = f
	}
}

func positive(option string, d time.Duration) time.Duration {
	if d <= 0 {
		panic(fmt.Sprintf("interlockhttp: %s(%v): must be above zero", option, d))
	}
	return d
}
