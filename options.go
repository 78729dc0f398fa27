package interlock

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// An Option changes how locks are acquired. Directives and rule files use the
// same names.
type Option func(*options)

// Lease sets the length of the lease and turns off renewal: when the lease expires,
// the lock is lost.
//
// Default: 30s, and the watchdog renews it every 10s while the lock is held.
func Lease(d time.Duration) Option {
	return func(o *options) {
		if d < minLease || d > maxDuration {
			o.reject("Lease(%v): must be from %v to %v", d, minLease, maxDuration)
			return
		}
		o.lease, o.explicit = d, true
	}
}

// Watchdog sets how long a renewed lock survives its holder. The watchdog renews the
// lock three times in that time. Default: 30s.
func Watchdog(d time.Duration) Option {
	return func(o *options) {
		if d < minLease || d > maxDuration {
			o.reject("Watchdog(%v): must be from %v to %v", d, minLease, maxDuration)
			return
		}
		o.lease, o.explicit = d, false
	}
}

// Wait bounds the wait for a lock, but not the work done under it. Zero means
// one attempt. Default: only the context bounds the wait.
//
// For a [Quota] it bounds the wait for a unit, but not the requests to the engine. Default:
// zero.
func Wait(d time.Duration) Option {
	return func(o *options) {
		if d < 0 || d > maxDuration {
			o.reject("Wait(%v): must be from 0 to %v", d, maxDuration)
			return
		}
		o.wait, o.bounded = d, true
	}
}

// MaxHold bounds how long a lock is renewed. A holder that keeps it longer loses
// it, with [ErrMaxHold] as the reason. Default: no bound.
func MaxHold(d time.Duration) Option {
	return func(o *options) {
		if d < minLease || d > maxDuration {
			o.reject("MaxHold(%v): must be from %v to %v", d, minLease, maxDuration)
			return
		}
		o.maxHold = d
	}
}

// Reentrant lets code under the context of a hold acquire the lock again. The
// entries are counted in this process and cost no round trip; the last Unlock
// releases the lock. Without it, a nested Lock fails at once.
func Reentrant() Option { return func(o *options) { o.reentrant = true } }

// Fair grants a [Mutex] to its waiters in order of arrival, across processes. A
// waiter that dies delays the waiters behind it by 5 seconds at most. Callers
// without Fair may overtake the queue. The other kinds of locks are always fair.
func Fair() Option { return func(o *options) { o.fair = true } }

// Name is the program's name, which operators see beside its locks. Pass it to
// [New]. Default: the name of the executable.
func Name(name string) Option { return func(o *options) { o.name = name } }

// WithName is the business name of a lock, such as "pay". Metrics, logs and traces use
// it to tell locks apart, so it must not contain identifiers of orders or users.
// Default: none; a directive, a rule and the HTTP middleware set their own name.
func WithName(name string) Option {
	return func(o *options) { o.business, o.named = name, nil }
}

// Fenced makes fences rise strictly even if the engine's clock is set back. On
// Redis it costs one more key per lock.
func Fenced() Option { return func(o *options) { o.fenced = true } }

// Poll makes waiters ask again after the pauses that backoff returns, instead of
// waiting for a notification. Use it behind a proxy that does not forward
// notifications.
func Poll(backoff Backoff) Option {
	return func(o *options) {
		if backoff == nil {
			o.reject("Poll(nil): pass a Backoff such as Exponential(time.Millisecond, 100*time.Millisecond)")
			return
		}
		o.poll = backoff
	}
}

// Prefix is put before every key. Prefixes add up: New with Prefix("shop:") and
// then With(Prefix("order:")) make keys such as "shop:order:42".
func Prefix(p string) Option { return func(o *options) { o.prefix += p } }

// Options returns an Option that applies all of opts, in that order.
func Options(opts ...Option) Option {
	return func(o *options) { *o = o.with(opts) }
}

// ObserveEngine calls f after each request to a server of the engine, until the client
// is closed. f runs in the goroutine of the request, so it must be quick. If f returns a
// function, that function may be slow: it runs in a goroutine of the client that delays no
// request. Pass the option to [New].
func ObserveEngine(f func(engine.ServerCall) (later func())) Option {
	return func(o *options) { o.observers = append(slices.Clip(o.observers), f) }
}

// WithTrace reports the events of locks to t, and to any trace set before.
func WithTrace(t *Trace) Option {
	return func(o *options) { o.trace = o.trace.and(t) }
}

// WithExemplars lets histograms keep examples. traceID must return the id of the trace in
// a context, or "" if there is none. The histograms of locks and guards keep the last
// traced duration of each bucket with its trace id; see [Histogram].
func WithExemplars(traceID func(context.Context) string) Option {
	return func(o *options) { o.traceID = traceID }
}

// WithValue attaches a value to a client, for packages on top of this one; see
// [Client.Values]. As with context.WithValue, the key has a type of the package.
func WithValue(key, value any) Option {
	return func(o *options) { o.values = &clientValue{key, value, o.values} }
}

// A clientValue is an element of the list of values set with WithValue, the latest first.
type clientValue struct {
	key, value any
	next       *clientValue
}

// A Backoff returns how long to pause after the given number of refused tries,
// counted from 1.
type Backoff func(tries int) time.Duration

// Exponential returns a Backoff that starts at shortest and doubles up to
// longest. Jitter shortens each pause by up to a quarter.
func Exponential(shortest, longest time.Duration) Backoff {
	return func(tries int) time.Duration {
		return backoff.Pause(shortest, longest, tries)
	}
}

const (
	// DefaultLease is the default lease. It equals Redisson's
	// lockWatchdogTimeout.
	DefaultLease = 30 * time.Second

	minLease    = watchdog.MinLease
	maxDuration = 365 * 24 * time.Hour // a longer duration is probably a wrong unit
)

type options struct {
	prefix    string
	lease     time.Duration
	explicit  bool // the lease is not renewed
	wait      time.Duration
	bounded   bool // wait is set
	maxHold   time.Duration
	reentrant bool
	fair      bool
	fenced    bool
	name      string         // of the program
	business  string         // of the lock
	named     *namedCounters // of the business name; nil until it is looked up
	counters  *counters      // of the business name and the lock's kind
	poll      Backoff
	trace     *Trace
	traceID   func(context.Context) string // may be nil
	observers []func(engine.ServerCall) (later func())
	values    *clientValue
	err       error // the first invalid option
}

func (o options) with(opts []Option) options {
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

func (o *options) reject(format string, args ...any) {
	if o.err == nil {
		o.err = fmt.Errorf("%w: %s", ErrOption, fmt.Sprintf(format, args...))
	}
}

// terms are the options that two holders must share for a handover without
// asking the engine.
type terms struct {
	lease    time.Duration
	maxHold  time.Duration
	explicit bool
	fenced   bool
}

func (o *options) terms() terms {
	return terms{lease: o.lease, maxHold: o.maxHold, explicit: o.explicit, fenced: o.fenced}
}

func (o *options) watchdogTerms() watchdog.Terms {
	return watchdog.Terms{Explicit: o.explicit, MaxHold: o.maxHold}
}
