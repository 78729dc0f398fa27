package guard

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A call is one call of Begin, or of an operator's method.
type call struct {
	core        *core
	key         Key
	hash        string // the key as the engine stores it
	fingerprint string // as the engine stores it; "" if the caller gave none
	attempt     string // the name of the first claim; "" once used
	start       time.Time
	checkedAt   time.Time   // an unused clock reading, see sentAt
	origin      string      // the id of the execution whose outcome the call gets
	askedEngine bool        // the call reached the engine
	waitTimer   *time.Timer // ends the wait; nil until the call waits
	answer      answer      // the latest answer, stored in place because it is large
}

// An answer is a granted claim, or a record to return.
type answer struct {
	entry      *entry
	rec        engine.Record
	req        engine.Claim   // the request that was granted, if it was
	sent       time.Time      // when the request was sent
	received   time.Time      // when the reply arrived
	ledger     engine.Ledger  // the one that answered
	local      bool           // the ledger is the fallback of this process
	unresolved *engine.Record // the claim was granted to resolve this record
	unguarded  error          // why the work runs without a claim
}

// hashKey computes the stored key and the name of the first attempt. Both share one
// string, which saves an allocation per call.
func (k *call) hashKey() {
	c := k.core
	var buf [256]byte
	b := append(append(buf[:0], c.keyPrefix...), ':')
	sum := k.key.digest(c.policy.Name, c.policy.Scope, c.secret)
	b = base64.RawURLEncoding.AppendEncode(b, sum[:])
	n := len(b)
	both := string(c.appendAttempt(b))
	k.hash, k.attempt = both[:n], both[n:]
	if k.key.Fingerprint != "" {
		k.fingerprint = k.hashFingerprint()
	}
}

// hashFingerprint returns the fingerprint as the engine stores it. It depends on the
// key, so a reader of the engine cannot see that two records have the same payload, or
// look a payload up in a precomputed table.
func (k *call) hashFingerprint() string {
	var buf [256]byte
	b := appendPart(appendPart(buf[:0], k.hash), k.key.Fingerprint)
	sum := sha256.Sum256(b)
	if k.core.secret != nil {
		sum = hmacOf(k.core.secret, string(b))
	}
	return string(base64.RawURLEncoding.AppendEncode(buf[:0], sum[:]))
}

// begin returns a claim or the record of an earlier one.
func (k *call) begin(ctx context.Context) (*answer, error) {
	c, now := k.core, k.start
	if k.key.expired {
		if a, err := k.redeemExpired(ctx); c.policy.OnUnknown != Resolve || !errors.Is(err, ErrUnknown) {
			return a, err
		}
		now = time.Now() // the lookup took time
	}
	for ; ; now = time.Now() {
		if c.closed.Load() {
			return nil, ErrClosed
		}
		if c.inProcess {
			if a, ok, err := k.claimDirect(ctx, now); ok {
				return a, err
			}
			now = time.Now() // the claim took time
		}
		v := c.inflight.lookup(k.hash, now)
		if v.mustClaim {
			k.checkedAt = now
			return k.acquire(ctx, v.entry)
		}
		if !matches(v.rec.Fingerprint, k.fingerprint) { // v has no fingerprint while the key is being claimed
			return nil, k.mismatch()
		}
		switch v.phase {
		case claiming:
			if err := k.waitForAnswer(ctx, v.changed); err != nil {
				return nil, err
			}
			if err := c.inflight.errorOf(v.entry); err != nil && !errors.Is(err, ErrMismatch) { // a mismatch concerns only the other call
				return k.orUnguarded(err)
			}
		case running, waitingRemote:
			if c.policy.OnDuplicate != Wait {
				return nil, k.duplicate(v.rec)
			}
			if err := k.waitForChange(ctx, v); err != nil {
				return nil, err
			}
		case cached, remoteRunning:
			k.answer.rec = v.rec
			return k.interpret()
		}
	}
}

// claimDirect asks an in-process engine without the inflight table, which would save
// no round trip. It reports false if the call has to wait, which needs the table.
func (k *call) claimDirect(ctx context.Context, now time.Time) (a *answer, ok bool, err error) {
	k.checkedAt = now
	a, err = k.claim(ctx, false)
	switch {
	case err == nil && a.rec.Granted:
		return a, true, nil
	case err == nil && heldByOther(a) && k.core.policy.OnDuplicate == Wait:
		return nil, false, nil
	case err != nil:
		a, err = k.orUnguarded(k.callerError(ctx, err))
	default:
		a, err = k.interpret()
	}
	return a, true, err
}

// redeemExpired finds the result of an expired token. It starts no work.
func (k *call) redeemExpired(ctx context.Context) (*answer, error) {
	k.askedEngine = true
	rec, err := k.lookup(ctx)
	switch {
	case err != nil:
		return nil, k.callerError(ctx, err)
	case rec.State == engine.Absent:
		return nil, ErrTokenExpired
	case !matches(rec.Fingerprint, k.fingerprint):
		return nil, k.mismatch()
	}
	k.answer.rec = rec
	return k.interpret()
}

