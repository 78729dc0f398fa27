package redisengine_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// otherKinds are the kinds besides Exclusive.
var otherKinds = []engine.Kind{engine.Fair, engine.Read, engine.Write, engine.Permit}

func TestLateRequestsOfEveryKindAreRefused(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.SteppedClock)
	e := open(t, s)
	granted(t, e, request(t, ann, "a")) // now the engine knows the server's clock
	for _, k := range otherKinds {
		late, otherRequest := requestKind(t, k, ann, "a"), requestKind(t, k, bob, "b")
		late.Key, otherRequest.Key = late.Key+k.String(), otherRequest.Key+k.String()
		abandoned(t, e, late, engine.ReleaseResult{Outcome: engine.AlreadyFree})
		s.Step(testTimeout + time.Second) // as if both requests had been delayed for that long
		refused(t, e, late, engine.ErrAbandoned)
		s.Step(testTimeout + time.Second)
		granted(t, e, otherRequest)
	}
}

func TestFencesOfEveryKindRise(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.SteppedClock)
	e := open(t, s)
	for _, k := range otherKinds {
		var last uint64
		for _, step := range []time.Duration{0, -time.Minute, 20 * time.Second, -time.Hour} {
			s.Step(step)
			r := fenced(requestKind(t, k, ann, "a"), 5)
			g := granted(t, e, r)
			if g.Fence <= last {
				t.Errorf("%s: the fence after a step of %v is %d, want one above %d", k, step, g.Fence, last)
			}
			last = g.Fence + r.FenceReserve
			released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
		}
	}
}

func TestNoLeaseIsShortened(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	for _, k := range otherKinds {
		r := requestKind(t, k, ann, "a")
		granted(t, e, r)
		granted(t, e, lasting(retry(r), time.Second))
		renewed(t, e, lasting(r, time.Second), nil)
		wantTTL(t, s, r.Key, r.Lease)
		switch k {
		case engine.Read:
			wantTTL(t, s, timeoutOf(t, ann), r.Lease)
		case engine.Permit:
			wantScoreAhead(t, s, s.Must("ZSCORE", r.Key, ann+"/a")[:13], r.Lease)
			wantTTL(t, s, relatedKey(t, "interlock_permits:"), r.Lease)
		}
		released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
	}
}

func TestEveryKeyExpires(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	wantExpiries := func(when string) {
		t.Helper()
		for name := range strings.SplitSeq(s.Must("KEYS", "*"), "\n") {
			if name != "" && s.Must("PTTL", name) == "-1" {
				t.Errorf("%s has no expiry %s", name, when)
			}
		}
	}
	for _, k := range append([]engine.Kind{engine.Exclusive}, otherKinds...) {
		a, again := fenced(requestKind(t, k, ann, "a"), 0), requestKind(t, k, ann, "again")
		b, c := queued(requestKind(t, k, bob, "b"), time.Minute), queued(requestKind(t, k, cat, "c"), time.Minute)
		again.Limit = 2
		if k == engine.Read {
			b.Kind = engine.Write
		}
		for _, step := range []func(){
			func() { granted(t, e, a) },
			func() { granted(t, e, again) },
			func() { busy(t, e, b) },
			func() { _, _ = e.Acquire(context.Background(), c) },
			func() { renewed(t, e, a, nil) },
			func() { _, _ = e.Release(context.Background(), again) },
			func() { _, _ = e.Release(context.Background(), a) },
			func() { _, _ = e.Abandon(context.Background(), c) },
			func() { _, _ = e.Acquire(context.Background(), b) },
			func() { forceReleased(t, e, a.Key) },
		} {
			step()
			wantExpiries("with a lock of kind " + k.String())
		}
	}
	latch := requestKind(t, engine.Latch, "", "")
	countedDown(t, e, latch, 1)
	wantExpiries("after a latch was read")
	latch.Holder, latch.Attempt = ann, "a"
	countedDown(t, e, latch, 0)
	if err := e.Register(context.Background(), engine.Member{ID: "id"}, time.Minute); err != nil {
		t.Error(err)
	}
	wantExpiries("after all calls")
}

