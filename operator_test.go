package interlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
)

// keys returns the keys of the locks that c lists under pattern.
func keys(t *testing.T, c *interlock.Client, pattern string) []string {
	t.Helper()
	var keys []string
	for lock, err := range c.Locks(t.Context(), pattern) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, lock.Key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Requirement T13: a leaked lock can be found and released.
var operatorLaws = []law{
	{"Top lists the longest holds of now and of the last hour (T12)", func(t *testing.T, w *world) {
		c := w.client.With(interlock.WithName("pay"))
		start := time.Now()
		for i := range 15 { // holds of 1s to 15s
			_, hold := lock(t, c.Mutex(fmt.Sprint("order:", i)))
			time.Sleep(time.Duration(i+1) * time.Second)
			unlock(t, hold)
		}
		_, first := lock(t, c.Mutex("stock:1"))
		since := time.Now()
		time.Sleep(time.Second)
		_, second := lock(t, c.Mutex("stock:2"))
		time.Sleep(time.Second)
		top := c.Top()
		if len(top.Now) != 2 || top.Now[0].Key != "stock:1" || top.Now[1].Key != "stock:2" {
			t.Errorf("held now: %+v, want stock:1 and stock:2", top.Now)
		}
		want := interlock.TopHold{Name: "pay", Key: "stock:1", Kind: interlock.KindExclusive, Holder: engine.ShortHolder(first.Holder()), Fence: first.Fence(), Since: since, Held: 2 * time.Second}
		if top.Now[0] != want {
			t.Errorf("the longest hold is %+v, want %+v", top.Now[0], want)
		}
		if len(top.LastHour) != 10 || top.LastHour[0].Key != "order:14" || top.LastHour[9].Key != "order:5" || top.LastHour[0].Held != 15*time.Second {
			t.Errorf("the longest of the last hour are %+v, want order:14 to order:5", top.LastHour)
		}
		unlock(t, first)
		unlock(t, second)
		time.Sleep(time.Until(start.Add(2 * time.Hour)))
		if top := c.Top(); len(top.Now) != 0 || len(top.LastHour) != 0 || len(top.Contended) != 0 {
			t.Errorf("two hours later: %+v, want nothing", top)
		}
	}},
	{"Top lists the most contended keys with their holders", func(t *testing.T, w *world) {
		c := w.client.With(interlock.WithName("pay"))
		other := w.another()
		_, mine := lock(t, c.Mutex("hot:1"))
		since := time.Now()
		_, theirs := lock(t, other.Mutex("hot:2"))
		for range 3 {
			_, _, _ = c.Mutex("hot:1").TryLock(t.Context())
		}
		_, _, _ = c.Mutex("hot:2").TryLock(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() { _, _, _ = c.Mutex("hot:1", interlock.Wait(time.Second)).Lock(t.Context()) })
		waiting.Go(func() { _, _, _ = c.Mutex("hot:2", interlock.Wait(time.Second)).Lock(t.Context()) })
		synctest.Wait()
		got := c.Top().Contended // before the waits end
		want := []interlock.TopKey{
			{Name: "pay", Key: "hot:1", Kind: interlock.KindExclusive, Callers: 4, Holder: engine.ShortHolder(mine.Holder()), Since: since},
			{Name: "pay", Key: "hot:2", Kind: interlock.KindExclusive, Callers: 2, Holder: engine.ShortHolder(theirs.Holder())},
		}
		if !slices.Equal(got, want) {
			t.Errorf("Top().Contended is %+v, want %+v", got, want)
		}
		waiting.Wait()
		unlock(t, mine)
		unlock(t, theirs)
	}},
	{"operators see since when a lock is held", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("order:42"))
		since := time.Now()
		time.Sleep(time.Minute)
		info, err := w.client.Inspect(t.Context(), "order:42")
		if err != nil || len(info.Holders) != 1 || info.Holders[0].Since.Sub(since).Abs() > time.Millisecond {
			t.Errorf("Inspect = %+v, %v, want it held since %v", info, err, since)
		}
		unlock(t, hold)
	}},
	{"every held lock is listed, whatever its kind", func(t *testing.T, w *world) {
		var holds []*interlock.Hold
		for i, m := range []interlock.Locker{
			w.client.Mutex("a:1"), w.client.Mutex("a:2", interlock.Fair()), w.client.RWMutex("a:3").Read(),
			w.client.RWMutex("a:4").Write(), w.client.Semaphore("a:5", 2).Permit(),
		} {
			_, h := lock(t, m)
			holds = append(holds, h)
			info, err := w.another().Inspect(t.Context(), fmt.Sprint("a:", i+1))
			if err != nil || len(info.Holders) != 1 {
				t.Fatalf("Inspect = %+v, error %v; want one holder", info, err)
			}
			if got := info.Holders[0]; got.Holder != h.Holder() || got.Fence != h.Fence() || got.Count != 1 || got.Left <= 0 || got.Left > lease {
				t.Errorf("%s: the holder is %+v, want %s with fence %d", info.Kind, got, h.Holder(), h.Fence())
			}
		}
		if got := keys(t, w.another(), ""); !slices.Equal(got, []string{"a:1", "a:2", "a:3", "a:4", "a:5"}) {
			t.Errorf("Locks listed %v, want all five keys", got)
		}
		for _, h := range holds {
			unlock(t, h)
		}
		if got := keys(t, w.another(), ""); len(got) != 0 {
			t.Errorf("Locks listed %v after all were released, want none", got)
		}
	}},
	{"a thousand locks are all listed", func(t *testing.T, w *world) {
		var want []string
		for i := range 1000 {
			key := fmt.Sprintf("a:%03d", i)
			lock(t, w.client.Mutex(key))
			want = append(want, key)
		}
		if got := keys(t, w.another(), "a:*"); !slices.Equal(got, want) {
			t.Errorf("%d locks are listed, want %d", len(got), len(want))
		}
		w.client.ReleaseAll()
	}},
	{"an operator sees which program holds a lock", func(t *testing.T, w *world) {
		shop := w.another(interlock.Name("shop"))
		_, hold := lock(t, shop.Mutex("a:1"))
		shop.Idle()
		info, err := w.client.Inspect(t.Context(), "a:1")
		if err != nil || len(info.Holders) != 1 || info.Holders[0].Client == nil {
			t.Fatalf("Inspect = %+v, error %v; want a holder with a client", info, err)
		}
		if c := info.Holders[0].Client; c.Name != "shop" || c.PID == 0 || c.Host == "" || c.Since.IsZero() {
			t.Errorf("the client is %+v, want the name shop, a host, a PID and a start", c)
		}
		unlock(t, hold)
	}},
	{"a client stays registered while it holds a lock", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("a:1", interlock.Lease(24*time.Hour)))
		time.Sleep(10 * time.Hour)
		info, err := w.another().Inspect(t.Context(), "a:1")
		if err != nil || len(info.Holders) != 1 || info.Holders[0].Client == nil {
			t.Errorf("Inspect = %+v, error %v; want a holder with a client", info, err)
		}
		unlock(t, hold)
	}},
	{"a busy client registers twice a minute at most", func(t *testing.T, w *world) {
		for range 600 {
			_, hold := lock(t, w.client.Mutex("a:1"))
			time.Sleep(100 * time.Millisecond)
			unlock(t, hold)
		}
		if n := w.engine.Calls(enginetest.OpRegister); n < 2 || n > 3 {
			t.Errorf("the client registered %d times in a minute, want 2 or 3", n)
		}
	}},
	{"a client without locks does not register again", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("a:1"))
		time.Sleep(29*time.Second + 900*time.Millisecond)
		before := w.engine.Calls(enginetest.OpRegister)
		unlock(t, hold)
		time.Sleep(time.Second)
		if n := w.engine.Calls(enginetest.OpRegister) - before; n != 0 {
			t.Errorf("the client registered %d times after its last lock was released, want never", n)
		}
	}},
	{"a closed client does not register", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("a:1"))
		time.Sleep(29*time.Second + 900*time.Millisecond)
		unlock(t, hold)
		if err := w.client.Close(t.Context()); err != nil {
			t.Error(err)
		}
		before := w.engine.Calls(enginetest.OpRegister)
		time.Sleep(time.Second)
		if n := w.memory.Len(); n != 0 {
			t.Errorf("the engine keeps %d entries of a closed client, want none", n)
		}
		if members, err := w.engine.Capabilities().Inspector.Members(t.Context(), []string{strings.Split(hold.Holder(), ":")[0]}); err != nil || len(members) != 0 {
			t.Errorf("Members = %v, error %v; want no registration of a closed client", members, err)
		}
		time.Sleep(time.Minute)
		if n := w.engine.Calls(enginetest.OpRegister) - before; n != 0 {
			t.Errorf("the client registered %d times after it was closed, want never", n)
		}
	}},
	{"a failed registration does not affect locks", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRegister, Do: enginetest.Hang})
		wantIn(t, 0, 0, func() { wantFree(t, w.client.Mutex("a:1")) })
	}},
	{"locks are listed under the client's prefix, by pattern", func(t *testing.T, w *world) {
		var holds []*interlock.Hold
		for _, k := range []string{"shop:order:1", "shop:order:2", "shop:user:1", "other:order:1", "sh*p:order:9"} {
			_, h := lock(t, w.client.Mutex(k))
			holds = append(holds, h)
		}
		shop := w.another(interlock.Prefix("shop:"))
		for pattern, want := range map[string][]string{
			"":        {"shop:order:1", "shop:order:2", "shop:user:1"},
			"order:*": {"shop:order:1", "shop:order:2"},
			"*:1":     {"shop:order:1", "shop:user:1"},
			"user:?":  {"shop:user:1"},
			"none:*":  nil,
		} {
			if got := keys(t, shop, pattern); !slices.Equal(got, want) {
				t.Errorf("%q lists %v, want %v", pattern, got, want)
			}
		}
		if got := keys(t, w.another(interlock.Prefix("sh*p:")), ""); !slices.Equal(got, []string{"sh*p:order:9"}) {
			t.Errorf("the prefix sh*p: lists %v, want it taken literally", got)
		}
		for _, h := range holds {
			unlock(t, h)
		}
	}},
	{"waiters are listed in order", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("a:1", interlock.Fair()))
		a := newArrivals(t)
		clients := []*interlock.Client{w.another(interlock.Name("first")), w.another(interlock.Name("second"))}
		for i, c := range clients {
			wantFree(t, c.Mutex("b:1")) // registers the client
			a.arrive(t.Context(), i, c.Mutex("a:1", interlock.Fair()))
		}
		info, err := w.client.Inspect(t.Context(), "a:1")
		if err != nil || len(info.Waiters) != 2 || info.Kind != interlock.KindFair {
			t.Fatalf("Inspect = %+v, error %v; want two waiters for a fair lock", info, err)
		}
		for i, want := range []string{"first", "second"} {
			if c := info.Waiters[i].Client; c == nil || c.Name != want {
				t.Errorf("the client of waiter %d is %+v, want %s", i, c, want)
			}
		}
		unlock(t, hold)
		a.want(2, 0, 1)
	}},
	{"a free lock has no holders", func(t *testing.T, w *world) {
		if info, err := w.client.Inspect(t.Context(), "a:1"); err != nil || len(info.Holders) != 0 {
			t.Errorf("Inspect = %+v, error %v; want no holders", info, err)
		}
		if info, err := w.client.ForceRelease(t.Context(), "a:1"); err != nil || len(info.Holders) != 0 {
			t.Errorf("ForceRelease = %+v, error %v; want no holders", info, err)
		}
	}},
	{"a lock released by force is free at once, and its holder learns within half a second", func(t *testing.T, w *world) {
		for _, opt := range []interlock.Option{interlock.Watchdog(lease), interlock.Lease(time.Hour)} {
			for _, held := range []time.Duration{100 * time.Millisecond, 700 * time.Millisecond} {
				ctx, hold := lock(t, w.client.Mutex("a:1", opt))
				time.Sleep(held)
				taken, err := w.another().ForceRelease(t.Context(), "a:1")
				if err != nil || len(taken.Holders) != 1 || taken.Holders[0].Holder != hold.Holder() {
					t.Fatalf("ForceRelease = %+v, error %v; want the holder %s", taken, err, hold.Holder())
				}
				wantFree(t, w.another().Mutex("a:1"))
				wantIn(t, 0, 500*time.Millisecond, func() { <-ctx.Done() })
				wantErr(t, context.Cause(ctx), interlock.ErrRevoked)
				wantErr(t, context.Cause(ctx), interlock.ErrLost)
				wantErr(t, hold.Unlock(), interlock.ErrRevoked)
			}
		}
	}},
	{"a forced release ends all holds of a shared lock, and waiters get it", func(t *testing.T, w *world) {
		firstCtx, _ := lock(t, w.client.RWMutex("a:1").Read())
		secondCtx, _ := lock(t, w.another().RWMutex("a:1").Read())
		a := newArrivals(t)
		a.arrive(t.Context(), 1, w.another().RWMutex("a:1").Write())
		taken, err := w.another().ForceRelease(t.Context(), "a:1")
		if err != nil || len(taken.Holders) != 2 {
			t.Fatalf("ForceRelease = %+v, error %v; want two holders", taken, err)
		}
		wantIn(t, 0, 2*time.Millisecond, func() { a.want(1, 1) })
		<-firstCtx.Done()
		<-secondCtx.Done()
		wantErr(t, context.Cause(firstCtx), interlock.ErrRevoked)
		wantErr(t, context.Cause(secondCtx), interlock.ErrRevoked)
	}},
	{"if the notification is lost, the next renewal reports the loss", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpNotify, Do: enginetest.Mute})
		ctx, _ := lock(t, w.client.Mutex("a:1"))
		if _, err := w.another().ForceRelease(t.Context(), "a:1"); err != nil {
			t.Fatal(err)
		}
		wantIn(t, 0, lease/3, func() { <-ctx.Done() })
		wantErr(t, context.Cause(ctx), interlock.ErrRevoked)
	}},
	{"an Unlock before the notification returns the reason of the loss", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("a:1"))
		if _, err := w.another().ForceRelease(t.Context(), "a:1"); err != nil {
			t.Fatal(err)
		}
		wantErr(t, hold.Unlock(), interlock.ErrRevoked)
	}},
	{"the other locks of the client stay held", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("a:1"))
		lost, _ := lock(t, w.client.Mutex("a:2"))
		explicit, otherHold := lock(t, w.client.Mutex("a:3", interlock.Lease(10*time.Second)))
		time.Sleep(time.Second)
		if _, err := w.another().ForceRelease(t.Context(), "a:2"); err != nil {
			t.Fatal(err)
		}
		<-lost.Done()
		synctest.Wait()
		if ctx.Err() != nil || explicit.Err() != nil {
			t.Errorf("the causes of the other contexts are %v and %v, want both contexts live", context.Cause(ctx), context.Cause(explicit))
		}
		unlock(t, hold)
		wantIn(t, 8*time.Second, 9*time.Second, func() { <-explicit.Done() }) // revocations.review does not extend the lease
		wantErr(t, otherHold.Unlock(), interlock.ErrExpired)
	}},
	{"an engine failure ends the iteration with its error", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpInspect, Do: enginetest.Refuse})
		n := 0
		for _, err := range w.client.Locks(t.Context(), "") {
			n++
			wantErr(t, err, interlock.ErrUnavailable)
		}
		if n != 1 {
			t.Errorf("%d iterations, want 1", n)
		}
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpForceRelease, Do: enginetest.LoseReply})
		_, err := w.client.ForceRelease(t.Context(), "a:1")
		wantErr(t, err, interlock.ErrOutcomeUnknown)
	}},
	{"an iteration can be left early", func(t *testing.T, w *world) {
		_, firstHold := lock(t, w.client.Mutex("a:1"))
		_, secondHold := lock(t, w.client.Mutex("a:2"))
		for range w.client.Locks(t.Context(), "") {
			break
		}
		unlock(t, firstHold)
		unlock(t, secondHold)
	}},
	{"without an Inspector, Locks and ForceRelease are unsupported", func(t *testing.T, w *world) {
		c := w.on(plainOnly{w.engine})
		wantFree(t, c.Mutex("a:1"))
		_, err := c.ForceRelease(t.Context(), "a:1")
		wantErr(t, err, errors.ErrUnsupported)
		for _, err := range c.Locks(t.Context(), "") {
			wantErr(t, err, errors.ErrUnsupported)
		}
	}},
}