// lookup returns the record of the key: from the fallback if this process decided about
// the key or the engine is down, and otherwise from the engine.
func (k *call) lookup(ctx context.Context) (engine.Record, error) {
	c := k.core
	if c.fallback.decided(k.hash) != engine.Absent {
		return lookupIn(c.fallback.decisions, k.hash), nil
	}
	rec, err := c.ledger.Lookup(ctx, k.hash)
	if c.policy.OnDown == Local && isDown(err) && ctx.Err() == nil {
		if rec := c.fallback.recall(k.hash); rec.State != engine.Absent {
			return rec, nil
		}
	}
	return rec, err
}

// orUnguarded lets the work run without a claim if the engine is down and the policy
// is Open. Otherwise it returns err.
func (k *call) orUnguarded(err error) (*answer, error) {
	var down *DownError
	if errors.As(err, &down) && k.core.policy.OnDown == Open {
		k.answer = answer{unguarded: down.Err}
		return &k.answer, nil
	}
	return nil, err
}

// interpret turns the record of an answer into what a duplicate gets.
func (k *call) interpret() (*answer, error) {
	p, rec := &k.core.policy, &k.answer.rec
	switch rec.State {
	case engine.Done:
		if p.After == Keep && p.OnDuplicate != Refuse {
			return &k.answer, nil
		}
		return nil, k.duplicate(*rec)
	case engine.Failed:
		return nil, k.failedBefore(*rec)
	case engine.Unknown:
		return nil, k.unknown(*rec, nil)
	}
	return nil, k.duplicate(*rec)
}

// waitForChange waits until the state of the key changes.
func (k *call) waitForChange(ctx context.Context, v snapshot) error {
	c := k.core
	if !c.inflight.addWaiter(v.entry) {
		return k.tooManyWaiters(v.rec)
	}
	defer c.inflight.removeWaiter(v.entry)
	c.stats.waiting.Add(1)
	defer c.stats.waiting.Add(-1)
	if k.waitTimer == nil {
		k.waitTimer = time.NewTimer(c.policy.Wait - time.Since(k.start))
	}
	select {
	case <-v.changed:
		return nil
	case <-k.waitTimer.C:
		k.waitTimer.Reset(0) // so that the next wait of this call ends at once
		return k.duplicate(v.rec)
	case <-ctx.Done():
		return k.canceled(context.Cause(ctx))
	case <-c.closing:
		return ErrClosed
	}
}

// waitForAnswer waits for the reply to another call's request.
func (k *call) waitForAnswer(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return k.canceled(context.Cause(ctx))
	case <-k.core.closing:
		return ErrClosed
	}
}

// matches reports whether two fingerprints may belong to the same payload.
func matches(a, b string) bool { return a == "" || b == "" || a == b }

func (k *call) duplicate(rec engine.Record) *DuplicateError {
	p := &k.core.policy
	if rec.State == engine.Running && p.After == Window {
		// The window, not the lease, decides when a repeat is accepted.
		if left := p.Window - rec.Age; left > 0 {
			rec.Left = left
		}
	}
	err := &DuplicateError{Guard: p.Name, Key: k.hash, Running: rec.State == engine.Running,
		RetryAfter: rec.Left, Message: p.Message, Status: p.Status}
	if !err.Running {
		err.Message = k.core.doneMessage
	}
	return err
}

func (k *call) tooManyWaiters(rec engine.Record) *DuplicateError {
	err := k.duplicate(rec)
	err.TooManyWaiters = true
	return err
}

func (k *call) mismatch() error { return &MismatchError{Guard: k.core.policy.Name, Key: k.hash} }

func (k *call) unknown(rec engine.Record, why error) error {
	return &UnknownError{Guard: k.core.policy.Name, Key: k.hash, Fence: rec.Fence, Began: rec.Began, Left: rec.Left, Err: why}
}

func (k *call) noResult(why error) error {
	return &NoResultError{Guard: k.core.policy.Name, Key: k.hash, Err: why}
}

func (k *call) canceled(cause error) error {
	return fmt.Errorf("guard: %q: the context ended before the engine answered: %w", k.hash, cause)
}

// open returns the payload of a record, and notes which execution it is from.
func (k *call) open(rec engine.Record) (what content, text []byte, err error) {
	what, text, err = k.core.open(k.hash, rec.Result)
	if err == nil {
		what, text, k.origin = cutOrigin(what, text)
	}
	return what, text, err
}

// failedBefore returns the error of an earlier call.
func (k *call) failedBefore(rec engine.Record) error {
	what, text, err := k.open(rec)
	if err == nil && what != failure {
		err = fmt.Errorf("%w: the record of a failure holds no error text", ErrCorrupt)
	}
	if err != nil {
		return k.noResult(err)
	}
	return &FailedError{Guard: k.core.policy.Name, Key: k.hash, Text: string(text), Left: rec.Left}
}
