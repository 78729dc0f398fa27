package interlockhttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/interlock-go/interlock"
)

// Lock returns a middleware that lets one request at a time do something: of those
// with the same key, the others wait for up to 10 seconds, or for as long as
// interlock.Wait among the lock's options and their own contexts let them, and are
// refused with 423. The lock's key is name and what source finds.
//
//	pay, err := interlockhttp.Lock(client, "pay", interlockhttp.PathValue("id"), interlockhttp.Locking(interlock.Wait(3*time.Second)))
//	…
//	mux.Handle("POST /orders/{id}/pay", pay(handler))
//
// A request that has no key is refused. If the lock is lost, the handler's context
// ends.
//
// The lock is held for as long as the handler runs, so a client that sends slowly, or
// reads slowly, holds up the others. With [MaxBody] or [BodyTimeout] the body is read
// before; for the answer there is the server's WriteTimeout.
func Lock(client *interlock.Client, name string, source Source, opts ...Option) (func(http.Handler) http.Handler, error) {
	s := newSettings(opts)
	switch {
	case client == nil:
		s.reject("there is no client: use interlock.New(nil) for an engine in this process")
	case name == "":
		s.reject("Lock: give it a name, such as %q", "pay")
	}
	locks := append([]interlock.Option{interlock.Wait(lockWait)}, s.lockOptions...)
	if client != nil {
		s.checkLockOptions(client, name, locks)
	}
	return s.lock(source, func(id string) interlock.Locker { return client.Mutex(interlock.Key(name, id), locks...) })
}

// LockWith is [Lock] for locks of any kind: lock returns that of what source finds,
// with its options.
func LockWith(lock func(id string) interlock.Locker, source Source, opts ...Option) (func(http.Handler) http.Handler, error) {
	s := newSettings(opts)
	if lock == nil {
		s.reject("LockWith(nil): pass a function that returns a lock")
	}
	if s.lockOptions != nil {
		s.reject("Locking: give the options to the locks that LockWith gets")
	}
	return s.lock(source, lock)
}

// lock returns the middleware of locks.
func (s *settings) lock(source Source, of func(id string) interlock.Locker) (func(http.Handler) http.Handler, error) {
	s.checkSource(source)
	s.rejectGuardOptions()
	if err := s.err(); err != nil {
		return nil, err
	}
	pace := &latencyAverage{}
	return func(next http.Handler) http.Handler {
		mustWrap(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if s.methods != nil && !s.guards(r.Method) {
				next.ServeHTTP(w, r)
				return
			}
			q := &request{Request: r, w: w, settings: s, next: next}
			if s.shadow != nil {
				q.observeLock(of, source, pace)
				return
			}
			q.lock(of, source, pace)
		})
	}, nil
}

// lockWait is how long a request waits for a lock, unless it is told otherwise: the
// client should hear of it before it hangs up.
const lockWait = 10 * time.Second

// checkLockOptions refuses options that no lock takes: each request would be told that the
// engine cannot be asked, and to come back.
func (s *settings) checkLockOptions(client *interlock.Client, name string, opts []interlock.Option) {
	over, cancel := context.WithCancel(context.Background())
	cancel() // what is wrong is said first, and nothing is asked for
	if _, _, err := client.Mutex(interlock.Key(name, "id"), opts...).TryLock(over); errors.Is(err, interlock.ErrOption) {
		s.reject("Locking: %w", err)
	}
}

// rejectGuardOptions refuses options that a lock does nothing about.
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
		{"Guarding", s.guardOptions != nil},
	} {
		if o.set {
			s.reject("%s: it is for Once and Submit, and does nothing for a Lock", o.name)
		}
	}
}

// lock answers the request while nobody else does.
func (q *request) lock(of func(id string) interlock.Locker, source Source, pace *latencyAverage) {
	id, err := source.find(q)
	if err == nil && q.settings.bufferFirst {
		err = q.rewind()
	}
	switch {
	case errors.Is(err, errNoKey) && q.settings.optional:
		q.restoreBody()
		q.next.ServeHTTP(q.w, q.Request)
		return
	case err != nil:
		q.settings.sendProblem(q.w, q.Request, q.keyProblem(source.keyLocation, err))
		return
	}
	ctx, hold, err := of(id).Lock(q.Context())
	if err != nil {
		q.settings.sendProblem(q.w, q.Request, lockProblem(err, pace)) // nobody hears it if the client has left; silence would be a 200
		return
	}
	defer hold.Unlock() //nolint:errcheck // who traces the client hears of it
	q.restoreBody()
	start := time.Now()
	r := q.Request.WithContext(ctx)
	defer q.copyBack(r)
	q.next.ServeHTTP(q.w, r)
	pace.record(time.Since(start))
}

// observeLock answers the request as if nobody were there, and reports whether it
// would have had to wait, or been refused. It takes the lock if that is free, so that
// others are seen to meet it.
func (q *request) observeLock(of func(id string) interlock.Locker, source Source, pace *latencyAverage) {
	id, err := source.find(q)
	switch {
	case errors.Is(err, errNoKey) && q.settings.optional:
	case err != nil:
		q.report(Shadowed{Problem: q.settings.applyOptions(q.keyProblem(source.keyLocation, err))})
	default:
		_, hold, err := of(id).TryLock(q.Context())
		if err == nil {
			defer hold.Unlock() //nolint:errcheck // nobody relies on it
		} else if q.Context().Err() == nil {
			q.report(Shadowed{Problem: q.settings.applyOptions(lockProblem(err, pace))})
		}
	}
	q.restoreBody()
	q.next.ServeHTTP(q.w, q.Request)
}

// lockProblem puts into a problem why there is no lock.
func lockProblem(err error, pace *latencyAverage) *Problem {
	var busy *interlock.ContendedError
	switch {
	case errors.As(err, &busy):
		p := problemOf(Locked, err)
		p.RetryAfter = pace.retryAfter(busy.RetryAfter)
		return p
	case errors.Is(err, interlock.ErrContended):
		return problemOf(Locked, err)
	}
	return problemOf(codeOf(err), err)
}