func TestExpiredWaitersAreRemovedInSteps(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	for _, queue := range []struct {
		request  engine.Request
		add      []string // queues a name
		count    []string // counts the queue
		expiries string
		suffix   string
	}{
		{fair(t, ann, "a"), []string{"RPUSH", relatedKey(t, "redisson_lock_queue:")}, []string{"LLEN", relatedKey(t, "redisson_lock_queue:")}, "redisson_lock_timeout:", ""},
		{reading(t, ann, "a"), []string{"ZADD", relatedKey(t, "interlock_writers:"), "1"}, []string{"ZCARD", relatedKey(t, "interlock_writers:")}, "interlock_queue_expiry:", ":write"},
		{writing(t, ann, "a"), []string{"ZADD", relatedKey(t, "interlock_readers:"), "1"}, []string{"ZCARD", relatedKey(t, "interlock_readers:")}, "interlock_queue_expiry:", ""},
		{permit(t, ann, "a", 1), []string{"ZADD", relatedKey(t, "interlock_permit_queue:"), "1"}, []string{"ZCARD", relatedKey(t, "interlock_permit_queue:")}, "interlock_queue_expiry:", "/a"},
	} {
		for i := range 100 {
			s.Must(append(queue.add, numberedHolder(i)+queue.suffix)...)
			just := strconv.FormatInt(time.Now().UnixMilli()-1000, 10)
			if until := []string{"1000", "inf", just, ""}[i%4]; until != "" { // the others have no expiry
				s.Must("ZADD", relatedKey(t, queue.expiries), until, numberedHolder(i)+queue.suffix)
			}
			if i%4 == 2 { // this waiter may still return
				s.Must("HSET", relatedKey(t, "interlock_queue_lease:"), numberedHolder(i)+queue.suffix, "60000")
			}
		}
		busy(t, e, queue.request)
		if n := number(t, s, queue.count...); n != 84 {
			t.Errorf("%s: after one call %d waiters are left of 100, want 84", queue.request.Kind, n)
		}
		grantedWithin(t, e, queue.request, 6)
		released(t, e, queue.request, engine.ReleaseResult{Outcome: engine.Released})
		if n := s.Must("KEYS", "*{*"); n != "" {
			t.Errorf("%s: keys are left: %s", queue.request.Kind, n)
		}
	}
}

func TestALateWaiterKeepsItsPosition(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	for k, expiries := range map[engine.Kind]string{
		engine.Fair: "redisson_lock_timeout:", engine.Write: "interlock_queue_expiry:", engine.Permit: "interlock_queue_expiry:",
	} {
		a, b, c := requestKind(t, k, ann, "a"), queued(requestKind(t, k, bob, "b"), time.Minute), queued(requestKind(t, k, cat, "c"), time.Minute)
		granted(t, e, a)
		busy(t, e, b)
		busy(t, e, c)
		name := map[engine.Kind]string{engine.Fair: bob, engine.Write: bob + ":write", engine.Permit: bob + "/b"}[k]
		s.Must("ZADD", relatedKey(t, expiries), strconv.FormatInt(time.Now().UnixMilli()-1000, 10), name)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		granted(t, e, b)
		released(t, e, b, engine.ReleaseResult{Outcome: engine.Released})
		granted(t, e, c)
		released(t, e, c, engine.ReleaseResult{Outcome: engine.Released})
	}
}

