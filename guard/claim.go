package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A Claim is the right to do the work of a key. If the work was done before, the Claim
// has its result. It has the shape of a database transaction: defer Abandon, and settle with
// Complete, Fail or Free. It is for one goroutine at a time.
type Claim[T any] struct {
	claim    claim
	guard    *Guard[T]
	value    T
	replayed bool
	keptFor  time.Duration // how long a replayed result is still kept
}

// Result returns the result of an earlier call, if there is one. Then there is no
// work to do, and Complete, Fail, Free and Abandon have no effect.
func (c *Claim[T]) Result() (result T, ok bool) { return c.value, c.replayed }

// Fence returns a number that grows with every claim of the key, or zero without a
// claim. Pass it to the stores that the work changes: a store that refuses any number lower
// than the highest it has seen is safe from work that outlives its claim.
func (c *Claim[T]) Fence() uint64 { return c.claim.fence }

// Unguarded returns why the work runs without a claim; nil if it has one. See [Open].
func (c *Claim[T]) Unguarded() error { return c.claim.unguarded }

// Local reports whether only this process knows of the claim: the engine is down and
// the policy is [Local], or the engine itself fell back to this process; see package
// standby.
func (c *Claim[T]) Local() bool { return c.claim.localOnly }

// Left returns how long the claim is certainly held without another renewal. If the work
// was done before, it returns how long its result was still kept when Begin returned.
func (c *Claim[T]) Left() time.Duration {
	if c.replayed {
		return c.keptFor
	}
	if c.claim.ledger == nil || !c.claim.live() {
		return 0
	}
	return c.claim.lease.Left(time.Now())
}

// Complete settles the claim with v as the result for all duplicates. It works even
// after the context ended, and takes at most two seconds.
//
// If the claim was lost before, the error matches interlock.ErrLost and v is not
// stored. If the engine did not answer, the error matches [ErrNotStored], and the guard
// retries in the background while the claim lasts. A result that cannot be stored is
// not an error: the record then says that the work was done, and duplicates get a
// *[NoResultError].
func (c *Claim[T]) Complete(v T) error {
	if c.replayed || c.claim.ledger == nil {
		return c.claim.closeUnguarded()
	}
	what, text, why, buf := value, []byte(nil), error(nil), (*encodeBuffer)(nil)
	if c.claim.core.policy.After == Keep {
		c.value = v
		buf = newEncodeBuffer()
		defer buf.release()
		text, why = c.guard.encode(&c.value, buf)
		switch {
		case errors.Is(why, ErrTooLarge):
			what = tooLarge
		case why != nil:
			what = unencoded
		}
	}
	return c.claim.complete(what, text, why, buf)
}

// Fail settles the claim of work that failed and left nothing behind. Depending on
// [Policy.OnError] the next call runs, or gets the text of err.
//
// Fail does what Abandon does if the work may have had its effect all the same: if err is a
// transport error, such as a timeout or a broken connection, if err was made by
// [OutcomeUnknown], or if the claim's context has ended. The exception is an err made by
// [NotExecuted]. See [Classify].
func (c *Claim[T]) Fail(err error) error {
	if c.replayed || c.claim.ledger == nil {
		return c.claim.closeUnguarded()
	}
	if err == nil {
		err = errors.New("the work failed without an error")
	}
	if c.claim.mayHaveHappened(err) {
		return c.claim.settleUnknown()
	}
	return c.claim.fail(err)
}

// Free settles the claim of work that did nothing. The next call runs, regardless of
// [Policy.OnError].
func (c *Claim[T]) Free() error {
	if c.replayed || c.claim.ledger == nil {
		return c.claim.closeUnguarded()
	}
	return c.claim.settle(engine.Settlement{Outcome: engine.Absent}, Freed, nil)
}

// Abandon gives the claim up and leaves the outcome unknown; [Policy.OnUnknown] decides
// what happens next. After Complete, Fail or Free it has no effect, so that it can be
// deferred.
func (c *Claim[T]) Abandon() error {
	if c.replayed || c.claim.ledger == nil {
		return c.claim.closeUnguarded()
	}
	if c.claim.closed.Load() == settled {
		return nil
	}
	err := c.claim.settleUnknown()
	if errors.Is(err, ErrSettled) {
		return nil // settled by another goroutine meanwhile
	}
	return err
}

// run does the work and settles the claim with its outcome.
func (c *Claim[T]) run(ctx context.Context, fn func(context.Context) (T, error)) (T, error) {
	defer c.Abandon() //nolint:errcheck // for a panic or runtime.Goexit in fn; otherwise the claim is settled by then
	if fn == nil {
		_ = c.Free() // no work was done
		panic(errors.New("guard: the function is nil: pass the work to Do"))
	}
	v, err := fn(ctx)
	if err != nil {
		return v, c.withLoss(err, c.Fail(err))
	}
	err = c.Complete(v)
	if errors.Is(err, ErrNotStored) {
		err = nil // the work was done; Trace.Settled reports that the result is not stored
	}
	return v, err
}

// mayHaveHappened reports whether work that returned err may have had its effect all the
// same. If the claim's context has ended, only [NotExecuted] proves that it had none.
func (k *claim) mayHaveHappened(err error) bool {
	if k.Err() != nil {
		return markOf(err, k.core.policy.Classify) != ClassNotSent
	}
	return classify(err, k.core.policy.Classify) == ClassUnknown
}

// withLoss adds the loss of the claim, if it was lost, to the work's error.
func (c *Claim[T]) withLoss(err, settled error) error {
	if isLost(settled) && !isLost(err) {
		return errors.Join(err, settled)
	}
	return err
}

// encode turns a result into bytes, which may point into buf.
func (g *Guard[T]) encode(v *T, buf *encodeBuffer) (text []byte, err error) {
	defer func() {
		if p := recover(); p != nil { // the work was done, even if encoding its result panics
			text, err = nil, fmt.Errorf("%w: it panicked: %v", ErrCodec, p)
		}
	}()
	switch codec := g.codec.(type) {
	case JSON:
		text, err = buf.encodeJSON(v) // encodes like *v, without copying it to the heap
	case appender:
		text, err = buf.encode(codec, *v)
	default:
		text, err = codec.Marshal(*v)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	case len(text) > g.maxResult:
		return nil, fmt.Errorf("%w: it has %d bytes, the limit is %d; see MaxResult", ErrTooLarge, len(text), g.maxResult)
	}
	return text, nil
}

// unmarshal is the codec's Unmarshal. For [JSON] it uses g.holdsAny instead of
// inspecting the type each time.
func (g *Guard[T]) unmarshal(text []byte, v *T) error {
	if _, ok := g.codec.(JSON); ok && !g.holdsAny {
		return json.Unmarshal(text, v)
	}
	return g.codec.Unmarshal(text, v)
}

// decode returns the result in a record, or why it is not available.
func (g *Guard[T]) decode(k *call, rec engine.Record) (v T, err error) {
	what, text, err := k.open(rec)
	switch {
	case err != nil:
		return v, err
	case what == tooLarge:
		return v, ErrTooLarge
	case what == unencoded:
		return v, ErrCodec
	case what == noSpace:
		return v, ErrNoSpace
	case what != value:
		return v, fmt.Errorf("%w: the record has none", ErrNoResult)
	}
	if err := g.unmarshal(text, &v); err != nil {
		var zero T
		return zero, fmt.Errorf("the codec cannot decode it: %w", err)
	}
	return v, nil
}
