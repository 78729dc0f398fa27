package guard

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/lazyctx"
	"github.com/interlock-go/interlock/internal/trace"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A claim is a [Claim] without the type of its result. It is also the context of the
// work, which saves an allocation.
type claim struct {
	lazyctx.Context        // ends with the claim
	outer           *claim // the claim that the caller's context already had

	core        *core
	ledger      engine.Ledger // granted the claim; nil if the work runs unguarded
	local       bool          // the ledger is the fallback of this process
	localOnly   bool          // other processes do not know of the claim
	unguarded   error         // why the work runs without a claim
	entry       *entry        // in the inflight table; nil on an in-process engine
	req         engine.Claim
	retain      time.Duration
	fence       uint64
	engineStart int64     // when it was granted, by the engine's clock, in nanoseconds since 1970
	startedAt   time.Time // when it was granted, by this process's clock, for durations
	origin      string    // see Trace.Executing
	traceID     string    // for the exemplar of the execution
	lease       watchdog.Lease

	closed atomic.Pointer[closeReason] // nil while the claim is open

	replyLost bool // the reply to a settlement was lost, so the claim may be settled
}

// A closeReason is why a claim is no longer open.
type closeReason struct{ lost interlock.LostError }

// settled means that the claim was settled, or is being settled.
var settled = new(closeReason)

type claimKey struct{}

// Fence returns the fence of the claim that ctx belongs to, also of one made by
// [Guard.DoTx].
func Fence(ctx context.Context) (fence uint64, ok bool) {
	if c, ok := ctx.Value(claimKey{}).(*claim); ok && c.ledger != nil {
		return c.fence, true
	}
	fence, ok = ctx.Value(txKey{}).(uint64)
	return fence, ok
}

// start turns an answer into the claim under which the work runs.
func (k *claim) start(ctx context.Context, c *core, a *answer, retain time.Duration) {
	k.core, k.ledger, k.unguarded, k.entry, k.req, k.retain = c, a.ledger, a.unguarded, a.entry, a.req, retain
	k.local, k.localOnly = a.local, a.local || a.rec.Local
	k.fence, k.engineStart, k.startedAt = a.rec.Fence, a.rec.Began.UnixNano(), a.received
	if a.rec.Fingerprint != "" {
		k.req.Fingerprint = a.rec.Fingerprint // the record's: this call may have given none
	}
	k.outer, _ = ctx.Value(claimKey{}).(*claim)
	if c.detached && a.ledger != nil { // no lease ends unguarded work, so it must end with its caller's context
		ctx = context.WithoutCancel(ctx)
	}
	if k.ledger == nil {
		k.Init(ctx)
		k.startedAt = time.Now()
		c.tasks.Begin() // Close waits for unguarded work, too
		c.unguarded.Add(1)
		return
	}
	if t := c.trace; t != nil && t.Executing != nil {
		ctx = k.traceExecuting(ctx, t)
	}
	k.watch(ctx, a)
}

// watch begins the claim's context and its renewal.
func (k *claim) watch(ctx context.Context, a *answer) {
	c := k.core
	k.Init(ctx)
	k.traceID = trace.ID(ctx, c.traceID) // here, because it may be slow
	k.lease.Init(c.clock, k.req.Key, c.policy.Lease, a.sent, k.startedAt, watchdog.Terms{MaxHold: c.policy.MaxHold})
	if k.req.Lease != c.policy.Lease { // a window's first lease may be longer
		k.lease.Trust(watchdog.SafeUntil(a.sent, k.req.Lease))
		k.req.Lease = c.policy.Lease
	}
	c.stats.running.Add(1)
	if k.entry != nil {
		c.inflight.setRunning(k.entry, k)
	}
	c.watchdog.Add(k, k.startedAt)
}

// traceExecuting returns the context of the work, as the trace made it.
func (k *claim) traceExecuting(ctx context.Context, t *Trace) context.Context {
	inner, origin := t.Executing(Executing{Context: ctx, Guard: k.core.policy.Name, Key: k.req.Key, Fence: k.fence})
	if len(origin) <= maxOrigin {
		k.origin = origin
	}
	return inner
}

// Value returns the claim itself for package guard's own key.
func (k *claim) Value(key any) any {
	if _, ok := key.(claimKey); ok {
		return k
	}
	return k.Context.Value(key)
}

