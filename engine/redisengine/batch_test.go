package redisengine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// concurrency is the number of concurrent calls, enough for most to share a batch.
const concurrency = 40

// concurrently makes concurrent calls on a network so slow that they overlap, and returns
// how many scripts the server ran.
func concurrently(t *testing.T, s *redistest.Server, p *faultnet.Proxy, do func(i int)) int64 {
	t.Helper()
	before := scripts(t, s)
	p.Delay(faultnet.Replies, 30*time.Millisecond)
	defer p.Delay(faultnet.Replies, 0)
	var all sync.WaitGroup
	for i := range concurrency {
		all.Go(func() { do(i) })
	}
	all.Wait()
	return scripts(t, s) - before
}

// scripts returns how many scripts the server has run.
func scripts(t *testing.T, s *redistest.Server) (n int64) {
	t.Helper()
	for line := range strings.Lines(s.Must("INFO", "commandstats")) {
		var calls int64
		if _, err := fmt.Sscanf(line, "cmdstat_evalsha:calls=%d", &calls); err == nil {
			n += calls
		}
	}
	return n
}

// openWithProxy returns an engine that knows its server's clock, behind a proxy.
func openWithProxy(t *testing.T) (*redistest.Server, *faultnet.Proxy, *redisengine.Engine) {
	t.Helper()
	s := redistest.Start(t)
	p := faultnet.New(t, s.Addr())
	e := openURL(t, "redis://"+p.Addr())
	r := engine.Request{Key: "warm:1", Holder: ann, Attempt: "w", Lease: time.Minute}
	granted(t, e, r) // now the engine knows the server's clock
	released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
	return s, p, e
}

// numberedLock returns a request for the i-th of many locks, each with its own holder.
func numberedLock(i int, holder string) engine.Request {
	return engine.Request{Key: fmt.Sprint("lock:", i), Holder: fmt.Sprintf("%s%d", holder, i), Attempt: "a", Lease: time.Minute}
}

// withKind returns the request for a lock of kind k.
func withKind(k engine.Kind, r engine.Request) engine.Request {
	r.Kind = k
	return r
}

// forBatchedKinds runs a test for each kind of lock that is batched.
func forBatchedKinds(t *testing.T, test func(t *testing.T, k engine.Kind)) {
	for _, k := range []engine.Kind{engine.Exclusive, engine.Fair} {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			test(t, k)
		})
	}
}

func TestConcurrentCallsShareABatch(t *testing.T) {
	forBatchedKinds(t, func(t *testing.T, k engine.Kind) {
		s, p, e := openWithProxy(t)
		grants := make([]engine.Grant, concurrency)
		scripts := concurrently(t, s, p, func(i int) {
			g, err := e.Acquire(context.Background(), withKind(k, numberedLock(i, ann)))
			if err != nil {
				t.Errorf("acquire lock %d: %v", i, err)
			}
			grants[i] = g
		})
		if scripts > 8 {
			t.Errorf("%d scripts acquired %d locks, want at most 8", scripts, concurrency)
		}
		for i, g := range grants {
			r := numberedLock(i, ann)
			wantHash(t, s, r.Key, map[string]string{r.Holder: "1", "fence:a": fmt.Sprint(g.Fence)})
			wantTTL(t, s, r.Key, r.Lease)
		}
		scripts = concurrently(t, s, p, func(i int) {
			if got, err := e.Release(context.Background(), withKind(k, numberedLock(i, ann))); err != nil || got.Outcome != engine.Released {
				t.Errorf("release lock %d: %+v, %v; want %v", i, got, err, engine.Released)
			}
		})
		if scripts > 8 {
			t.Errorf("%d scripts released %d locks, want at most 8", scripts, concurrency)
		}
		if n := s.Must("DBSIZE"); n != "0" {
			t.Errorf("%s keys are left, want none", n)
		}
	})
}

