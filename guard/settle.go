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
	"github.com/interlock-go/interlock/internal/retry"
)

// complete settles the claim of work that was done.
func (k *claim) complete(what content, text []byte, why error, buf *encodeBuffer) error {
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
	return k.settleWith(s, what, text, ending, why, buf)
}

// fail settles the claim of work that failed.
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

// settleUnknown settles the claim of work whose outcome is unknown.
func (k *claim) settleUnknown() error {
	if k.core.policy.OnUnknown == Rerun {
		return k.settle(engine.Settlement{Outcome: engine.Absent}, Freed, nil)
	}
	return k.settle(engine.Settlement{Outcome: engine.Unknown, Retain: k.retain}, LeftUnknown, nil)
}

// settleWith settles a claim with text in an envelope.
func (k *claim) settleWith(s engine.Settlement, what content, text []byte, e Ending, why error, buf *encodeBuffer) (err error) {
	what, text = withOrigin(what, text, k.origin)
	if s.Result, err = k.core.pack(k.req.Key, what, text, buf); err != nil {
		// Encryption fails without randomness. A tombstone needs none, and must be
		// stored so that the work does not run again.
		s.Result, e, why = plainEnvelope(k.req.Key, unencoded, nil), Tombstoned, err
	}
	return k.settle(s, e, why)
}

// settle stores the outcome of a claim in the engine and in this process.
func (k *claim) settle(s engine.Settlement, e Ending, why error) error {
	c, now := k.core, time.Now()
	if err := k.beginSettle(now); err != nil {
		if isLost(err) {
			k.report(Late, err, now)
		}
		return err
	}
	s.Key, s.Attempt = k.req.Key, k.req.Attempt
	c.tasks.Begin() // before the watchdog drops the claim, so that Close always finds a task or a claim to wait for
	defer c.tasks.End()
	out, err := k.sendSettlement(c.settling.Context(now), s)
	if errors.Is(err, engine.ErrFull) && len(s.Result) > 0 {
		// The result does not fit, but a tombstone may.
		s.Result, e, why = plainEnvelope(k.req.Key, noSpace, nil), Tombstoned, err
		out, err = k.sendSettlement(c.settling.Context(time.Now()), s)
	}
	if err != nil || out == engine.Released {
		c.mirror(k, s, err == nil)
	}
	switch {
	case err != nil:
		now = time.Now() // the retries took time
		c.unstored.Add(1)
		s.Result = bytes.Clone(s.Result) // it may point into the encodeBuffer, which is reused
		c.tasks.Go(func() { k.settleLate(s) })
		err = fmt.Errorf("%w: %w", ErrNotStored, err)
		k.cacheOutcome(s, now)
		k.finish(NotStored, err, now)
		return err
	case out != engine.Released:
		lost := &interlock.LostError{Key: k.req.Key, Fence: k.fence, Err: interlock.ErrNotHolder}
		if k.entry != nil {
			c.inflight.remove(k.entry, nil)
		}
		k.finish(Late, lost, now)
		return lost
	}
	k.cacheOutcome(s, now)
	k.finish(e, why, now)
	return nil
}

// beginSettle marks the claim as settled, or returns why it is closed already.
func (k *claim) beginSettle(now time.Time) error {
	if k.closed.Load() == settled {
		return ErrSettled
	}
	if k.lease.Overdue(now) {
		k.lose(interlock.ErrExpired) // no effect if it was lost before
	}
	switch reason := k.closed.Swap(settled); reason {
	case nil:
		return nil
	case settled:
		return ErrSettled
	default:
		return &reason.lost
	}
}

// sendSettlement sends the settlement until the engine answers or ctx is done. The
// watchdog renews the claim meanwhile.
func (k *claim) sendSettlement(ctx context.Context, s engine.Settlement) (engine.Outcome, error) {
	for tries := 1; ; tries++ {
		// An Absent settlement keeps no record, and neither does a FromStart one whose
		// window has passed. If its reply is lost, nothing shows that it succeeded. If the
		// claim is gone on the next try, and its lease cannot have expired, then the
		// earlier try succeeded.
		goneMeansSettled := k.replyLost && (s.Outcome == engine.Absent || s.FromStart) && !k.lease.Overdue(time.Now())
		out, err := k.ledger.Settle(ctx, s)
		if err == nil && goneMeansSettled {
			out = engine.Released
		}
		if err == nil || !engine.Temporary(err) {
			return out, err
		}
		k.replyLost = k.replyLost || errors.Is(err, engine.ErrUnknown)
		if retry.Pause(ctx, tries) != nil {
			return 0, err
		}
	}
}

// settleLate keeps sending a settlement after the caller got its answer, while the
// claim is certainly held.
func (k *claim) settleLate(s engine.Settlement) {
	ctx, cancel := context.WithDeadline(context.Background(), k.lease.Until())
	defer cancel()
	out, err := k.sendSettlement(ctx, s)
	if err == nil && out == engine.Released {
		k.report(StoredLate, nil, time.Now())
	}
	if err == nil || !k.core.closed.Load() {
		k.core.unstored.Add(-1) // otherwise Close reports it
	}
}

// cacheOutcome lets the inflight table answer duplicates with the outcome.
func (k *claim) cacheOutcome(s engine.Settlement, now time.Time) {
	if k.entry == nil {
		return
	}
	rec := engine.Record{State: s.Outcome, Fence: k.fence, Began: time.Unix(0, k.engineStart), Left: s.Retain, Result: s.Result, Fingerprint: k.req.Fingerprint}
	if s.FromStart {
		rec.Left -= now.Sub(k.startedAt)
	}
	resolvable := s.Outcome == engine.Unknown && k.core.policy.OnUnknown == Resolve
	if s.Outcome == engine.Absent || resolvable || rec.Left <= 0 {
		k.core.inflight.remove(k.entry, nil) // the next call asks the engine
		return
	}
	k.core.inflight.cache(k.entry, rec, now)
}

// finish ends the claim's context and its renewal, and reports how the claim ended.
func (k *claim) finish(e Ending, why error, now time.Time) {
	c := k.core
	c.watchdog.Remove(k)
	k.End(interlock.ErrReleased)
	c.stats.running.Add(-1)
	c.stats.took.ObserveTraced(now.Sub(k.startedAt), k.traceID)
	k.report(e, why, now)
}

// report counts and traces the ending of a claim.
func (k *claim) report(e Ending, why error, now time.Time) {
	c := k.core
	c.stats.countEnding(e)
	if t := c.trace; t != nil && t.Settled != nil {
		t.Settled(Settled{Context: k.Parent(), Guard: c.policy.Name, Key: k.req.Key, Ending: e, Fence: k.fence, Took: now.Sub(k.startedAt), Err: why})
	}
}

// retract frees a claim whose work has not begun.
func (k *claim) retract(why error) {
	if k.ledger == nil {
		_ = k.closeUnguarded()
		return
	}
	_ = k.settle(engine.Settlement{Outcome: engine.Absent}, Freed, why)
}

// closeUnguarded ends work that runs without a claim. For a replay it has no effect.
func (k *claim) closeUnguarded() error {
	if k.Begun() && k.closed.Swap(settled) == nil {
		k.End(interlock.ErrReleased)
		k.core.unguarded.Add(-1)
		k.core.tasks.End()
	}
	return nil
}
