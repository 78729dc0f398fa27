package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/watchdog"
)

const (
	// patience is how long an engine that fails is asked again, after pauses from
	// leastPause to mostPause, before it counts as down.
	patience   = 2 * time.Second
	leastPause = 50 * time.Millisecond
	mostPause  = time.Second

	// longestPoll bounds how long a waiter relies on being woken.
	longestPoll = time.Second

	// A claim of which less than 1/leastLeft is left when it arrives is given
	// back: the engine is too slow for that lease.
	leastLeft = 10
)

var errSlow = errors.New("the engine took so long to answer that little of the lease was left; use a longer one")

// stand asks the engine, for all in this process who want the same.
func (k *call) stand(ctx context.Context, s *seat) (*answer, error) {
	c := k.core
	k.asked = k.asked || !c.near
	answered := false
	defer func() {
		if !answered { // a panic in somebody's engine must not leave the others waiting
			c.desk.vacate(s, nil)
		}
	}()
	a, err := k.claimOrWait(ctx, s, c.local.decided(k.hash) != engine.Absent)
	if c.policy.OnDown == Local && isDown(err) && ctx.Err() == nil {
		c.local.used.Store(true)
		a, err = k.claimOrWait(ctx, s, true)
	}
	answered = true
	switch {
	case err != nil:
		err = k.explain(ctx, err)
		c.desk.vacate(s, shared(ctx, err))
		return k.refused(err)
	case a.rec.Granted:
		a.seat = s
		return a, nil // its seat is told when the work begins
	case a.rec.State == engine.Running:
		if c.policy.OnDuplicate == Wait {
			c.desk.vacate(s, nil) // whoever still waits is the next to scout
		} else {
			c.desk.tellElsewhere(s, a)
		}
	default:
		c.desk.tell(s, a.rec, a.got)
	}
	return k.judge()
}

// claimOrWait asks a ledger for the claim, and waits for it if the policy says so.
func (k *call) claimOrWait(ctx context.Context, s *seat, local bool) (*answer, error) {
	a, err := k.claim(ctx, local)
	if err == nil && k.core.policy.OnDuplicate == Wait && taken(a) {
		return k.scout(ctx, s, a)
	}
	return a, err
}

// taken tells whether somebody else has the claim.
func taken(a *answer) bool { return a.rec.State == engine.Running && !a.rec.Granted }

// shared returns what those who wait for the same answer are to be told: nothing
// if it was this caller who gave up.
func shared(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// explain turns what an engine said into what a caller is told.
func (k *call) explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, engine.ErrMismatch):
		return k.mismatch()
	case errors.Is(err, ErrClosed), errors.Is(err, ErrDuplicate):
		return err
	case ctx.Err() != nil:
		return k.gaveUp(context.Cause(ctx))
	case isDown(err):
		return &DownError{Guard: k.core.policy.Name, Key: k.hash, Err: err}
	}
	return &denialError{k.hash, err}
}

// claim asks the engine for the claim, and once more to find out what became of
// an earlier one, if the policy wants that.
func (k *call) claim(ctx context.Context, local bool) (*answer, error) {
	c := k.core
	if c.policy.OnDown != Closed && !local && !c.near { // one that is near may be full, and knows what it has
		if err := c.down.since(c.policy.LocalCache); err != nil {
			return nil, err
		}
	}
	if local {
		if rec := c.local.remembers(k.hash); rec.State != engine.Absent {
			return k.remembered(ctx, rec)
		}
	}
	a, err := k.ask(ctx, local, k.request())
	if err == nil && a.rec.State == engine.Unknown && c.policy.OnUnknown == Resolve {
		before, req := a.rec, k.request()
		req.TakeOver = true
		if a, err = k.ask(ctx, local, req); err == nil {
			a.unknown = &before
		}
	}
	switch {
	case local || ctx.Err() != nil:
	case isDown(err):
		c.down.note(err, c.policy.LocalCache)
	default: // a refusal is an answer, too
		c.down.over()
	}
	return a, err
}