func TestLocksThatABatchCannotHandleGetTheirOwnCall(t *testing.T) {
	forBatchedKinds(t, func(t *testing.T, k engine.Kind) {
		s, p, e := openWithProxy(t)
		for i := range concurrency {
			switch r := numberedLock(i, ann); i % 5 {
			case 1: // held by another holder
				granted(t, e, numberedLock(i, bob))
			case 2: // entered before
				r.Attempt = "first"
				granted(t, e, r)
			case 3: // other data
				s.Must("SET", r.Key, "x")
			}
		}
		concurrently(t, s, p, func(i int) {
			g, err := e.Acquire(context.Background(), withKind(k, numberedLock(i, ann)))
			var busy *engine.BusyError
			switch {
			case i%5 == 1 && errors.As(err, &busy) && busy.Holder == numberedLock(i, bob).Holder:
			case i%5 == 2 && err == nil && g.Count == 2:
			case i%5 == 3 && errors.Is(err, engine.ErrKind):
			case (i%5 == 0 || i%5 == 4) && err == nil && g.Count == 1:
			default:
				t.Errorf("acquire lock %d: unexpected %+v, %v", i, g, err)
			}
		})
		concurrently(t, s, p, func(i int) {
			got, err := e.Release(context.Background(), withKind(k, numberedLock(i, ann)))
			switch {
			case i%5 == 1 && got.Outcome == engine.NotYours:
			case i%5 == 2 && got == engine.ReleaseResult{Outcome: engine.Released, Count: 1}:
			case i%5 == 3 && errors.Is(err, engine.ErrKind):
			case (i%5 == 0 || i%5 == 4) && got == engine.ReleaseResult{Outcome: engine.Released}:
			default:
				t.Errorf("release lock %d: unexpected %+v, %v", i, got, err)
			}
		})
	})
}

// TestABatchDoesNotOvertakeTheQueue acquires free fair locks concurrently. Some of them
// have waiters.
func TestABatchDoesNotOvertakeTheQueue(t *testing.T) {
	t.Parallel()
	s, p, e := openWithProxy(t)
	waiting := func(i int) engine.Request {
		r := withKind(engine.Fair, numberedLock(i, bob))
		r.Attempt, r.QueueLease = "w", time.Minute
		return r
	}
	for i := 0; i < concurrency; i += 2 {
		holder := numberedLock(i, "c0c00000-0000-4000-8000-00000000000c:")
		granted(t, e, holder)
		if _, err := e.Acquire(context.Background(), waiting(i)); err == nil {
			t.Fatalf("the waiter for lock %d was granted the lock, want it queued", i)
		}
		released(t, e, holder, engine.ReleaseResult{Outcome: engine.Released})
	}
	concurrently(t, s, p, func(i int) {
		_, err := e.Acquire(context.Background(), withKind(engine.Fair, numberedLock(i, ann)))
		var busy *engine.BusyError
		if first := errors.As(err, &busy) && busy.Holder == waiting(i).Holder; first != (i%2 == 0) || err != nil && !first {
			t.Errorf("acquire lock %d: %v; want a refusal for even numbers only", i, err)
		}
	})
	for i := 0; i < concurrency; i += 2 {
		granted(t, e, waiting(i))
	}
	for i := 1; i < concurrency; i += 2 { // now each of these locks has a waiter
		if _, err := e.Acquire(context.Background(), waiting(i)); err == nil {
			t.Fatalf("the waiter for lock %d was granted the lock, want it queued", i)
		}
	}
	wakes := make([]<-chan struct{}, concurrency)
	for i := 1; i < concurrency; i += 2 {
		wake, stop := e.Notify(waiting(i))
		defer stop()
		awaitWake(t, wake) // the subscription has begun
		wakes[i] = wake
	}
	concurrently(t, s, p, func(i int) {
		r := withKind(engine.Fair, numberedLock(i, ann))
		if i%2 == 0 {
			r = waiting(i)
		}
		if got, err := e.Release(context.Background(), r); err != nil || got.Outcome != engine.Released {
			t.Errorf("release lock %d: %+v, %v; want %v", i, got, err, engine.Released)
		}
	})
	for i := 1; i < concurrency; i += 2 {
		awaitWake(t, wakes[i])
	}
}

