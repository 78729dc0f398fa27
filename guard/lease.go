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
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A claim is a [Claim] without the type of its result. It is also the context
// under which the work is done.
type claim struct {
	lazyctx.Context        // ends with the claim
	outer           *claim // the one before it on the way to this context

	core      *core
	ledger    engine.Ledger // that granted it; nil if nobody did
	local     bool          // it is that of this process
	alone     bool          // other processes know nothing of the claim
	unguarded error         // why not
	seat      *seat         // its place at the desk, if it has one
	req       engine.Claim
	retain    time.Duration
	fence     uint64
	began     int64     // by the engine's clock, as its record says: nanoseconds since 1970
	begun     time.Time // by this process's, which durations are taken from
	lease     watchdog.Lease

	fate atomic.Pointer[fate] // nil while it is open

	unsure bool // an answer to its settlement was lost; who settles it knows
}

// A fate is why a claim is not open any more.
type fate struct{ lost interlock.LostError }

// settled is the fate of a claim that was settled, or is about to be.
var settled = new(fate)

type claimKey struct{}

// Fence returns the fence of the claim under which ctx's work is done.
func Fence(ctx context.Context) (fence uint64, ok bool) {
	c, ok := ctx.Value(claimKey{}).(*claim)
	if !ok || c.ledger == nil {
		return 0, false
	}
	return c.fence, true
}

// start begins the work.
func (k *claim) start(ctx context.Context, c *core, a *answer, retain time.Duration) {
	k.core, k.ledger, k.unguarded, k.seat, k.req, k.retain = c, a.ledger, a.unguarded, a.seat, a.req, retain
	k.local, k.alone = a.local, a.local || a.rec.Local
	k.fence, k.began, k.begun = a.rec.Fence, a.rec.Began.UnixNano(), a.got
	if a.rec.Fingerprint != "" {
		k.req.Fingerprint = a.rec.Fingerprint // the record's, which this call may not have known
	}
	k.outer, _ = ctx.Value(claimKey{}).(*claim)
	if c.detached && a.ledger != nil { // otherwise there is no claim that would end it
		ctx = context.WithoutCancel(ctx)
	}
	k.Init(ctx)
	if k.ledger == nil {
		k.begun = time.Now()
		c.background.Begin() // Close waits for it
		c.unguarded.Add(1)
		return
	}
	k.lease.Init(c.now, k.req.Key, c.policy.Lease, a.sent, k.begun, watchdog.Terms{MaxHold: c.policy.MaxHold})
	if k.req.Lease != c.policy.Lease { // a window's first lease may be longer
		k.lease.Trust(watchdog.SureUntil(a.sent, k.req.Lease))
		k.req.Lease = c.policy.Lease
	}
	c.stats.running.Add(1)
	if k.seat != nil {
		c.desk.run(k.seat, k)
	}
	c.dog.Add(k, k.begun)
}

// Value finds the claim itself for package guard.
func (k *claim) Value(key any) any {
	if _, ok := key.(claimKey); ok {
		return k
	}
	return k.Context.Value(key)
}

// Err tells the truth even if no timer has had the time to: a process that was
// stopped and goes on sees a lost claim at once.
func (k *claim) Err() error {
	if err := k.Context.Err(); err != nil || k.ledger == nil {
		return err
	}
	if k.lease.Overdue(time.Now()) {
		k.lose(interlock.ErrExpired)
		if f := k.fate.Load(); f != nil && f != settled {
			<-k.Done() // the watchdog may have been faster, and be about to say so
		}
	}
	return k.Context.Err()
}

// String names the context in messages about it.
func (k *claim) String() string { return fmt.Sprintf("guard.Claim(%q)", k.req.Key) }

// does tells whether the work on a key is done under ctx.
func does(ctx context.Context, key string) bool {
	c, _ := ctx.Value(claimKey{}).(*claim)
	for ; c != nil; c = c.outer {
		if c.req.Key == key && c.ledger != nil && c.live() {
			return true
		}
	}
	return false
}

// record is what duplicates in this process are told of the work.
func (k *claim) record(now time.Time) engine.Record {
	return engine.Record{State: engine.Running, Fence: k.fence, Began: time.Unix(0, k.began), Age: now.Sub(k.begun), Left: k.lease.Left(now), Fingerprint: k.req.Fingerprint}
}

// live tells whether the claim is still relied on.
func (k *claim) live() bool {
	return k.fate.Load() == nil && !k.lease.Overdue(time.Now())
}

// The watchdog's side.
func (k *claim) Watched() *watchdog.Lease { return &k.lease }
func (k *claim) Expired()                 { k.lose(interlock.ErrExpired) }
func (k *claim) Exceeded()                { k.lose(interlock.ErrMaxHold) }

// Gone is told that the engine does not know the claim any more.
func (k *claim) Gone(err error) {
	switch {
	case errors.Is(err, engine.ErrRevoked):
		k.lose(interlock.ErrRevoked)
	case errors.Is(err, engine.ErrSwitched):
		k.lose(interlock.ErrSwitched)
	default:
		k.lose(interlock.ErrNotHolder)
	}
}

// Renewed is told what came of a renewal.
func (k *claim) Renewed(err error) {
	s := &k.core.stats
	if err == nil {
		s.renewed.Add(1)
	} else {
		s.notRenewed.Add(1)
	}
	if t := k.core.trace; t != nil && t.Renewed != nil {
		t.Renewed(Renewed{Guard: k.core.policy.Name, Key: k.req.Key, Err: err})
	}
}

// lose ends a claim that can no longer be relied on. While it is being settled
// the engine has the last word.
func (k *claim) lose(why error) {
	f := &fate{interlock.LostError{Key: k.req.Key, Fence: k.fence, Err: why}}
	if !k.fate.CompareAndSwap(nil, f) {
		return
	}
	c := k.core
	c.dog.Remove(k)
	if c.policy.OnUnknown != Rerun {
		c.mirror(k, engine.Settlement{Key: k.req.Key, Attempt: k.req.Attempt, Outcome: engine.Unknown, Retain: k.retain}, true)
	}
	if k.seat != nil {
		c.desk.vacate(k.seat, nil)
	}
	k.End(&f.lost)
	took := time.Since(k.begun)
	c.stats.running.Add(-1)
	c.stats.lost.Add(1)
	c.stats.took.Add(int64(took))
	if t := c.trace; t != nil && t.Lost != nil {
		t.Lost(Lost{Guard: c.policy.Name, Key: k.req.Key, Fence: k.fence, Took: took, Err: why})
	}
}

// renew renews claims with one call to the engine, and one to the ledger of this
// process if that has granted some.
func (c *core) renew(ctx context.Context, wards []watchdog.Ward) []error {
	errs := make([]error, len(wards))
	renew := func(l engine.Ledger, which []int) {
		if len(which) == 0 {
			return
		}
		reqs := make([]engine.Claim, len(which))
		for i, n := range which {
			reqs[i] = wards[n].(*claim).req
		}
		for i, err := range l.Renew(ctx, reqs) {
			errs[which[i]] = err
		}
	}
	var here, there []int
	for i, w := range wards {
		if w.(*claim).local {
			here = append(here, i)
		} else {
			there = append(there, i)
		}
	}
	if len(here) > 0 {
		renew(c.local.ledger(), here)
	}
	renew(c.ledger, there)
	return errs
}

func isLost(err error) bool { return errors.Is(err, interlock.ErrLost) }
