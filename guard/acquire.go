package guard

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/retry"
)

// acquire asks the engine on behalf of every call in this process with the same key.
func (k *call) acquire(ctx context.Context, e *entry) (*answer, error) {
	c := k.core
	k.askedEngine = k.askedEngine || !c.inProcess
	answered := false
	defer func() {
		if !answered { // if the engine panics, the waiting calls must not hang
			c.inflight.remove(e, nil)
		}
	}()
	a, err := k.claimOrWait(ctx, e, c.fallback.decided(k.hash) != engine.Absent)
	if c.policy.OnDown == Local && isDown(err) && ctx.Err() == nil {
		c.fallback.used.Store(true)
		a, err = k.claimOrWait(ctx, e, true)
	}
	answered = true
	switch {
	case err != nil:
		err = k.callerError(ctx, err)
		c.inflight.remove(e, errorForWaiters(ctx, err))
		return k.orUnguarded(err)
	case a.rec.Granted:
		a.entry = e
		return a, nil // the entry changes when the work begins
	case a.rec.State == engine.Running:
		if c.policy.OnDuplicate == Wait {
			c.inflight.remove(e, nil) // one of the waiting calls becomes the next to ask
		} else {
			c.inflight.cacheRemote(e, a)
		}
	default:
		c.inflight.cache(e, a.rec, a.received)
	}
	return k.interpret()
}

// claimOrWait asks a ledger for the claim, and waits for it if the policy allows.
func (k *call) claimOrWait(ctx context.Context, e *entry, local bool) (*answer, error) {
	a, err := k.claim(ctx, local)
	if err == nil && k.core.policy.OnDuplicate == Wait && heldByOther(a) {
		return k.waitRemote(ctx, e, a)
	}
	return a, err
}

// heldByOther reports whether another caller holds the claim.
func heldByOther(a *answer) bool { return a.rec.State == engine.Running && !a.rec.Granted }

// errorForWaiters returns the error to share with the calls that wait for the same
// answer. The end of this caller's own context does not concern them.
func errorForWaiters(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// callerError turns an engine's error into the one that the caller gets.
func (k *call) callerError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, engine.ErrMismatch):
		return k.mismatch()
	case errors.Is(err, ErrClosed), errors.Is(err, ErrDuplicate):
		return err
	case ctx.Err() != nil:
		return k.canceled(context.Cause(ctx))
	case isDown(err):
		return &DownError{Guard: k.core.policy.Name, Key: k.hash, Err: err}
	}
	return &denialError{k.hash, err}
}

// claim asks a ledger for the claim. If an earlier outcome is unknown and there is a
// resolver, it asks again to take that claim over.
func (k *call) claim(ctx context.Context, local bool) (*answer, error) {
	c := k.core
	if !local && c.runsWhileDown() { // never for an in-process engine: even a full one answers from its records
		if err := c.knownDown(k.hash); err != nil {
			return nil, err
		}
	}
	if local {
		if rec := c.fallback.recall(k.hash); rec.State != engine.Absent {
			return k.answerFromFallback(ctx, rec)
		}
	}
	a, err := k.requestClaim(ctx, local, k.request())
	if err == nil && a.rec.State == engine.Unknown && c.policy.OnUnknown == Resolve {
		before, req := a.rec, k.request()
		req.TakeOver = true
		if a, err = k.requestClaim(ctx, local, req); err == nil {
			a.unresolved = &before
		}
	}
	if !local && ctx.Err() == nil {
		c.noteAnswer(k.hash, err)
	}
	return a, err
}

// answerFromFallback answers from this process's memory while the engine is down. An
// unknown outcome still goes to the resolver, if there is one.
func (k *call) answerFromFallback(ctx context.Context, rec engine.Record) (*answer, error) {
	switch {
	case !matches(rec.Fingerprint, k.fingerprint):
		return nil, engine.ErrMismatch
	case rec.State != engine.Unknown || k.core.policy.OnUnknown != Resolve:
		k.answer = answer{rec: rec, ledger: k.core.ledgerFor(true), local: true, received: time.Now()}
		return &k.answer, nil
	}
	a, err := k.requestClaim(ctx, true, k.request())
	if err == nil {
		a.unresolved = &rec
	}
	return a, err
}

