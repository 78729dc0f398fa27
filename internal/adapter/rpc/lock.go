package rpc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/interlockhttp"
)

// lockWait is the default wait for a lock, as in package interlockhttp.
const lockWait = 10 * time.Second

// Lock returns a middleware that runs one call per key at a time.
func Lock(client *interlock.Client, name string, source Source, s *Settings, protocol Protocol) (*Middleware, error) {
	locks := append([]interlock.Option{interlock.WithName(name), interlock.Wait(lockWait)}, s.Locking...)
	s.checkNamed("Lock", client, name, source, protocol)
	if client != nil {
		canceled, cancel := context.WithCancel(context.Background())
		cancel() // TryLock checks the options first, and with a canceled context it does not call the engine
		if _, _, err := client.Mutex(interlock.Key(name, "id"), locks...).TryLock(canceled); errors.Is(err, interlock.ErrOption) {
			s.Reject("Locking: %w", err)
		}
	}
	if err := s.err(); err != nil {
		return nil, err
	}
	m := &Middleware{settings: s, protocol: protocol}
	m.do = func(ctx context.Context, c *Call, work Work) *Reply {
		id, ok, err := m.findID(ctx, c, source)
		switch {
		case err != nil:
			return refused(m.problem(c, err))
		case !ok:
			return work(ctx)
		}
		inner, hold, err := client.Mutex(interlock.Key(name, id), locks...).Lock(ctx)
		if err != nil {
			return refused(m.problem(c, err))
		}
		defer hold.Unlock() //nolint:errcheck // the client's trace reports it
		start := time.Now()
		defer func() { m.latency.record(time.Since(start)) }()
		return work(newScope(inner, m))
	}
	return m, nil
}

// checkNamed refuses mistakes that Lock and Limit have in common.
func (s *Settings) checkNamed(what string, client *interlock.Client, name string, source Source, protocol Protocol) {
	if client == nil {
		s.Reject("the client is nil: use interlock.New(nil) for an engine in this process")
	}
	if name == "" {
		s.Reject("%s: give it a name, such as %q", what, "pay")
	}
	if source.get == nil {
		s.Reject("%s: the source is empty, or its function is nil", what)
	}
	s.rejectGuardOptions()
	s.checkMethods(protocol, true)
}

// The fields of a reply's header that describe a quota.
const (
	fieldRateLimit       = "ratelimit"
	fieldRateLimitPolicy = "ratelimit-policy"
)

// Limit returns a middleware that runs at most n calls per key in each window.
func Limit(client *interlock.Client, name string, n int, w interlock.Window, source Source, s *Settings, protocol Protocol) (*Middleware, error) {
	s.checkNamed("Limit", client, name, source, protocol)
	if s.Locking != nil {
		s.Reject("Locking: the option is only for Lock")
	}
	if client != nil && name != "" {
		canceled, cancel := context.WithCancel(context.Background())
		cancel() // the quota checks its options first, and the engine refuses a canceled context
		if _, err := client.Quota(name, n, w).Usage(canceled); errors.Is(err, interlock.ErrOption) || errors.Is(err, errors.ErrUnsupported) {
			s.Reject("Limit: %w", err)
		}
	}
	if err := s.err(); err != nil {
		return nil, err
	}
	m := &Middleware{settings: s, protocol: protocol, limits: true}
	describe := func(c *Call, limit, left int, next time.Duration) {
		policy := fmt.Sprintf("%+q;q=%d", name, limit)
		if d := w.Length(); d > 0 {
			policy += ";w=" + seconds(d)
		}
		c.SetHeader(fieldRateLimitPolicy, policy)
		c.SetHeader(fieldRateLimit, fmt.Sprintf("%+q;r=%d;t=%s", name, left, seconds(next)))
	}
	m.do = func(ctx context.Context, c *Call, work Work) *Reply {
		id, ok, err := m.findID(ctx, c, source)
		switch {
		case err != nil:
			return refused(m.problem(c, err))
		case !ok:
			return work(ctx)
		}
		unit, err := client.Quota(interlock.Key(name, id), n, w, interlock.WithName(name)).Take(ctx)
		if err != nil {
			var exceeded *interlock.QuotaError
			if errors.As(err, &exceeded) {
				describe(c, exceeded.Limit, 0, exceeded.RetryAfter)
			}
			return refused(m.problem(c, err))
		}
		use := unit.Usage()
		describe(c, use.Limit, use.Left(), use.Next)
		return m.runUnit(ctx, unit, work)
	}
	return m, nil
}

// runUnit calls the handler, and gives its unit back if nothing was executed.
func (m *Middleware) runUnit(ctx context.Context, unit *interlock.QuotaUnit, work Work) (r *Reply) {
	s := newScope(ctx, m)
	defer func() { // also if the handler panics
		var inner *Problem
		if s.end() == interlockhttp.NotExecuted || r != nil && errors.As(r.Err, &inner) {
			_ = unit.GiveBack(ctx) // if it fails, the unit counts until its window ends
		}
	}()
	return work(s)
}

// seconds returns d in seconds, rounded up.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
