package enginetest

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// At most so many executions in a window of time.
var quotaLaws = []Law{
	{"quota", "a quota grants as many units as its limit", func(b *testbed) {
		for used := 1; used <= 3; used++ {
			b.takes(b.quota(3), used)
		}
		b.exceeds(b.quota(3), 3)
	}},
	{"quota", "an attempt that is repeated takes one unit", func(b *testbed) {
		q := b.quota(2)
		for range 3 {
			b.takes(q, 1)
		}
		b.takes(b.quota(2), 2)
		b.takes(q, 2)
		b.exceeds(b.quota(2), 2)
	}},
	{"quota", "a refused attempt may be repeated and takes a unit when one is free", func(b *testbed) {
		first, second := b.quota(1), b.quota(1)
		b.takes(first, 1)
		b.exceeds(second, 1)
		b.returns(first, true)
		b.takes(second, 1)
	}},
	{"quota", "a request without an attempt takes nothing", func(b *testbed) {
		look := b.quota(2)
		look.Attempt = ""
		b.exceeds(look, 0)
		b.takes(b.quota(2), 1)
		b.exceeds(look, 1)
		b.exceeds(look, 1)
	}},
	{"quota", "a unit that is given back can be taken again", func(b *testbed) {
		first, second := b.quota(2), b.quota(2)
		b.takes(first, 1)
		b.takes(second, 2)
		b.returns(first, true)
		b.takes(b.quota(2), 2)
		b.exceeds(b.quota(2), 2)
		b.returns(second, true)
		b.takes(b.quota(2), 2)
	}},
	{"quota", "a unit is given back once", func(b *testbed) {
		q := b.quota(2)
		b.takes(q, 1)
		b.takes(b.quota(2), 2)
		b.returns(q, true)
		b.returns(q, false)
		b.takes(b.quota(2), 2)
	}},
	{"quota", "an attempt without a unit gives nothing back", func(b *testbed) {
		b.returns(b.quota(1), false)
		b.takes(b.quota(1), 1)
		refused := b.quota(1)
		b.exceeds(refused, 1)
		b.returns(refused, false)
		b.exceeds(b.quota(1), 1)
	}},
	{"quota", "each request applies its own limit", func(b *testbed) {
		b.takes(b.quota(3), 1)
		b.takes(b.quota(3), 2)
		b.exceeds(b.quota(1), 2)
		b.exceeds(b.quota(2), 2)
		b.takes(b.quota(3), 3)
	}},
	{"quota", "a unit counts for one window", func(b *testbed) {
		q := b.quota(1)
		b.takes(q, 1)
		b.sleepMostOfLease()
		b.exceeds(b.quota(1), 1)
		b.sleepPastLease()
		b.takes(b.quota(1), 1)
		b.returns(q, false)
	}},
	{"quota", "a refused attempt does not lengthen a window", func(b *testbed) {
		b.takes(b.quota(1), 1)
		b.sleepMostOfLease()
		b.exceeds(b.quota(1), 1)
		b.sleepMostOfLease()
		b.takes(b.quota(1), 1)
	}},
	{"quota", "a repeated attempt does not lengthen a window", func(b *testbed) {
		q := b.quota(1)
		b.takes(q, 1)
		b.sleepMostOfLease()
		b.takes(q, 1)
		b.sleepMostOfLease()
		b.takes(b.quota(1), 1)
	}},
	{"quota", "a window slides: each unit ends on its own", func(b *testbed) {
		b.takes(b.quota(2), 1)
		b.sleepMostOfLease()
		b.takes(b.quota(2), 2)
		b.exceeds(b.quota(2), 2)
		b.sleepMostOfLease()
		b.takes(b.quota(2), 2)
		b.exceeds(b.quota(2), 2)
	}},
	{"quota", "a refusal says when a unit is free", func(b *testbed) {
		b.takes(b.quota(2), 1)
		b.sleepMostOfLease()
		b.takes(b.quota(2), 2)
		use := b.exceeds(b.quota(2), 2)
		if use.Next <= 0 || use.Next > b.Lease/2 {
			b.errorf("a unit is free in %v, want above 0 and at most %v", use.Next, b.Lease/2)
		}
		use = b.exceeds(b.quota(1), 2) // both units must end
		if use.Next <= b.Lease/2 || use.Next > b.Lease {
			b.errorf("with a lower limit, a unit is free in %v, want from %v to %v", use.Next, b.Lease/2, b.Lease)
		}
	}},
	{"quota", "an unused quota has nothing to wait for", func(b *testbed) {
		look := b.quota(2)
		look.Attempt = ""
		if use := b.exceeds(look, 0); use.Next != 0 {
			b.errorf("Next is %v, want 0", use.Next)
		}
	}},
	{"quota", "the units of a calendar window count until its end", func(b *testbed) {
		from, until := b.calendar(b.Lease)
		q := b.quotaUntil(2, from, until)
		b.takes(q, 1)
		b.sleepMostOfLease()
		use := b.takes(b.quotaUntil(2, from, until), 2)
		if use.Next <= 0 || use.Next > b.Lease/2 {
			b.errorf("the window ends in %v, want above 0 and at most %v", use.Next, b.Lease/2)
		}
		b.exceeds(b.quotaUntil(2, from, until), 2)
		b.sleepMostOfLease()
		b.outside(b.quotaUntil(2, from, until))
		b.outside(q)
	}},
	{"quota", "a calendar window ends exactly where the next one begins", func(b *testbed) {
		from, until := b.calendar(b.Lease)
		later := until.Add(time.Hour)
		b.outside(b.quotaUntil(1, until, later))
		b.takes(b.quotaUntil(1, from, until), 1)
		b.sleepPastLease()
		next := b.quotaUntil(1, until, later)
		next.Key += ":next"
		b.takes(next, 1)
	}},
	{"quota", "a request outside of its window changes nothing and says the time", func(b *testbed) {
		now := b.now()
		past := b.quotaUntil(1, now.Add(-time.Hour), now)
		future := b.quotaUntil(1, now.Add(time.Hour), now.Add(2*time.Hour))
		for _, q := range []engine.Quota{past, future} {
			if d := b.outside(q).Now.Sub(now); d < 0 || d > time.Minute {
				b.errorf("the engine's clock is %v after its last answer", d)
			}
			b.returns(q, false)
		}
		b.takes(b.quota(1), 1)
	}},
	{"quota", "quotas of different keys are independent", func(b *testbed) {
		other := b.quota(1)
		other.Key += "other"
		b.takes(b.quota(1), 1)
		b.takes(other, 1)
		b.exceeds(b.quota(1), 1)
	}},
	{"quota", "a quota and a lock may have the same key", func(b *testbed) {
		r := b.ask(ann)
		b.granted(r)
		b.takes(b.quota(1), 1)
		b.heldBy(r)
		b.releases(r, engine.Released)
		b.exceeds(b.quota(1), 1)
		b.free(r)
	}},
	{"quota", "unusual keys are valid quotas", func(b *testbed) {
		for _, key := range oddKeys {
			q := b.quota(1)
			q.Key = b.prefix + key
			b.takes(q, 1)
			b.takes(q, 1)
			b.returns(q, true)
		}
	}},
	{"quota", "an invalid request is refused", func(b *testbed) {
		for _, spoil := range []func(*engine.Quota){
			func(q *engine.Quota) { q.Key = "" },
			func(q *engine.Quota) { q.Limit = 0 },
			func(q *engine.Quota) { q.Limit = -1 },
			func(q *engine.Quota) { q.Window = 0 },
			func(q *engine.Quota) { q.Window = -b.Lease },
			func(q *engine.Quota) { q.Until = time.Unix(1, 0); q.From = q.Until },
		} {
			q := b.quota(1)
			spoil(&q)
			b.rejected(errOf(b.quotas().Take(b.ctx, q)))
			b.rejected(errOf(b.quotas().Return(b.ctx, q)))
		}
		b.takes(b.quota(1), 1)
	}},
	{"quota", "a call whose context is done changes nothing", func(b *testbed) {
		_, err := b.quotas().Take(b.doneContext(), b.quota(1))
		b.wantCanceled(err)
		q := b.quota(1)
		b.takes(q, 1)
		_, err = b.quotas().Return(b.doneContext(), q)
		b.wantCanceled(err)
		b.exceeds(b.quota(1), 1)
	}},
	{"quota", "concurrent callers take exactly the limit", func(b *testbed) {
		const callers, limit = 40, 7
		qs, granted := make([]engine.Quota, callers), make([]bool, callers)
		for i := range qs {
			qs[i] = b.quota(limit)
			qs[i].Window = 50 * b.Lease
		}
		b.together(callers, func(i int) {
			use, err := b.quotas().Take(b.ctx, qs[i])
			if err != nil {
				b.errorf("caller %d: %v", i, err)
			}
			granted[i] = use.Granted
		})
		granted = slices.DeleteFunc(granted, func(ok bool) bool { return !ok })
		if len(granted) != limit {
			b.errorf("%d callers took a unit, want %d", len(granted), limit)
		}
	}},
	{"quota", "a clock set back does not lengthen a window", func(b *testbed) {
		q, clock := b.quota(1), b.clock()
		b.takes(q, 1)
		clock.Step(-time.Hour)
		b.exceeds(b.quota(1), 1)
		b.sleepPastLease()
		b.takes(b.quota(1), 1)
	}},
	{"quota", "a clock set back frees no unit", func(b *testbed) {
		q, clock := b.quota(1), b.clock()
		b.takes(q, 1)
		clock.Step(-time.Hour)
		b.exceeds(b.quota(1), 1)
		b.sleepMostOfLease()
		b.exceeds(b.quota(1), 1)
	}},
	{"quota", "a unit whose reply was lost is taken once", func(b *testbed) {
		f, q := NewFaulty(b.Engine), b.quota(2)
		b.quotas()
		f.Inject(Fault{Op: OpTake, Do: LoseReply, Times: 1})
		b.unknown(errOf(f.Capabilities().Quotas.Take(b.ctx, q)))
		b.takes(q, 1)
		b.takes(b.quota(2), 2)
		b.exceeds(b.quota(2), 2)
	}},
}