// Err is exact even if the timers are late: a process that resumes after a pause sees
// the lost claim at once.
func (k *claim) Err() error {
	if err := k.Context.Err(); err != nil || k.ledger == nil {
		return err
	}
	if k.lease.Overdue(time.Now()) {
		k.lose(interlock.ErrExpired)
		if reason := k.closed.Load(); reason != nil && reason != settled {
			<-k.Done() // the watchdog may be ending the context right now
		}
	}
	return k.Context.Err()
}

// String is how the context appears in messages.
func (k *claim) String() string { return fmt.Sprintf("guard.Claim(%q)", k.req.Key) }

// ownsKey reports whether ctx belongs to a live claim of the key.
func ownsKey(ctx context.Context, key string) bool {
	c, _ := ctx.Value(claimKey{}).(*claim)
	for ; c != nil; c = c.outer {
		if c.req.Key == key && c.ledger != nil && c.live() {
			return true
		}
	}
	return false
}

// record describes the running work to duplicates in this process.
func (k *claim) record(now time.Time) engine.Record {
	return engine.Record{State: engine.Running, Fence: k.fence, Began: time.Unix(0, k.engineStart), Age: now.Sub(k.startedAt), Left: k.lease.Left(now), Fingerprint: k.req.Fingerprint}
}

// live reports whether the claim is open and its lease has not expired.
func (k *claim) live() bool {
	return k.closed.Load() == nil && !k.lease.Overdue(time.Now())
}

// The watchdog calls the following methods.

func (k *claim) Watched() *watchdog.Lease { return &k.lease }
func (k *claim) Expired()                 { k.lose(interlock.ErrExpired) }
func (k *claim) Exceeded()                { k.lose(interlock.ErrMaxHold) }

// Gone ends a claim that the engine no longer knows.
func (k *claim) Gone(err error) {
	k.lose(watchdog.LossReason(err, interlock.ErrRevoked))
}

// Renewed counts and traces a renewal.
func (k *claim) Renewed(err error) {
	s := k.core.stats
	if err == nil {
		s.renewed.Add(1)
	} else {
		s.notRenewed.Add(1)
	}
	if t := k.core.trace; t != nil && t.Renewed != nil {
		e := Renewed{Guard: k.core.policy.Name, Key: k.req.Key, Err: err}
		k.core.events.Add(func() { t.Renewed(e) })
	}
}

// lose ends a claim that is no longer held. It has no effect while the claim is being
// settled: then the engine decides.
func (k *claim) lose(why error) {
	reason := &closeReason{interlock.LostError{Key: k.req.Key, Fence: k.fence, Err: why}}
	if !k.closed.CompareAndSwap(nil, reason) {
		return
	}
	c := k.core
	c.watchdog.Remove(k)
	if c.policy.OnUnknown != Rerun {
		c.mirror(k, engine.Settlement{Key: k.req.Key, Attempt: k.req.Attempt, Outcome: engine.Unknown, Retain: k.retain}, true)
	}
	if k.entry != nil { // duplicates in this process must ask the engine again
		c.inflight.remove(k.entry, nil)
	}
	k.End(&reason.lost)
	took := time.Since(k.startedAt)
	c.stats.running.Add(-1)
	c.stats.lost.Add(1)
	c.stats.took.ObserveTraced(took, k.traceID)
	if t := c.trace; t != nil && t.Lost != nil {
		e := Lost{Context: k.Parent(), Guard: c.policy.Name, Key: k.req.Key, Fence: k.fence, Took: took, Err: why}
		c.events.Add(func() { t.Lost(e) })
	}
}

// renew renews claims with one call to the engine, and one to the fallback if it
// granted some of them.
func (c *core) renew(ctx context.Context, claims []watchdog.Leased) []error {
	errs := make([]error, len(claims))
	for _, local := range []bool{true, false} {
		indexes, reqs := make([]int, 0, len(claims)), make([]engine.Claim, 0, len(claims))
		for i, x := range claims {
			if k := x.(*claim); k.local == local {
				indexes, reqs = append(indexes, i), append(reqs, k.req)
			}
		}
		if len(reqs) == 0 {
			continue
		}
		for i, err := range c.ledgerFor(local).Renew(ctx, reqs) {
			errs[indexes[i]] = err
		}
	}
	return errs
}

func isLost(err error) bool { return errors.Is(err, interlock.ErrLost) }