func TestABatchedReleaseNotifiesSubscribers(t *testing.T) {
	t.Parallel()
	s, p, e := openWithProxy(t)
	for i := range concurrency {
		granted(t, e, numberedLock(i, ann))
	}
	otherEngine := open(t, s)
	wakes := make([]<-chan struct{}, concurrency)
	for i := range concurrency {
		wake, stop := otherEngine.Notify(numberedLock(i, ann))
		defer stop()
		awaitWake(t, wake) // the subscription has begun
		wakes[i] = wake
	}
	concurrently(t, s, p, func(i int) {
		got, err := e.Release(context.Background(), numberedLock(i, ann))
		wantResult(t, got, err, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
	})
	for _, wake := range wakes {
		awaitWake(t, wake)
	}
}

func TestACallCancelledBeforeItsBatchIsNotSent(t *testing.T) {
	t.Parallel()
	s, p, e := openWithProxy(t)
	release := p.Hold(faultnet.Requests)
	var direct sync.WaitGroup
	for i := range 2 { // as many calls as are sent directly
		direct.Go(func() { _, _ = e.Acquire(context.Background(), numberedLock(i, ann)) })
	}
	var last int
	eventually(t, "a call waits for a batch", func() bool { // an early call may be sent directly
		last++
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_, err := e.Acquire(ctx, numberedLock(10+last, ann))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("acquire: %v, want %v", err, context.DeadlineExceeded)
		}
		return !errors.Is(err, engine.ErrUnknown)
	})
	release()
	direct.Wait()
	if s.Must("EXISTS", numberedLock(10+last, ann).Key) != "0" {
		t.Error("the canceled call was sent")
	}
}

func TestPendingCallsFailTogetherWhenTheServerIsSilent(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	warm(t, s)
	e, _ := openFaulty(t, s, redisengine.Timeout(3*time.Second))
	s.Stop()
	defer s.Cont()
	start := time.Now()
	var all sync.WaitGroup
	for i := range 3 * concurrency {
		all.Go(func() {
			_, err := e.Acquire(context.Background(), numberedLock(i, ann))
			if !errors.Is(err, engine.ErrUnknown) && !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("acquire lock %d: %v, want ErrUnknown or ErrUnavailable", i, err)
			}
		})
	}
	all.Wait()
	// The limit allows for slow machines. If pending calls did not fail, two calls at a time
	// would wait for their timeouts: 180s in all.
	if d := time.Since(start); d > 27*time.Second {
		t.Errorf("the calls took %v, want at most 27s", d)
	}
}

// A user who may not publish on one channel releases the other locks of the batch.
func TestAForbiddenReleaseDoesNotFailItsBatch(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := faultnet.New(t, s.Addr())
	s.Must("ACL", "SETUSER", "shop", "on", ">pw", "+@all", "~warm*", "~lock:*", "~*{warm*", "~*{lock:*",
		"resetchannels", "&*{warm*", "&*{lock:1*", "&*{lock:2*")
	e := openURL(t, "redis://shop:pw@"+p.Addr())
	r := engine.Request{Key: "warm:1", Holder: ann, Attempt: "w", Lease: time.Minute}
	granted(t, e, r)
	released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})

	concurrently(t, s, p, func(i int) {
		r := numberedLock(i, ann)
		if i%4 == 0 {
			r.Key = fmt.Sprint("forbidden:", i)
		}
		_, err := e.Acquire(context.Background(), r)
		if (err != nil) != (i%4 == 0) {
			t.Errorf("acquire lock %d: %v; want an error for a forbidden key only", i, err)
		}
	})
	concurrently(t, s, p, func(i int) {
		if i%4 == 0 {
			return
		}
		allowed := strings.HasPrefix(fmt.Sprint(i), "1") || strings.HasPrefix(fmt.Sprint(i), "2")
		got, err := e.Release(context.Background(), numberedLock(i, ann))
		released := s.Must("EXISTS", numberedLock(i, ann).Key) == "0"
		if released != allowed || (err == nil) != allowed || (got.Outcome == engine.Released) != allowed {
			t.Errorf("release lock %d: %+v, %v, deleted: %v; allowed: %v", i, got, err, released, allowed)
		}
	})
}

func TestManyScripts(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	text := scriptText(t, "acquire_many")
	const never = "9000000000000000"
	if got := s.Must("EVAL", text, "2", "late:1", "late:2", "1", "1", ann, "a", "60000", bob, "b", "60000"); got != "0" {
		t.Errorf("late batch: got %q, want 0", got)
	}
	if s.Must("EXISTS", "late:1", "late:2") != "0" {
		t.Error("a late batch acquired locks")
	}
	// One key twice in a batch: the second request is refused.
	got := strings.Split(s.Must("EVAL", text, "2", "twice:1", "twice:1", never, "1", ann, "a", "60000", bob, "b", "60000"), "\n")
	if len(got) != 2 || got[1] != "2" {
		t.Errorf("acquire_many.lua returns %q, want the time, and 2 as the request that was refused", got)
	}
	wantHash(t, s, "twice:1", map[string]string{ann: "1", "fence:a": got[0]})
}
