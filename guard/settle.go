package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
)

// complete settles a claim with what the work did.
func (k *claim) complete(what content, text []byte, why error, on *sheet) error {
	p := &k.core.policy
	s := engine.Settlement{Outcome: engine.Done, Retain: k.retain}
	switch p.After {
	case Free:
		return k.settle(engine.Settlement{Outcome: engine.Absent}, Freed, nil)
	case Window:
		what, s.Retain, s.FromStart = nothing, p.Window, true
	}
	ending := Completed
	if why != nil {
		ending = Tombstoned
	}
	return k.settleWith(s, what, text, ending, why, on)
}

// fail settles the claim of work that was not done.
func (k *claim) fail(err error) error {
	if k.core.policy.OnError == Free {
		return k.settle(engine.Settlement{Outcome: engine.Absent}, Freed, err)
	}
	text := err.Error()
	if len(text) > k.core.maxResult {
		text = strings.ToValidUTF8(text[:k.core.maxResult], "")
	}
	return k.settleWith(engine.Settlement{Outcome: engine.Failed, Retain: k.retain}, failure, []byte(text), KeptError, err, nil)
}

// leaveOpen settles the claim of work of which nobody knows what became.
func (k *claim) leaveOpen() error {
	if k.core.policy.OnUnknown == Rerun {
		return k.settle(engine.Settlement{Outcome: engine.Absent}, Freed, nil)
	}
	return k.settle(engine.Settlement{Outcome: engine.Unknown, Retain: k.retain}, LeftOpen, nil)
}

// settleWith settles a claim with something in an envelope.
func (k *claim) settleWith(s engine.Settlement, what content, text []byte, e Ending, why error, on *sheet) (err error) {
	if s.Result, err = k.core.enclose(k.req.Key, what, text, on); err != nil {
		// Without randomness there is no encryption. That the work was done
		// matters more than its result, and is no secret.
		s.Result, e, why = unsealed(k.req.Key, unencoded, nil), Tombstoned, err
	}
	return k.settle(s, e, why)
}

// settle tells the engine, and everybody in this process, what became of a claim.
func (k *claim) settle(s engine.Settlement, e Ending, why error) error {
	c, now := k.core, time.Now()
	if err := k.end(now); err != nil {
		if isLost(err) {
			k.report(Late, err, now)
		}
		return err
	}
	s.Key, s.Attempt = k.req.Key, k.req.Attempt
	c.background.Begin() // before the watchdog lets go of it: Close waits for one or the other
	defer c.background.End()
	out, err := k.tell(c.bound.Context(now), s)
	if errors.Is(err, engine.ErrFull) && len(s.Result) > 0 {
		// There is no room for the result, but maybe for that it was there.
		s.Result, e, why = unsealed(k.req.Key, noRoom, nil), Tombstoned, err
		out, err = k.tell(c.bound.Context(time.Now()), s)
	}
	if err != nil || out == engine.Released {
		c.mirror(k, s, err == nil)
	}
	switch {
	case err != nil:
		now = time.Now() // that took its time
		c.unstored.Add(1)
		s.Result = bytes.Clone(s.Result) // it may be on a sheet
		c.background.Go(func() { k.tellLate(s) })
		err = fmt.Errorf("%w: %w", ErrNotStored, err)
		k.remember(s, now)
		k.finish(NotStored, err, now)
		return err
	case out != engine.Released:
		lost := &interlock.LostError{Key: k.req.Key, Fence: k.fence, Err: interlock.ErrNotHolder}
		if k.seat != nil {
			c.desk.vacate(k.seat, nil)
		}
		k.finish(Late, lost, now)
		return lost
	}
	k.remember(s, now)
	k.finish(e, why, now)
	return nil
}

// end begins the end of a claim, or tells why it is over.
func (k *claim) end(now time.Time) error {
	if k.fate.Load() == settled {
		return ErrSettled
	}
	if k.lease.Overdue(now) {
		k.lose(interlock.ErrExpired) // unless that is known
	}
	switch f := k.fate.Swap(settled); f {
	case nil:
		return nil
	case settled:
		return ErrSettled
	default:
		return &f.lost
	}
}

// tell tells the engine until it has answered, or ctx is done. The claim is renewed
// meanwhile.
func (k *claim) tell(ctx context.Context, s engine.Settlement) (engine.Outcome, error) {
	for tries := 1; ; tries++ {
		// If nothing is kept, a call whose answer was lost leaves no trace: that
		// the claim is gone means that it was heard, as long as nothing else can
		// have ended it.
		heard := k.unsure && (s.Outcome == engine.Absent || s.FromStart) && !k.lease.Overdue(time.Now())
		out, err := k.ledger.Settle(ctx, s)
		if err == nil && heard {
			out = engine.Released
		}
		if err == nil || !engine.Temporary(err) {
			return out, err
		}
		k.unsure = k.unsure || errors.Is(err, engine.ErrUnknown)
		if k.core.pause(ctx, backoff.Pause(leastPause, mostPause, tries)) != nil {
			return 0, err
		}
	}
}

// tellLate goes on telling the engine after the caller was answered, for as long
// as the claim can be relied on.
func (k *claim) tellLate(s engine.Settlement) {
	ctx, cancel := context.WithDeadline(context.Background(), k.lease.Until())
	defer cancel()
	out, err := k.tell(ctx, s)
	if err == nil && out == engine.Released {
		k.report(StoredLate, nil, time.Now())
	}
	if err == nil || !k.core.closed.Load() {
		k.core.unstored.Add(-1) // otherwise Close tells
	}
}

// remember lets the in-process level answer what is known now.
func (k *claim) remember(s engine.Settlement, now time.Time) {
	if k.seat == nil {
		return
	}
	rec := engine.Record{State: s.Outcome, Fence: k.fence, Began: time.Unix(0, k.began), Left: s.Retain, Result: s.Result, Fingerprint: k.req.Fingerprint}
	if s.FromStart {
		rec.Left -= now.Sub(k.begun)
	}
	resolvable := s.Outcome == engine.Unknown && k.core.policy.OnUnknown == Resolve
	if s.Outcome == engine.Absent || resolvable || rec.Left <= 0 {
		k.core.desk.vacate(k.seat, nil) // the next call has to ask
		return
	}
	k.core.desk.tell(k.seat, rec, now)
}

// finish ends what there was for a claim.
func (k *claim) finish(e Ending, why error, now time.Time) {
	c := k.core
	c.dog.Remove(k)
	k.End(interlock.ErrReleased)
	c.stats.running.Add(-1)
	c.stats.took.Add(int64(now.Sub(k.begun)))
	k.report(e, why, now)
}

// report counts and traces how a claim ended.
func (k *claim) report(e Ending, why error, now time.Time) {
	c := k.core
	c.stats.ended(e)
	if t := c.trace; t != nil && t.Settled != nil {
		t.Settled(Settled{Guard: c.policy.Name, Key: k.req.Key, Ending: e, Fence: k.fence, Took: now.Sub(k.begun), Err: why})
	}
}

// retract ends a claim for which nothing has begun.
func (k *claim) retract(why error) {
	if k.ledger == nil {
		_ = k.close()
		return
	}
	_ = k.settle(engine.Settlement{Outcome: engine.Absent}, Freed, why)
}

// close ends what nobody granted.
func (k *claim) close() error {
	if k.Begun() && k.fate.Swap(settled) == nil {
		k.End(interlock.ErrReleased)
		k.core.unguarded.Add(-1)
		k.core.background.End()
	}
	return nil
}
