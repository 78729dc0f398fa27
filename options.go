package interlock

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// An Option changes how locks are taken. The name of an option is also its
// name in a directive and in a rule file.
type Option func(*options)

// Lease sets how long the lock survives its holder, and turns renewal off: the
// lock is lost when the lease is over, unless it was released before.
//
// Without it the lease is 30 seconds, and the watchdog renews it every 10 for
// as long as the lock is held.
func Lease(d time.Duration) Option {
	return func(o *options) {
		if d < minLease || d > longest {
			o.reject("Lease(%v): must be from %v to %v", d, minLease, longest)
			return
		}
		o.lease, o.explicit = d, true
	}
}

// Watchdog sets the lease of locks that are renewed while they are held: how
// long such a lock survives its holder. It is renewed every third of that. The
// default is 30 seconds.
func Watchdog(d time.Duration) Option {
	return func(o *options) {
		if d < minLease || d > longest {
			o.reject("Watchdog(%v): must be from %v to %v", d, minLease, longest)
			return
		}
		o.lease, o.explicit = d, false
	}
}

// Wait bounds the wait for a lock, but not the work done under it. Zero means
// one attempt. By default only the context bounds it.
func Wait(d time.Duration) Option {
	return func(o *options) {
		if d < 0 || d > longest {
			o.reject("Wait(%v): must be from 0 to %v", d, longest)
			return
		}
		o.wait, o.bounded = d, true
	}
}

// MaxHold bounds how long a lock is renewed. Who holds it longer loses it, with
// [ErrMaxHold] as the reason. By default there is no bound.
func MaxHold(d time.Duration) Option {
	return func(o *options) {
		if d < minLease || d > longest {
			o.reject("MaxHold(%v): must be from %v to %v", d, minLease, longest)
			return
		}
		o.maxHold = d
	}
}

// Reentrant lets whoever has the context of a hold take the lock again. Entries
// are counted in this process and cost no round trip; the last one to leave
// releases the lock. Without it a nested lock fails at once.
func Reentrant() Option { return func(o *options) { o.reentrant = true } }

// Fair makes a [Mutex] go to those who wait in the order in which they came, in
// whatever process. A waiter that dies costs those behind it five seconds at
// most. Others who ask for the same key without it take their chance past the
// line. The other kinds of locks are fair as they are.
func Fair() Option { return func(o *options) { o.fair = true } }

// Name is what the program calls itself where operators see who holds a lock. It
// is given to [New]; the default is the name of the executable.
func Name(name string) Option { return func(o *options) { o.name = name } }

// Fenced asks for fences that rise strictly even if the engine's clock does
// not. On Redis it costs a key beside the lock.
func Fenced() Option { return func(o *options) { o.fenced = true } }

// Poll makes waiters come back after the pauses that backoff returns instead of
// listening for the release: for engines reached through something that does
// not pass notifications on.
func Poll(backoff Backoff) Option {
	return func(o *options) {
		if backoff == nil {
			o.reject("Poll(nil): pass a Backoff such as Exponential(time.Millisecond, 100*time.Millisecond)")
			return
		}
		o.poll = backoff
	}
}

// Prefix is put before every key. Prefixes add up: a client with Prefix("shop:")
// has a client with Prefix("order:") that makes keys such as "shop:order:42".
func Prefix(p string) Option { return func(o *options) { o.prefix += p } }

// WithTrace reports what happens to locks to t as well as to any trace set
// before.
func WithTrace(t *Trace) Option {
	return func(o *options) { o.trace = o.trace.and(t) }
}

// A Backoff returns how long to pause after the given number of vain tries,
// counted from 1.
type Backoff func(tries int) time.Duration

// Exponential returns a Backoff that starts at least, doubles, and ends at
// most. Each pause is shortened by up to a quarter at random.
func Exponential(least, most time.Duration) Backoff {
	return func(tries int) time.Duration {
		return backoff.Pause(least, most, tries)
	}
}

const (
	// DefaultLease is how long a lock survives its holder by default. It is
	// Redisson's lockWatchdogTimeout.
	DefaultLease = 30 * time.Second

	minLease = watchdog.LeastLease
	longest  = 365 * 24 * time.Hour // more than that is a slip of the unit
)

type options struct {
	prefix    string
	lease     time.Duration
	explicit  bool // the lease is not renewed
	wait      time.Duration
	bounded   bool
	maxHold   time.Duration
	reentrant bool
	fair      bool
	fenced    bool
	name      string
	poll      Backoff
	trace     *Trace
	err       error // the first thing that is wrong
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

// terms are the options that two holds must share for one to pass the lock on
// to the other without asking the engine.
type terms struct {
	lease    time.Duration
	maxHold  time.Duration
	explicit bool
	fenced   bool
}

func (o *options) terms() terms {
	return terms{lease: o.lease, maxHold: o.maxHold, explicit: o.explicit, fenced: o.fenced}
}

// watched are those of the options that a watchdog must know.
func (o *options) watched() watchdog.Terms {
	return watchdog.Terms{Explicit: o.explicit, MaxHold: o.maxHold}
}
