package postgres

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// The codes of the functions in locks.sql.
const (
	codeBusy = iota
	codeGranted
	codeAbandoned
	codeOtherKind
	codeUpgrade
	codeFull
	codeLocked
)

// Acquire implements [engine.Engine].
func (e *Engine) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	if err := e.checkAcquire(ctx, &r); err != nil {
		return engine.Grant{}, err
	}
	s := e.call("acquire", r.Key, []byte(r.Key), int64(r.Kind), []byte(r.Holder), []byte(r.Attempt),
		micros(r.Lease), micros(max(r.QueueLease, 0)), int64(r.FenceReserve), int64(r.Limit), e.wait())
	var (
		code, fence, entries, left, ahead int64
		holder                            []byte
	)
	if err := e.row(ctx, s, &code, &fence, &entries, &left, &holder, &ahead); err != nil {
		return engine.Grant{}, err
	}
	switch code {
	case codeGranted:
		return engine.Grant{Fence: uint64(fence), Count: int(entries)}, nil
	case codeBusy:
		return engine.Grant{}, &engine.BusyError{Holder: string(holder), Left: duration(left), Ahead: int(ahead)}
	}
	return engine.Grant{}, refusal(s, &r, code, engine.Kind(entries))
}

func (e *Engine) checkAcquire(ctx context.Context, r *engine.Request) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if err := checkRequest(r); err != nil {
		return err
	}
	if r.Kind == engine.Permit {
		if err := checkLimit(r); err != nil {
			return err
		}
	}
	return checkFence(r.Key, r.FenceReserve)
}

// refusal returns the error of a request that no waiting helps. other is the kind of the lock
// at its key.
func refusal(s *statement, r *engine.Request, code int64, other engine.Kind) error {
	switch code {
	case codeAbandoned:
		return fail(s, "the attempt was abandoned before it arrived", engine.ErrAbandoned)
	case codeOtherKind:
		return fail(s, fmt.Sprintf("the key holds a %s lock, and a %s lock was requested: use another key", other, r.Kind), engine.ErrKind)
	case codeUpgrade:
		return fail(s, "a reader cannot acquire the write lock, it would wait for itself: release the read lock first, or begin with the write lock",
			engine.ErrUpgrade)
	case codeFull:
		return fail(s, fmt.Sprintf("the lock has %d readers: release some, or spread the readers over several locks", engine.MaxReaders), engine.ErrFull)
	}
	return lockedError(s)
}