// quota returns a new request for the quota of most laws, whose window is a lease.
func (b *testbed) quota(limit int) engine.Quota {
	b.quotas()
	r := b.ask(ann)
	return engine.Quota{Key: r.Key, Attempt: r.Attempt, Limit: limit, Window: b.Lease}
}

// quotaUntil returns a new request for the quota in a calendar window.
func (b *testbed) quotaUntil(limit int, from, until time.Time) engine.Quota {
	q := b.quota(limit)
	q.Window, q.From, q.Until = 0, from, until
	return q
}

// now returns the time of the engine.
func (b *testbed) now() time.Time {
	q := b.quota(1)
	q.Key, q.Attempt = q.Key+"now", ""
	return b.exceeds(q, 0).Now
}

// calendar returns a window that began a minute ago and ends after d.
func (b *testbed) calendar(d time.Duration) (from, until time.Time) {
	now := b.now()
	return now.Add(-time.Minute), now.Add(d)
}

// quotas returns the quotas of the engine. Without them it skips the law.
func (b *testbed) quotas() engine.Quotas {
	q := b.Capabilities().Quotas
	if q == nil {
		b.skip("the engine has no quotas")
	}
	return q
}

// takes requires that q is granted, and how many units are used then.
func (b *testbed) takes(q engine.Quota, used int) engine.Usage {
	use, err := b.quotas().Take(b.ctx, q)
	if err != nil || !use.Granted || use.Used != used || use.Outside {
		b.fatalf("take: %+v, error %v; want a grant and %d units used", use, err, used)
	}
	return use
}

// exceeds requires that q is not granted, and how many units are used.
func (b *testbed) exceeds(q engine.Quota, used int) engine.Usage {
	use, err := b.quotas().Take(b.ctx, q)
	if err != nil || use.Granted || use.Used != used || use.Outside {
		b.fatalf("take: %+v, error %v; want no grant and %d units used", use, err, used)
	}
	return use
}

// outside requires that the engine's time is not in the window of q.
func (b *testbed) outside(q engine.Quota) engine.Usage {
	use, err := b.quotas().Take(b.ctx, q)
	if err != nil || use.Granted || !use.Outside {
		b.fatalf("take: %+v, error %v; want no grant outside of the window", use, err)
	}
	return use
}

// returns requires whether q's attempt had a unit to give back.
func (b *testbed) returns(q engine.Quota, want bool) {
	if counted, err := b.quotas().Return(b.ctx, q); err != nil || counted != want {
		b.fatalf("return: %t, error %v; want %t", counted, err, want)
	}
}
