package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// DoTx is [Guard.Do] in a transaction of the caller. The claim, the changes that fn makes in
// the transaction, and the result are committed together, or not at all. So the outcome is
// never unknown, whenever a process or a connection dies. tx comes from the guard's engine,
// such as the method Tx of engine/postgres:
//
//	tx, err := pool.Begin(ctx)
//	if err != nil {
//		return err
//	}
//	defer tx.Rollback(ctx)
//	order, err := orders.DoTx(ctx, engine.Tx(tx), key, func(ctx context.Context) (Order, error) {
//		return insertOrder(ctx, tx, cart)
//	})
//	if err != nil {
//		return err // rolled back: the next call runs
//	}
//	return tx.Commit(ctx)
//
// The caller commits, and must roll back if DoTx returns an error or panics. If the caller
// commits nevertheless, the outcome is unknown, and [Policy.OnUnknown] decides.
//
// The policy applies with these exceptions. After an error nothing is kept, as if OnError
// were Free, because the rollback undoes the record, too. OnDown has no effect: without the
// database there is no work either. But while the engine is down, a [Guard.Do] with OnDown
// Open or Local may repeat the work. A duplicate of a transaction that has not ended waits for
// its end if OnDuplicate is Wait, and is refused otherwise. A duplicate of a [Guard.Do] that is
// running is refused at once, so that it does not keep its transaction open. Effects outside of
// the database are not part of the transaction; use [Guard.Do] for those.
func (g *Guard[T]) DoTx(ctx context.Context, tx engine.Tx, key Key, fn func(context.Context) (T, error)) (T, error) {
	w := &txWork[T]{guard: g, tx: tx, call: call{core: g.core, key: key, start: time.Now(), askedEngine: true}}
	g.tasks.Begin() // Close waits for this call
	defer g.tasks.End()
	v, replayed, err := w.claim(ctx)
	w.call.report(ctx, &w.granted, replayed, err)
	if err != nil || replayed {
		return v, err
	}
	g.stats.running.Add(1)
	defer g.stats.running.Add(-1)
	ending, why := Freed, error(nil) // unless the work returns: the caller rolls back
	defer func() { w.report(ctx, ending, why) }()
	if v, why = fn(w.context(ctx)); why != nil {
		return v, why
	}
	if ending, why, err = w.complete(ctx, v); err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// txKey is the key of the fence in the context of the work.
type txKey struct{}

// A txWork is one call of DoTx.
type txWork[T any] struct {
	guard   *Guard[T]
	tx      engine.Tx
	call    call
	req     engine.Claim
	granted claim // for reports; it has no lease
}

// claim claims the key, or finds the result of an earlier call.
func (w *txWork[T]) claim(ctx context.Context) (v T, replayed bool, err error) {
	g, k := w.guard, &w.call
	switch {
	case g.closed.Load():
		return v, false, ErrClosed
	case w.tx == nil || w.tx.Engine() != g.engine:
		return v, false, fmt.Errorf("guard: DoTx(%q): the transaction belongs to another engine than the guard: make it with the engine of the guard's client", g.policy.Name)
	}
	if err := k.identify(ctx); err != nil {
		return v, false, err
	}
	if err := w.ask(ctx); err != nil {
		return v, false, k.callerError(ctx, err)
	}
	if w.call.answer.rec.Granted {
		return w.resolve(ctx)
	}
	a, err := k.interpret()
	if err != nil {
		return v, false, err
	}
	if v, err = g.decode(k, a.rec); err != nil {
		return v, false, k.noResult(err)
	}
	return v, true, nil
}

// context returns the context of the work.
func (w *txWork[T]) context(ctx context.Context) context.Context {
	if t := w.guard.trace; t != nil && t.Executing != nil {
		var origin string
		ctx, origin = t.Executing(Executing{Context: ctx, Guard: w.guard.policy.Name, Key: w.call.hash, Fence: w.granted.fence})
		if len(origin) <= maxOrigin {
			w.granted.origin = origin
		}
	}
	return context.WithValue(ctx, txKey{}, w.granted.fence)
}

// ask claims the key in the transaction. If an earlier outcome is unknown and there is a
// resolver, it asks again to take that claim over.
func (w *txWork[T]) ask(ctx context.Context) (err error) {
	g, k := w.guard, &w.call
	g.stats.asked.Add(1)
	w.req = k.request()
	// This process may have done the work while the engine was down; see OnDown.
	if k.core.fallback.decided(k.hash) != engine.Absent {
		if k.answer.rec = lookupIn(k.core.fallback.decisions, k.hash); !matches(k.answer.rec.Fingerprint, k.fingerprint) {
			return engine.ErrMismatch
		}
		return nil
	}
	var wait time.Duration
	if g.policy.OnDuplicate == Wait {
		wait = g.policy.Wait
	}
	if k.answer.rec, err = w.tx.Claim(ctx, w.req, wait); err != nil {
		return err
	}
	if k.answer.rec.State == engine.Unknown && g.policy.OnUnknown == Resolve {
		before := k.answer.rec
		w.req.TakeOver = true
		k.answer.rec, err = w.tx.Claim(ctx, w.req, wait)
		k.answer.unresolved = &before
	}
	return err
}

// resolve decides whether the work of a granted claim may run. It asks the resolver about an
// unknown outcome.
func (w *txWork[T]) resolve(ctx context.Context) (v T, replayed bool, err error) {
	g, k, rec := w.guard, &w.call, &w.call.answer.rec
	w.granted.core, w.granted.fence, w.granted.startedAt = g.core, rec.Fence, time.Now()
	if before := k.answer.unresolved; before != nil {
		v, happened, err := g.resolve(ctx, k.key)
		switch {
		case err != nil:
			return v, false, k.unknown(*before, err)
		case happened:
			_, _, err := w.complete(ctx, v)
			return v, true, err
		}
	}
	if k.key.expired {
		return v, false, ErrTokenExpired
	}
	return v, false, nil
}

// complete settles the claim with v as the result. It returns how the claim ends, and why the
// result is not stored. After an error the claim is freed, because the caller rolls back.
func (w *txWork[T]) complete(ctx context.Context, v T) (ending Ending, why, err error) {
	g, k, p := w.guard, &w.call, &w.guard.policy
	ending = Completed
	s := engine.Settlement{Key: k.hash, Attempt: w.req.Attempt, Outcome: engine.Done, Retain: k.retain()}
	what, text := nothing, []byte(nil)
	switch p.After {
	case Free:
		ending, s.Outcome, s.Retain = Freed, engine.Absent, 0
	case Window:
		s.Retain, s.FromStart = p.Window, true
	default:
		buf := newEncodeBuffer()
		defer buf.release()
		switch text, why = g.encode(&v, buf); {
		case errors.Is(why, ErrTooLarge):
			ending, what = Tombstoned, tooLarge
		case why != nil:
			ending, what = Tombstoned, unencoded
		default:
			what = value
		}
	}
	if s.Outcome == engine.Done {
		what, text = withOrigin(what, text, w.granted.origin)
		if s.Result, err = g.pack(k.hash, what, text, nil); err != nil {
			err = fmt.Errorf("guard: %q: the result cannot be encrypted: %w; roll the transaction back", k.hash, err)
			return Freed, err, err
		}
	}
	out, err := w.tx.Settle(ctx, s)
	if full := err; errors.Is(full, engine.ErrFull) && len(s.Result) > 0 {
		// The result does not fit, but a tombstone may. It does not if the server has aborted the
		// transaction.
		s.Result = plainEnvelope(k.hash, noSpace, nil)
		if again, failed := w.tx.Settle(ctx, s); failed == nil {
			out, err, ending, why = again, nil, Tombstoned, full
		}
	}
	if err == nil && out != engine.Released {
		err = fmt.Errorf("the claim is gone: %v", out)
	}
	if err != nil {
		err = fmt.Errorf("%w: %q: %w; roll the transaction back", ErrNotStored, k.hash, err)
		return Freed, err, err
	}
	return ending, why, nil
}

// report counts and traces the end of the work.
func (w *txWork[T]) report(ctx context.Context, e Ending, err error) {
	c, took := w.guard.core, time.Since(w.granted.startedAt)
	c.stats.countEnding(e)
	c.stats.took.Observe(took)
	if t := c.trace; t != nil && t.Settled != nil {
		t.Settled(Settled{Context: ctx, Guard: c.policy.Name, Key: w.call.hash, Ending: e, Fence: w.granted.fence, Took: took, Err: err})
	}
}
