package interlockhttp

import (
	"fmt"
	"time"
)

// A TransportOption changes how a [Transport] works. One that makes no sense
// panics in [NewTransport].
type TransportOption func(*Transport)

// KeyHeader names the field that the key is sent in. The default is
// Idempotency-Key.
func KeyHeader(name string) TransportOption {
	return func(t *Transport) {
		if !isToken(name) {
			panic(fmt.Sprintf("interlockhttp: KeyHeader(%q): no name of a field", name))
		}
		t.field = name
	}
}

// Bare sends the key without quotation marks, for servers that take them for a
// part of it: Stripe's, Adyen's and other ones from before RFC 9651. Keys that have
// spaces or one of "\,; are then refused.
func Bare() TransportOption {
	return func(t *Transport) { t.bare = true }
}

// KeyedMethods says which requests get a key and are retried. The default is POST
// and PATCH; all others pass through as they are.
func KeyedMethods(methods ...string) TransportOption {
	return func(t *Transport) {
		t.methods = make(map[string]bool)
		for _, m := range methods {
			if !isToken(m) {
				panic(fmt.Sprintf("interlockhttp: KeyedMethods(%q): no name of a method", m))
			}
			t.methods[m] = true
		}
	}
}

// Attempts bounds how often a request is sent in all. The default is 4; with 1
// nothing is retried.
func Attempts(n int) TransportOption {
	return func(t *Transport) {
		if n < 1 {
			panic(fmt.Sprintf("interlockhttp: Attempts(%d): must be above zero", n))
		}
		t.attempts = n
	}
}

// RetryFor bounds for how long after the first send a retry may begin. The default
// is 30 seconds. A request on its way is not interrupted by it; that is for the
// caller's context.
func RetryFor(d time.Duration) TransportOption {
	return func(t *Transport) { t.retryFor = positive("RetryFor", d) }
}

// Lifetime says for how long the server remembers a key: after that, a retry might
// do again what was done. The default is 24 hours. A server that says a shorter
// time with Idempotency-Expires is believed. Both are counted from the first send
// of the request; who sends it again with [WithKey] has to count for himself.
func Lifetime(d time.Duration) TransportOption {
	return func(t *Transport) { t.lifetime = positive("Lifetime", d) }
}

// Pauses sets how long the pauses between two tries are, if the server does not say
// it: the first is at most least, the next ones twice the one before, and none is
// longer than most. How much of that it is, chance decides, so that clients that
// fell over together do not come back together. The default is 200 milliseconds and
// 5 seconds.
func Backoff(least, most time.Duration) TransportOption {
	return func(t *Transport) {
		if least <= 0 || most < least {
			panic(fmt.Sprintf("interlockhttp: Pauses(%v, %v): must be above zero, and the second not the shorter one", least, most))
		}
		t.minPause, t.maxPause = least, most
	}
}

// MaxRetryAfter bounds the pause that a server may ask for; what is beyond it is
// taken for a mistake. The default is a minute, so that a server that asks for more
// than the default of [RetryFor] is not asked again too early, but not at all.
func MaxRetryAfter(d time.Duration) TransportOption {
	return func(t *Transport) { t.maxRetryAfter = positive("MaxRetryAfter", d) }
}

// MaxReplay bounds how large a body may be that is kept in memory so that it can be
// sent again, in bytes. The default is 1 MiB. A larger one is sent once. Requests
// that have a GetBody, as those of [net/http.NewRequest] mostly do, need no memory,
// and no bound.
func MaxReplay(n int64) TransportOption {
	return func(t *Transport) {
		if n < 0 {
			panic(fmt.Sprintf("interlockhttp: MaxReplay(%d): must not be below zero", n))
		}
		t.maxReplay = n
	}
}

// OnRetry calls f before each pause that a retry follows. It should be quick, since
// the request waits for it.
func OnRetry(f func(Retry)) TransportOption {
	return func(t *Transport) {
		if f == nil {
			panic("interlockhttp: OnRetry(nil): leave it out")
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