// remembered answers with what this process knows while the engine is down. An
// outcome that nobody knew is still for the resolver, if there is one.
func (k *call) remembered(ctx context.Context, rec engine.Record) (*answer, error) {
	switch {
	case !matches(rec.Fingerprint, k.print):
		return nil, engine.ErrMismatch
	case rec.State != engine.Unknown || k.core.policy.OnUnknown != Resolve:
		k.answer = answer{rec: rec, ledger: k.core.at(true), local: true, got: time.Now()}
		return &k.answer, nil
	}
	a, err := k.ask(ctx, true, k.request())
	if err == nil {
		a.unknown = &rec
	}
	return a, err
}

// request is what a new claim asks for.
func (k *call) request() engine.Claim {
	p := &k.core.policy
	r := engine.Claim{Key: k.hash, Attempt: k.attempt, Fingerprint: k.print, Lease: p.Lease}
	if k.attempt = ""; r.Attempt == "" {
		r.Attempt = k.core.attempt()
	}
	if p.After == Window {
		r.Lease = max(p.Lease, p.Window) // if its process dies, repeats are refused all the same
	}
	if p.OnUnknown == Rerun {
		r.TakeOver = true
	} else {
		r.Retain = r.Lease + k.retain() // from when the lease runs out
	}
	return r
}

// retain is how long a result is kept.
func (k *call) retain() time.Duration {
	retain := k.core.policy.Retain
	if !k.key.until.IsZero() {
		retain = max(retain, time.Until(k.key.until)+tokenSlack)
	}
	return retain
}

// since returns from when a lease counts that is asked for now: from the latest
// look at the clock before it.
func (k *call) since() time.Time {
	sent := k.looked
	if k.looked = (time.Time{}); sent.IsZero() {
		sent = time.Now()
	}
	return sent
}

// count counts that an engine was asked. One that is near tells what it knows as the
// desk does; only what it grants, or cannot tell, is more than that.
func (k *call) count(err error) {
	known := err == nil && !k.answer.rec.Granted || errors.Is(err, engine.ErrMismatch)
	if !k.core.near || !known {
		k.asked = true
		k.core.stats.asked.Add(1)
	}
}

// ask asks an engine for a claim until there is an answer, or no point in asking
// again. The attempt stays the same throughout, so that the engine recognises it.
func (k *call) ask(ctx context.Context, local bool, req engine.Claim) (*answer, error) {
	c := k.core
	l := c.at(local)
	var begun time.Time
	unsure := false
	for tries := 1; ; tries++ {
		a := &k.answer
		a.req, a.sent, a.ledger, a.local, a.unknown = req, k.since(), l, local, nil
		if tries == 1 {
			begun = a.sent
		}
		var err error
		a.rec, err = l.Claim(ctx, req)
		k.count(err)
		if c.near {
			a.got = a.sent.Add(time.Since(a.sent)) // a look at one clock is enough: no way lies between
		} else {
			a.got = time.Now()
		}
		if err == nil && a.rec.Granted && watchdog.SureUntil(a.sent, req.Lease).Sub(a.got) < req.Lease/leastLeft {
			c.cleanUp(l, req, a.sent)
			return nil, fmt.Errorf("%w: %w", engine.ErrUnavailable, errSlow)
		}
		if err == nil {
			if unsure && !a.rec.Granted { // what was asked before may still be on its way
				c.cleanUp(l, req, a.sent)
			}
			return a, nil
		}
		if errors.Is(err, engine.ErrUnknown) {
			unsure, req.Retry = true, true
		}
		pause := backoff.Pause(leastPause, mostPause, tries)
		if !engine.Temporary(err) || a.got.Sub(begun)+pause > patience || c.pause(ctx, pause) != nil {
			if unsure {
				c.cleanUp(l, req, a.sent)
			}
			return nil, err
		}
	}
}
