package guard

import (
	"context"
	"fmt"
)

// An Option changes how a [Guard] works, beyond what its policy says.
type Option func(*settings)

// settings are what options set.
type settings struct {
	codec     Codec
	maxResult int
	perKey    int
	inAll     int
	ring      *Ring
	secret    []byte
	trace     *Trace
	resolver  any // a func(context.Context, Key) (T, bool, error)
	detached  bool
	errs      []error
}

func newSettings(opts []Option) settings {
	s := settings{codec: JSON{}, maxResult: 1 << 20, perKey: 1000, inAll: 10_000}
	for _, opt := range opts {
		opt(&s)
	}
	return s
}

func (s *settings) reject(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf("guard: "+format, args...))
}

// WithCodec sets how results are turned into bytes. The default is [JSON].
func WithCodec(c Codec) Option {
	return func(s *settings) {
		if c == nil {
			s.reject("WithCodec(nil): leave it out for JSON")
			return
		}
		s.codec = c
	}
}

// MaxResult bounds how large a result may be that is kept, in bytes. Of a larger
// one only that it was there is kept, so that the work is not done again. The
// default is 1 MiB.
func MaxResult(n int) Option {
	return func(s *settings) {
		if n < 1 {
			s.reject("MaxResult(%d): must be above zero; to keep no results, give the policy another After", n)
			return
		}
		s.maxResult = n
	}
}

// MaxWaiting bounds how many duplicates wait in this process, for one key and in
// all. The next one is refused. The default is 1,000 and 10,000.
func MaxWaiting(perKey, inAll int) Option {
	return func(s *settings) {
		if perKey < 1 || inAll < 1 {
			s.reject("MaxWaiting(%d, %d): must be above zero; to let nobody wait, give the policy another OnDuplicate", perKey, inAll)
			return
		}
		s.perKey, s.inAll = perKey, inAll
	}
}

// Encrypt encrypts results with the keys of r. Results that are not encrypted are
// then not returned any more, since whoever can write to the engine could have put
// them there: of a guard that gets it later, those of before are ErrCorrupt until
// they have run out, and nothing is done again.
func Encrypt(r *Ring) Option {
	return func(s *settings) {
		if r == nil {
			s.reject("Encrypt(nil): make a Ring with NewRing")
			return
		}
		s.ring = r
	}
}

// HashWith makes what the engine calls a key depend on a secret, so that who sees
// the engine's keys cannot find out by trying which user or order one is about.
// All processes share the secret; with another one, all records are forgotten.
func HashWith(secret []byte) Option {
	return func(s *settings) {
		if len(secret) < leastSecret {
			s.reject("HashWith: a secret of %d bytes can be guessed: use 32 random ones", len(secret))
			return
		}
		s.secret = append([]byte(nil), secret...)
	}
}

// WithTrace reports what happens to t as well as to any trace set before.
func WithTrace(t *Trace) Option {
	return func(s *settings) { s.trace = s.trace.and(t) }
}

// Detached lets work go on when its caller has gone: its context ends with the
// claim, and not with the context it was begun under. It keeps that one's values.
// A caller who only waits is still let go with its own context, and work that runs
// unguarded ends with its caller's, as it would without a guard.
func Detached() Option {
	return func(s *settings) { s.detached = true }
}

// Resolver sets who finds out what became of work whose outcome is unknown, for a
// policy with OnUnknown [Resolve]: by looking for the order in the database, for
// instance. It returns whether the work happened, and if so with which result; if
// it did not, it is run. With an error, the outcome stays unknown. It runs under
// the claim, so that it is alone.
func Resolver[T any](find func(ctx context.Context, key Key) (result T, happened bool, err error)) Option {
	return func(s *settings) {
		if find == nil {
			s.reject("Resolver(nil): pass a function, or give the policy another OnUnknown")
			return
		}
		s.resolver = find
	}
}
