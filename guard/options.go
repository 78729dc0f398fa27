package guard

import (
	"context"
	"fmt"
	"slices"

	"github.com/interlock-go/interlock"
)

// An Option sets what is not part of a [Policy].
type Option func(*settings)

// settings collects the options.
type settings struct {
	codec            Codec
	maxResult        int
	maxWaitersPerKey int
	maxWaiters       int
	ring             *Ring
	secret           []byte
	traceID          func(context.Context) string // for exemplars; may be nil
	resolver         any                          // a func(context.Context, Key) (T, bool, error)
	traces           []*Trace
	detached         bool
	replacing        bool
	errs             []error
}

func newSettings(opts []Option) settings {
	s := settings{codec: JSON{}, maxResult: 1 << 20, maxWaitersPerKey: 1000, maxWaiters: 10_000}
	for _, opt := range opts {
		opt(&s)
	}
	return s
}

// reject records a mistake, so that New can report all of them at once.
func (s *settings) reject(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf("guard: "+format, args...))
}

// WithCodec sets the codec of results. Default: [JSON].
func WithCodec(c Codec) Option {
	return func(s *settings) {
		if c == nil {
			s.reject("WithCodec(nil): leave the option out for JSON")
			return
		}
		s.codec = c
	}
}

// MaxResult bounds a stored result, in bytes. For a larger result the record only says
// that the work was done, so that it does not run again. Default: 1 MiB.
func MaxResult(n int) Option {
	return func(s *settings) {
		if n < 1 {
			s.reject("MaxResult(%d): must be above zero; to store no results, give the policy another After", n)
			return
		}
		s.maxResult = n
	}
}

// MaxWaiting bounds how many duplicates wait in this process, for one key and in
// total. Further duplicates are refused. Default: 1,000 and 10,000.
func MaxWaiting(perKey, total int) Option {
	return func(s *settings) {
		if perKey < 1 || total < 1 {
			s.reject("MaxWaiting(%d, %d): must be above zero; to refuse all duplicates, give the policy another OnDuplicate", perKey, total)
			return
		}
		s.maxWaitersPerKey, s.maxWaiters = perKey, total
	}
}

// Encrypt encrypts results with the keys of r. The guard then rejects results that are
// not encrypted as [ErrCorrupt], since anyone with access to the engine could have
// written them. If Encrypt is added later, that includes older results until they
// expire; their work does not run again.
func Encrypt(r *Ring) Option {
	return func(s *settings) {
		if r == nil {
			s.reject("Encrypt(nil): make a Ring with NewRing")
			return
		}
		s.ring = r
	}
}

// HashWith hashes keys with a secret, so that a reader of the engine cannot guess the
// user or order behind a key. All processes must share the secret; with another
// secret, all earlier records are out of reach.
func HashWith(secret []byte) Option {
	return func(s *settings) {
		if len(secret) < minSecret {
			s.reject("HashWith: a secret of %d bytes can be guessed: use 32 random bytes", len(secret))
			return
		}
		s.secret = append([]byte(nil), secret...)
	}
}

// WithTrace adds a trace to those set before.
func WithTrace(t *Trace) Option {
	return func(s *settings) { s.traces = append(s.traces, t) }
}

// TraceGuards is an option of a client. Every guard on the client, those of directives and
// middleware included, reports to t and to the traces set before.
func TraceGuards(t *Trace) interlock.Option {
	return interlock.WithValue(traceKey{}, t)
}

type traceKey struct{}

// clientTrace returns the traces of TraceGuards as one.
func clientTrace(client *interlock.Client) (t *Trace) {
	for _, v := range slices.Backward(client.Values(traceKey{})) {
		t = t.and(v.(*Trace))
	}
	return t
}

// Detached lets work continue when its caller's context ends. The work's context keeps
// the caller's values and ends with the claim. A duplicate that waits still stops with
// its own context, and unguarded work ends with its caller's.
func Detached() Option {
	return func(s *settings) { s.detached = true }
}

// Replacing lets the guard replace an older guard of the same name on the same client
// that has another OnUnknown and still runs work. Without it, [New] fails. An unknown
// outcome that the older guard holds stays held.
func Replacing() Option {
	return func(s *settings) { s.replacing = true }
}

// Resolver sets the function that finds out an unknown outcome, for a policy with OnUnknown
// [Resolve]. For example, find looks for the order in the database. It returns the result
// if the work happened. If it reports that the work did not happen, the work runs. If it
// returns an error, the outcome stays unknown. find is called under the claim, so only one
// call of it runs at a time.
func Resolver[T any](find func(ctx context.Context, key Key) (result T, happened bool, err error)) Option {
	return func(s *settings) {
		if find == nil {
			s.reject("Resolver(nil): pass a function, or give the policy another OnUnknown")
			return
		}
		s.resolver = find
	}
}