// request builds the request for a new claim.
func (k *call) request() engine.Claim {
	p := &k.core.policy
	r := engine.Claim{Key: k.hash, Attempt: k.attempt, Fingerprint: k.fingerprint, Lease: p.Lease}
	if k.attempt = ""; r.Attempt == "" {
		r.Attempt = k.core.attempt()
	}
	if p.After == Window {
		r.Lease = max(p.Lease, p.Window) // repeats are refused even if this process dies
	}
	// With Rerun, a claim that expires leaves no record. An unknown outcome in the engine
	// then comes from a guard with OnUnknown Hold or Resolve, and stays held.
	if p.OnUnknown != Rerun {
		r.Retain = r.Lease + k.retain() // counted from the end of the lease
	}
	return r
}

// retain returns how long the result is kept. The result of a token is kept at least
// until the token expires.
func (k *call) retain() time.Duration {
	retain := k.core.policy.Retain
	if !k.key.tokenExpiry.IsZero() {
		retain = max(retain, time.Until(k.key.tokenExpiry)+tokenSlack)
	}
	return retain
}

// sentAt returns when the next request counts as sent. It reuses the latest clock
// reading if there is one, which saves a reading per claim.
func (k *call) sentAt() time.Time {
	sent := k.checkedAt
	if k.checkedAt = (time.Time{}); sent.IsZero() {
		sent = time.Now()
	}
	return sent
}

// countAsk counts a claim that was sent. A repeat that an in-process engine answers
// counts as coalesced instead, as if the inflight table had answered it.
func (k *call) countAsk(err error) {
	known := err == nil && !k.answer.rec.Granted || errors.Is(err, engine.ErrMismatch)
	if !k.core.inProcess || !known {
		k.askedEngine = true
		k.core.stats.asked.Add(1)
	}
}

// requestClaim sends a claim until the engine answers or retrying is pointless. Every
// try carries the same attempt, so that the engine recognises it.
func (k *call) requestClaim(ctx context.Context, local bool, req engine.Claim) (*answer, error) {
	c := k.core
	l := c.ledgerFor(local)
	var begun time.Time
	unsure := false
	for tries := 1; ; tries++ {
		a := &k.answer
		a.req, a.sent, a.ledger, a.local, a.unresolved = req, k.sentAt(), l, local, nil
		if tries == 1 {
			begun = a.sent
		}
		var err error
		a.rec, err = l.Claim(ctx, req)
		k.countAsk(err)
		if c.inProcess {
			a.received = a.sent.Add(time.Since(a.sent)) // cheaper than time.Now: only the monotonic clock
		} else {
			a.received = time.Now()
		}
		if err == nil && a.rec.Granted && retry.TooLate(a.sent, a.received, req.Lease) {
			c.cleanUp(l, req, a.sent)
			return nil, retry.ErrSlow
		}
		if err == nil {
			if unsure && !a.rec.Granted { // the engine may still grant an earlier try
				c.cleanUp(l, req, a.sent)
			}
			return a, nil
		}
		if errors.Is(err, engine.ErrUnknown) {
			unsure, req.Retry = true, true
		}
		pause := retry.Delay(tries)
		if !engine.Temporary(err) || a.received.Sub(begun)+pause > c.patience(local) || retry.Sleep(ctx, pause) != nil {
			if unsure {
				c.cleanUp(l, req, a.sent)
			}
			return nil, err
		}
	}
}

// briefOpen is how long a call retries a failing engine if its policy lets it run
// without the engine. Other calls of the same key wait as long.
const briefOpen = 100 * time.Millisecond

// patience returns how long a claim is retried.
func (c *core) patience(local bool) time.Duration {
	if c.policy.OnDown == Closed || local || c.inProcess {
		return retry.BriefOutage
	}
	return briefOpen
}
