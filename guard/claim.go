package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A Claim is the right to decide what becomes of a key; or, if that was decided
// before, the result. It has the shape of a database transaction: defer Abandon,
// and say what became of the work with Complete, Fail or Free. It is for one
// goroutine at a time.
type Claim[T any] struct {
	claim    claim
	guard    *Guard[T]
	value    T
	replayed bool
}

// Result returns the result of an earlier call, if there is one. There is nothing
// to do then, and Complete, Fail, Free and Abandon do nothing.
func (c *Claim[T]) Result() (result T, ok bool) { return c.value, c.replayed }

// Fence returns a number that grows with every claim of the key, or zero if there
// is none. Hand it to what the work changes: a store that refuses a number lower
// than one it has seen cannot be harmed by work that goes on after its claim was
// lost.
func (c *Claim[T]) Fence() uint64 { return c.claim.fence }

// Unguarded returns why the work runs unguarded; nil if it does not. See [Open].
func (c *Claim[T]) Unguarded() error { return c.claim.unguarded }

// Local tells whether only this process knows of the claim: the engine is down and
// the policy says [Local], or the engine has degraded to that by itself; see package
// standby.
func (c *Claim[T]) Local() bool { return c.claim.alone }

// Left returns for how long the claim is certainly held unless it is renewed.
func (c *Claim[T]) Left() time.Duration {
	if c.claim.ledger == nil || !c.claim.live() {
		return 0
	}
	return c.claim.lease.Left(time.Now())
}

// Complete says that the work was done, and makes v the result for everybody. It
// works whatever became of the context, and takes two seconds at most.
//
// If the claim had been lost by then, the error matches interlock.ErrLost, and v
// is not kept. If the engine could not be told, it matches [ErrNotStored]; it is
// then told in the background for as long as the claim lasts. A result that cannot
// be kept is no error: that the work was done is kept, and duplicates are told
// so with a *[NoResultError].
func (c *Claim[T]) Complete(v T) error {
	if c.replayed || c.claim.ledger == nil {
		return c.claim.close()
	}
	what, text, why, on := value, []byte(nil), error(nil), (*sheet)(nil)
	if c.claim.core.policy.After == Keep {
		c.value = v
		on = newSheet()
		defer on.release()
		text, why = c.guard.encode(&c.value, on)
		switch {
		case errors.Is(why, ErrTooLarge):
			what = tooLarge
		case why != nil:
			what = unencoded
		}
	}
	return c.claim.complete(what, text, why, on)
}

// Fail says that the work was not done, for the given reason, and has left
// nothing behind. Depending on [Policy.OnError] the next call runs, or gets the
// text of err.
//
// If err says that something took too long, or was made by [OutcomeUnknown], or if the
// claim's context has ended, that is not so sure: then Fail is Abandon, unless err
// was made by [NotExecuted].
func (c *Claim[T]) Fail(err error) error {
	if c.replayed || c.claim.ledger == nil {
		return c.claim.close()
	}
	if err == nil {
		err = errors.New("failed without saying why")
	}
	if doubtful(&c.claim, err) {
		return c.claim.leaveOpen()
	}
	return c.claim.fail(err)
}

// Free says that nothing has happened, so that the next call runs, whatever
// [Policy.OnError] says.
func (c *Claim[T]) Free() error {
	if c.replayed || c.claim.ledger == nil {
		return c.claim.close()
	}
	return c.claim.settle(engine.Settlement{Outcome: engine.Absent}, Freed, nil)
}

// Abandon gives the claim up without saying what became of the work: nobody knows
// then, and [Policy.OnUnknown] says what happens. After Complete, Fail or Free it
// does nothing, so that it can be deferred.
func (c *Claim[T]) Abandon() error {
	if c.replayed || c.claim.ledger == nil {
		return c.claim.close()
	}
	if c.claim.fate.Load() == settled {
		return nil
	}
	err := c.claim.leaveOpen()
	if errors.Is(err, ErrSettled) {
		return nil // meanwhile
	}
	return err
}

// run does the work and settles the claim by what came of it.
func (c *Claim[T]) run(ctx context.Context, fn func(context.Context) (T, error)) (T, error) {
	defer c.Abandon() //nolint:errcheck // should something panic, or fn not return; otherwise it is settled by then
	if fn == nil {
		_ = c.Free() // whoever forgot it has done nothing
		panic(errors.New("guard: there is no work to do: pass a function to Do"))
	}
	v, err := fn(ctx)
	if err != nil {
		return v, c.joined(err, c.Fail(err))
	}
	err = c.Complete(v)
	if errors.Is(err, ErrNotStored) {
		err = nil // the work was done: that is what counts for its caller
	}
	return v, err
}

// doubtful tells whether work that returned err under ctx may have had its effect
// all the same.
func doubtful(ctx context.Context, err error) bool {
	var sure *notExecutedError
	return !errors.As(err, &sure) && (errors.Is(err, ErrUnknown) || timedOut(err) || ctx.Err() != nil)
}

// timedOut tells whether err says that something took too long: a deadline of a
// context, of a connection, or of whatever else has the method for it.
func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// joined returns the work's error, and that the claim was lost before, if so.
func (c *Claim[T]) joined(err, settled error) error {
	if isLost(settled) && !isLost(err) {
		return errors.Join(err, settled)
	}
	return err
}

// encode turns a result into bytes, which may be on a sheet.
func (g *Guard[T]) encode(v *T, on *sheet) (text []byte, err error) {
	defer func() {
		if p := recover(); p != nil { // the work was done, whatever its result does
			text, err = nil, fmt.Errorf("%w: it panicked: %v", ErrCodec, p)
		}
	}()
	switch codec := g.codec.(type) {
	case JSON:
		text, err = on.writeJSON(v) // as if it were *v, which would have to be copied
	case appender:
		text, err = on.write(codec, *v)
	default:
		text, err = codec.Marshal(*v)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	case len(text) > g.maxResult:
		return nil, fmt.Errorf("%w: it has %d bytes, %d are allowed; see MaxResult", ErrTooLarge, len(text), g.maxResult)
	}
	return text, nil
}

// decode returns the result that a record holds, or why it cannot be had.
func (g *Guard[T]) decode(key string, rec engine.Record) (v T, err error) {
	what, text, err := g.open(key, rec.Result)
	switch {
	case err != nil:
		return v, err
	case what == tooLarge:
		return v, ErrTooLarge
	case what == unencoded:
		return v, ErrCodec
	case what == noRoom:
		return v, ErrNoRoom
	case what != value:
		return v, fmt.Errorf("%w: none was kept", ErrNoResult)
	}
	if err := g.codec.Unmarshal(text, &v); err != nil {
		var zero T
		return zero, fmt.Errorf("it does not decode: %w", err)
	}
	return v, nil
}