func TestRedissonReadsGoLocks(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	a, b := reading(t, ann, "a"), reading(t, bob, "1700000000000000")
	granted(t, e, a)
	granted(t, e, b)
	timeouts := relatedKey(t, "") + ":" + java + ":rwlock_timeout"
	s.Must("EVAL", redissonRead, "2", a.Key, timeouts, "60000", java, java+":write")
	unlock := []string{"EVAL", redissonReadUnlock, "4", a.Key, relatedKey(t, "redisson_rwlock:"), timeouts, relatedKey(t, ""), "0", java, "publish"}
	if got := s.Must(unlock...); got != "0" {
		t.Errorf("read unlock by Java: %s, want 0", got)
	}
	wantTTL(t, s, a.Key, a.Lease)
	renewed(t, e, a, nil)
	s.Must("EVAL", redissonRead, "2", a.Key, timeouts, "60000", java, java+":write")
	released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
	wantTTL(t, s, a.Key, time.Minute)
	c := lasting(reading(t, cat, "c"), time.Hour)
	granted(t, e, c)
	wantTTL(t, s, a.Key, time.Hour)
	released(t, e, c, engine.ReleaseResult{Outcome: engine.Released})
	wantTTL(t, s, a.Key, time.Minute)
	released(t, e, b, engine.ReleaseResult{Outcome: engine.Released})
	wantHash(t, s, a.Key, map[string]string{"mode": "read", java: "1"})
}

func TestOtherDataIsNotChangedByLocks(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	for i, fill := range [][]string{
		{"SET", "", "v"}, {"HSET", "", "name", "Ann"}, {"HSET", "", ann, "1", bob, "1", "x", "y"}, {"ZADD", "", "1", ann + "/a"},
		{"ZADD", "", "1", "order/42"}, {"HSET", "", "mode", "read", "name", "Ann"}, {"HSET", "", "mode", "read", "retries", "3"}, {"HSET", "", "mode", "read"}, {"HSET", "", "mode", "write", "retries", "3"},
		{"HSET", "", "mode", "dark", ann, "1"},
	} {
		fill[1] = key(t) + string(rune('a'+i))
		s.Must(fill...)
		if fill[len(fill)-1] == "order/42" {
			s.Must("PEXPIRE", fill[1], "60000")
		}
		before := s.Must("DUMP", fill[1])
		for _, k := range otherKinds {
			r := requestKind(t, k, ann, "b")
			r.Key = fill[1]
			refused(t, e, r, engine.ErrKind)
		}
		for _, look := range []func(context.Context, string) (engine.Lock, error){e.Inspect, e.ForceRelease} {
			if l, err := look(context.Background(), fill[1]); !errors.Is(err, engine.ErrKind) {
				t.Errorf("%q: got %+v, %v; want %v", fill, l, err, engine.ErrKind)
			}
		}
		if got := listed(t, e, "*"); len(got) != 0 {
			t.Errorf("%q: the list has %q, want nothing", fill, got)
		}
		if s.Must("DUMP", fill[1]) != before {
			t.Errorf("%q was changed", fill)
		}
	}
	cart := key(t) + " cart" // an exclusive lock has one holder
	s.Must("HSET", cart, ann, "1", bob, "2")
	if l, err := e.ForceRelease(context.Background(), cart); !errors.Is(err, engine.ErrKind) || s.Must("HLEN", cart) != "2" {
		t.Errorf("force release of a cart: %+v, %v; want %v and no change", l, err, engine.ErrKind)
	}
}

// Laws cannot see the number of calls.
func TestEveryKindNeedsOneCall(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	run := func() {
		for _, k := range otherKinds {
			r, otherRequest := requestKind(t, k, ann, "a"), queued(requestKind(t, k, bob, "b"), time.Minute)
			if k == engine.Read {
				otherRequest.Kind = engine.Write
			}
			granted(t, e, r)
			busy(t, e, otherRequest)
			if errs := e.Renew(context.Background(), []engine.Request{r, otherRequest}); errs[0] != nil || !errors.Is(errs[1], engine.ErrNotHolder) {
				t.Errorf("%s: renewals: %v, want nil and %v", k, errs, engine.ErrNotHolder)
			}
			_, _ = e.Release(context.Background(), otherRequest)
			_, _ = e.Release(context.Background(), r)
		}
	}
	run() // loads the scripts, and tells the engine the server's clock
	before := scripts(t, s)
	run()
	if n := scripts(t, s) - before; n != int64(5*len(otherKinds)) {
		t.Errorf("%d scripts ran, want one for each of %d calls", n, 5*len(otherKinds))
	}
}
