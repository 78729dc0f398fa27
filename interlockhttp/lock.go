package interlockhttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/interlock-go/interlock"
)

// Lock returns a middleware that runs one request per key at a time. Other requests wait
// for up to 10 seconds, or for the time set by interlock.Wait in [Locking], and are then
// refused with 423. The lock's key consists of name and the key that source finds. Metrics
// and traces show the locks under name.
//
//	pay, err := interlockhttp.Lock(client, "pay", interlockhttp.PathValue("id"), interlockhttp.Locking(interlock.Wait(3*time.Second)))
//	…
//	mux.Handle("POST /orders/{id}/pay", pay(handler))
//
// A request without a key is refused. If the lock is lost, the handler's context is
// canceled.
//
// The lock is held while the handler runs, so a slow client delays other requests. With
// [MaxBody] or [BodyTimeout] the body is read before the lock is acquired; the server's
// WriteTimeout bounds the response.
func Lock(client *interlock.Client, name string, source Source, opts ...Option) (func(http.Handler) http.Handler, error) {
	s := newSettings(opts)
	switch {
	case client == nil:
		s.reject("the client is nil: use interlock.New(nil) for an engine in this process")
	case name == "":
		s.reject("Lock: give it a name, such as %q", "pay")
	}
	locks := append([]interlock.Option{interlock.WithName(name), interlock.Wait(lockWait)}, s.lockOptions...)
	if client != nil {
		s.checkLockOptions(client, name, locks)
	}
	return s.lock(source, func(id string) interlock.Locker { return client.Mutex(interlock.Key(name, id), locks...) })
}

// LockWith is [Lock] for locks of any kind: lock returns the lock for the ID that source
// finds.
func LockWith(lock func(id string) interlock.Locker, source Source, opts ...Option) (func(http.Handler) http.Handler, error) {
	s := newSettings(opts)
	if lock == nil {
		s.reject("LockWith(nil): pass a function that returns a lock")
	}
	if s.lockOptions != nil {
		s.reject("Locking: LockWith ignores it: give the options to the locks")
	}
	return s.lock(source, lock)
}

// lock builds the middleware of Lock and LockWith.
func (s *settings) lock(source Source, lockFor func(id string) interlock.Locker) (func(http.Handler) http.Handler, error) {
	s.checkSource(source)
	s.rejectGuardOptions()
	if err := s.err(); err != nil {
		return nil, err
	}
	latency := &latencyAverage{}
	return func(next http.Handler) http.Handler {
		mustWrap(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if s.methods != nil && !s.guards(r.Method) {
				next.ServeHTTP(w, r)
				return
			}
			q := &request{Request: r, w: w, settings: s, next: next}
			if s.shadow != nil {
				q.observeLock(lockFor, source, latency)
				return
			}
			q.lock(lockFor, source, latency)
		})
	}, nil
}

// lockWait is the default wait for a lock. It is shorter than the timeouts of most
// clients, so that they receive the refusal.
const lockWait = 10 * time.Second

// checkLockOptions refuses invalid lock options at set-up. Otherwise every request would
// fail as if the engine were down.
func (s *settings) checkLockOptions(client *interlock.Client, name string, opts []interlock.Option) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel() // TryLock checks the options first, and with a canceled context it does not call the engine
	if _, _, err := client.Mutex(interlock.Key(name, "id"), opts...).TryLock(canceled); errors.Is(err, interlock.ErrOption) {
		s.reject("Locking: %w", err)
	}
}

// rejectGuardOptions refuses options that have no effect on a lock.
func (s *settings) rejectGuardOptions() {
	for _, o := range []struct {
		name string
		set  bool
	}{
		{"User", s.user != nil},
		{"Key", s.source != nil},
		{"MinKey", s.minKey != 0},
		{"Tee", s.tee},
		{"WithTokens", s.tokens != nil},
		{"Allow", s.allow != nil},
		{"OnKey", s.onKey != nil},
		{"Guarding", s.guardOptions != nil},
	} {
		if o.set {
			s.reject("%s: the option is only for Once and Submit", o.name)
		}
	}
}

// findID returns the ID that source finds. Without one it answers the request, by the
// handler or with a problem, and reports false.
func (q *request) findID(source Source, refuse func(*Problem)) (id string, ok bool) {
	id, err := source.find(q)
	if err == nil && q.settings.bufferFirst {
		err = q.rewind()
	}
	switch {
	case errors.Is(err, errNoKey) && q.settings.optional:
		q.restoreBody()
		q.next.ServeHTTP(q.w, q.Request)
	case err != nil:
		refuse(q.keyProblem(source.keyLocation, err))
	default:
		return id, true
	}
	return "", false
}

// lock runs the handler while holding the lock.
func (q *request) lock(lockFor func(id string) interlock.Locker, source Source, latency *latencyAverage) {
	id, ok := q.findID(source, q.refuseUnexecuted)
	if !ok {
		return
	}
	ctx, hold, err := lockFor(id).Lock(q.Context())
	if err != nil {
		q.refuseUnexecuted(lockProblem(err, latency)) // even if the client has disconnected: an empty response would be a 200
		return
	}
	defer hold.Unlock() //nolint:errcheck // the client's trace reports it
	q.restoreBody()
	start := time.Now()
	r := q.Request.WithContext(ctx)
	defer q.copyBack(r)
	q.next.ServeHTTP(q.w, r)
	latency.record(time.Since(start))
}

// observeLock runs the handler in any case, and reports whether the request would have
// waited or been refused. It acquires the lock if it is free, so that other requests see
// it held.
func (q *request) observeLock(lockFor func(id string) interlock.Locker, source Source, latency *latencyAverage) {
	id, err := source.find(q)
	switch {
	case errors.Is(err, errNoKey) && q.settings.optional:
	case err != nil:
		q.report(Shadowed{Problem: q.settings.applyOptions(q.keyProblem(source.keyLocation, err))})
	default:
		_, hold, err := lockFor(id).TryLock(q.Context())
		if err == nil {
			defer hold.Unlock() //nolint:errcheck // the lock protects nothing in shadow mode
		} else if q.Context().Err() == nil {
			q.report(Shadowed{Problem: q.settings.applyOptions(lockProblem(err, latency))})
		}
	}
	q.restoreBody()
	q.next.ServeHTTP(q.w, q.Request)
}

// lockProblem turns an error of a lock into a problem.
func lockProblem(err error, latency *latencyAverage) *Problem {
	var busy *interlock.ContendedError
	switch {
	case errors.As(err, &busy):
		p := problemOf(Locked, err)
		p.RetryAfter = latency.retryAfter(busy.RetryAfter)
		return p
	case errors.Is(err, interlock.ErrContended):
		return problemOf(Locked, err)
	}
	return problemOf(codeOf(err), err)
}
