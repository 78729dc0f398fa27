package woven_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/woven"
)

// site returns a site as the weaver writes it.
func site(verb, options string) *woven.Site {
	name := "pay"
	if verb == "submit" {
		name = "submit-pay" // guards with the same name must have the same OnUnknown
	}
	return &woven.Site{ID: "ilsite/1{" + verb + " example.com/shop.(*Service).Pay}", Pos: "shop/pay.go:26", Name: name, Verb: verb, Options: options}
}

// pay is a woven function with a context and an error.
func pay(ctx context.Context, s *woven.Site, order string, work func(context.Context) error) (receipt string, err error) {
	var call woven.Call
	defer call.Done(&err)
	ctx = call.Lock(ctx, s, woven.Key1(order), &err)
	if call.Refused {
		return
	}
	if err := work(ctx); err != nil {
		return "", err
	}
	return "paid " + order, nil
}

// sweep is a woven function without an error.
func sweep(ctx context.Context, s *woven.Site, shelf string, work func()) (swept bool) {
	var call woven.Call
	defer call.Done(nil)
	call.Lock(ctx, s, woven.Key1(shelf), nil)
	if call.Refused {
		return
	}
	work()
	return true
}

func noWork(context.Context) error { return nil }

// withClient runs a test in virtual time with a new client in the context.
func withClient(t *testing.T, f func(t *testing.T, ctx context.Context, client *interlock.Client)) {
	synctest.Test(t, func(t *testing.T) {
		client := interlock.New(nil)
		defer client.Close(context.Background())
		f(t, interlock.NewContext(t.Context(), client), client)
	})
}

func TestOneHolderAtATime(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		s, inside, most := site("lock", ""), 0, 0
		done := make(chan error)
		for range 10 {
			go func() {
				_, err := pay(ctx, s, "42", func(context.Context) error {
					inside++
					most = max(most, inside)
					time.Sleep(100 * time.Millisecond)
					inside--
					return nil
				})
				done <- err
			}()
		}
		for range 10 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if most != 1 {
			t.Errorf("%d goroutines held the lock at once, want 1", most)
		}
		if got := client.Stats().Acquired; got != 10 {
			t.Errorf("the client in the context granted %d locks, want 10", got)
		}
	})
}

func TestTheKeyIsMadeOfNameAndParts(t *testing.T) {
	// Requirement T6: prefix:name:identifiers, the same key as by hand.
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		ctx = interlock.NewContext(ctx, client.With(interlock.Prefix("shop:")))
		_, err := pay(ctx, site("lock", ""), "a:b", func(context.Context) error {
			_, _, err := client.Mutex("shop:" + interlock.Key("pay", "a:b")).TryLock(t.Context())
			return err
		})
		if !errors.Is(err, interlock.ErrContended) {
			t.Errorf("got %v, want ErrContended for the same key", err)
		}
	})
}

func TestDirectivesCountUnderTheirNames(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		unnamed := site("lock", "kind=read")
		unnamed.Name = ""
		for _, s := range []*woven.Site{site("lock", ""), site("lock", "kind=fair"), unnamed} {
			if _, err := pay(ctx, s, "42", noWork); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := placeOrder(ctx, site("once", ""), woven.Key1("42"), noWork); err != nil {
			t.Fatal(err)
		}
		got := make(map[string]uint64)
		for _, s := range client.LockStats() {
			if s.Acquired > 0 {
				got[s.Name+" "+s.Kind.String()] = s.Acquired
			}
		}
		want := map[string]uint64{"pay exclusive": 1, "pay fair": 1, "example.com/shop.(*Service).Pay read": 1}
		if !maps.Equal(got, want) {
			t.Errorf("the counters of locks are %v, want %v", got, want)
		}
		if got := guard.StatsOf(client); len(got) != 1 || got["pay"].Verdicts[guard.Granted] != 1 {
			t.Errorf("the counters of guards are %v, want one claim with the name pay", got)
		}
	})
}

func TestSitesOf(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		lock, once, bad, worse, unused := site("lock", ""), site("once", ""), site("lock", "wait=never"), site("once", "retain=never"), site("lock", "")
		for range 2 {
			_, _ = pay(ctx, lock, "42", noWork)
			_, _ = pay(ctx, bad, "42", noWork)
			_, _, _ = placeOrder(ctx, once, woven.Key1("42"), noWork)
			_, _, _ = placeOrder(ctx, worse, woven.Key1("42"), noWork)
		}
		got := woven.SitesOf(client)
		if _, called := got[unused]; called || len(got) != 4 || got[lock] != nil || got[once] != nil {
			t.Errorf("the sites are %v, want the four that were called", got)
		}
		if !errors.Is(got[bad], woven.ErrSite) || !errors.Is(got[worse], woven.ErrSite) {
			t.Errorf("the sites with invalid options have the errors %v and %v, want ErrSite", got[bad], got[worse])
		}
		if other := woven.SitesOf(interlock.New(nil)); len(other) != 0 {
			t.Errorf("another client has the sites %v, want none", other)
		}
	})
}

func TestReentrancyFollowsTheContext(t *testing.T) {
	// Requirement T5: locks are reentrant by default.
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		s, other := site("lock", ""), site("lock", "kind=fair")
		_, err := pay(ctx, s, "42", func(inner context.Context) error {
			if _, err := pay(inner, s, "42", noWork); err != nil {
				t.Errorf("with the context of the hold: got %v, want a run", err)
			}
			if _, err := pay(inner, other, "42", noWork); err != nil {
				t.Errorf("from another function with the same name: got %v, want a run", err)
			}
			if _, err := pay(ctx, s, "42", noWork); !errors.Is(err, interlock.ErrContended) {
				t.Errorf("with another context: got %v, want ErrContended", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if got := client.Stats().Acquired; got != 1 {
			t.Errorf("%d locks were acquired, want 1", got)
		}
	})
}

func TestAPlainLockIsNotReentrant(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		s := site("lock", "kind=plain")
		_, err := pay(ctx, s, "42", func(ctx context.Context) error {
			_, err := pay(ctx, s, "42", noWork)
			return err
		})
		var busy *interlock.ContendedError
		if !errors.As(err, &busy) || !busy.Self {
			t.Errorf("got %v, want a ContendedError with Self", err)
		}
	})
}

func TestReadersDoNotExcludeEachOther(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		read, write := site("lock", "kind=read wait=0"), site("lock", "kind=write wait=0")
		_, err := pay(ctx, read, "42", func(context.Context) error {
			if _, err := pay(ctx, read, "42", noWork); err != nil {
				t.Errorf("a second reader: got %v, want a run", err)
			}
			if _, err := pay(ctx, write, "42", noWork); !errors.Is(err, interlock.ErrContended) {
				t.Errorf("a writer beside a reader: got %v, want ErrContended", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestWaitLimitsTheWaitingTime(t *testing.T) {
	for options, want := range map[string]time.Duration{"": 5 * time.Second, "wait=0": 0, "wait=300ms": 300 * time.Millisecond} {
		withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
			s := site("lock", options)
			_, _ = pay(ctx, s, "42", func(context.Context) error {
				start := time.Now()
				_, err := pay(ctx, s, "42", noWork)
				if took := time.Since(start); took != want || !errors.Is(err, interlock.ErrContended) {
					t.Errorf("%q: returned after %v with %v; want ErrContended after %v", options, took, err, want)
				}
				return nil
			})
		})
	}
}

func TestOnTimeout(t *testing.T) {
	// Requirement T5: an error with a message for users, zero values, or a panic.
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		_, _ = pay(ctx, site("lock", ""), "42", func(context.Context) error {
			receipt, err := pay(ctx, site("lock", "wait=0"), "42", noWork)
			var refused *woven.RefusedError
			if !errors.As(err, &refused) || receipt != "" {
				t.Fatalf("error: got %q, %v; want a *RefusedError", receipt, err)
			}
			if refused.Message.In("zh-CN") != "另一个请求正在处理中，请稍后再试" {
				t.Errorf("message %v, want the default message of a lock", refused.Message)
			}
			const want = `woven: example.com/shop.(*Service).Pay did not run (shop/pay.go:26): interlock: "pay:42" is held by `
			if !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %s…", err, want)
			}
			_, err = pay(ctx, site("lock", "wait=0 message=later"), "42", noWork)
			if errors.As(err, &refused) && refused.Message.In("en") != "later" {
				t.Errorf("message %v, want that of the directive", refused.Message)
			}
			_, err = pay(ctx, site("lock", "wait=0 message.zh=稍后 message.en=later"), "42", noWork)
			if errors.As(err, &refused) && (refused.Message.In("en") != "later" || refused.Message.In("zh-CN") != "稍后") {
				t.Errorf("message %v, want one for each language", refused.Message)
			}
			if receipt, err := pay(ctx, site("lock", "wait=0 on-timeout=skip"), "42", noWork); receipt != "" || err != nil {
				t.Errorf("skip: got %q, %v; want zero values", receipt, err)
			}
			if p := recovered(func() { _, _ = pay(ctx, site("lock", "wait=0 on-timeout=panic"), "42", noWork) }); !isContended(p) {
				t.Errorf("panic: got %v, want ErrContended", p)
			}
			return nil
		})
	})
}

func TestLockWithoutAnErrorResult(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		_, _ = pay(ctx, site("lock", ""), "42", func(context.Context) error {
			if sweep(ctx, site("lock", "wait=0 on-timeout=skip"), "42", func() {}) {
				t.Error("skip: the function ran")
			}
			for _, options := range []string{"wait=0", "wait=0 on-timeout=panic"} {
				if p := recovered(func() { sweep(ctx, site("lock", options), "42", func() { t.Error("the function ran") }) }); !isContended(p) {
					t.Errorf("%s: got %v, want a panic with ErrContended", options, p)
				}
			}
			return nil
		})
		if !sweep(ctx, site("lock", "on-timeout=skip"), "42", func() {}) {
			t.Error("the function did not run although the lock was free")
		}
	})
}

func TestBusyIsTrueOnlyIfTheLockIsHeld(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		s := site("lock", "wait=0 on-timeout=call")
		var err error
		var first, second, third woven.Call
		if first.Lock(ctx, s, woven.Key1("42"), &err); first.Refused || first.Busy {
			t.Fatalf("the lock was not acquired: %v", err)
		}
		if second.Lock(ctx, s, woven.Key1("42"), &err); !second.Refused || !second.Busy || err != nil {
			t.Errorf("a held lock: refused %v, busy %v, error %v; want no error", second.Refused, second.Busy, err)
		}
		if third.Lock(ctx, s, woven.Key1(""), &err); !third.Refused || third.Busy || !errors.Is(err, interlock.ErrKey) {
			t.Errorf("an empty key: refused %v, busy %v, error %v; want a refusal with ErrKey", third.Refused, third.Busy, err)
		}
		first.Done(&err)
	})
}

// Requirement T8: an empty key is refused without a call to the engine.
func TestAnEmptyKeyIsRefused(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		for _, options := range []string{"", "on-timeout=skip", "on-timeout=panic"} {
			ran := false
			_, err := pay(ctx, site("lock", options), "", func(context.Context) error { ran = true; return nil })
			if ran || !errors.Is(err, interlock.ErrKey) {
				t.Errorf("%q: ran %v, %v; want ErrKey", options, ran, err)
			}
			p := recovered(func() { sweep(ctx, site("lock", options), "", func() { t.Error("the function ran") }) })
			if err, _ := p.(error); !errors.Is(err, interlock.ErrKey) {
				t.Errorf("%q, without an error result: got %v, want a panic with ErrKey", options, p)
			}
		}
		var err error
		var call woven.Call
		if call.Lock(ctx, site("lock", ""), woven.Key2("a", ""), &err); !call.Refused || !strings.Contains(err.Error(), "part 2 of 2 is empty") {
			t.Errorf("got %v, %v; want a refusal that names part 2", call.Refused, err)
		}
		if got := client.Stats().Acquired; got != 0 {
			t.Errorf("%d locks were acquired, want 0", got)
		}
	})
}

func TestALockWithoutAKeyIsShared(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		var err error
		var call woven.Call
		if call.Lock(ctx, site("lock", ""), woven.Key0(), &err); call.Refused {
			t.Fatal(err)
		}
		if _, _, err := client.Mutex("pay").TryLock(ctx); !errors.Is(err, interlock.ErrContended) {
			t.Errorf("TryLock of \"pay\": got %v, want ErrContended", err)
		}
		call.Done(&err)
	})
}

func TestLockWhileTheEngineIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faulty := enginetest.NewFaulty(memory.New())
		client := interlock.New(faulty)
		ctx := interlock.NewContext(t.Context(), client)
		refuseAll(faulty)
		for _, options := range []string{"", "on-timeout=skip", "on-timeout=panic", "on-timeout=call"} {
			if _, err := pay(ctx, site("lock", options), "42", noWork); !errors.Is(err, interlock.ErrUnavailable) {
				t.Errorf("%q: got %v, want ErrUnavailable", options, err)
			}
		}
		if sweep(ctx, site("lock", "on-timeout=skip"), "42", func() {}) {
			t.Error("the function ran without its lock")
		}
	})
}

func TestAPanicReleasesTheLock(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		s := site("lock", "wait=0")
		if p := recovered(func() { _, _ = pay(ctx, s, "42", func(context.Context) error { panic("boo") }) }); p != "boo" {
			t.Errorf("recovered %v, want boo", p)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = pay(ctx, s, "42", func(context.Context) error { goexit(); return nil })
		}()
		<-done
		if _, err := pay(ctx, s, "42", noWork); err != nil {
			t.Error(err)
		}
	})
}

func TestALostLockReturnsErrLost(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		s := site("lock", "lease=1s")
		receipt, err := pay(ctx, s, "42", func(ctx context.Context) error {
			<-ctx.Done() // the lease expires
			return nil
		})
		if !errors.Is(err, interlock.ErrLost) || receipt == "" {
			t.Errorf("got %q, %v; want the function's result and ErrLost", receipt, err)
		}
		_, err = pay(ctx, s, "42", func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if n := strings.Count(err.Error(), "lost"); n != 1 {
			t.Errorf("the error mentions the loss %d times, want once: %v", n, err)
		}
		sweep(ctx, site("lock", "lease=10ms on-timeout=skip"), "1", func() { time.Sleep(time.Second) }) // has no error result
	})
}

func TestMaxHoldLimitsRenewal(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		start := time.Now()
		_, err := pay(ctx, site("lock", "max-hold=2m"), "42", func(ctx context.Context) error {
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			return nil
		})
		if took := time.Since(start); !errors.Is(err, interlock.ErrLost) || took < 90*time.Second || took > 3*time.Minute {
			t.Errorf("held for %v, %v; want ErrLost after two minutes", took, err)
		}
	})
}

func TestAnInvalidSiteRunsNothing(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		for _, s := range []*woven.Site{site("lock", "wait=3sec"), site("luck", ""), site("lock", "future=1"), site("once", "")} {
			ran := false
			_, err := pay(ctx, s, "42", func(context.Context) error { ran = true; return nil })
			if ran || !errors.Is(err, woven.ErrSite) {
				t.Errorf("%s %s: ran %v, %v; want ErrSite", s.Verb, s.Options, ran, err)
			}
		}
	})
}

func TestEachClientGrantsItsOwnLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := site("lock", "wait=0")
		for range 40 {
			client := interlock.New(nil)
			for range 3 {
				if _, err := pay(interlock.NewContext(t.Context(), client), s, "42", noWork); err != nil {
					t.Fatal(err)
				}
			}
			if got := client.Stats().Acquired; got != 3 {
				t.Fatalf("the client in the context granted %d locks, want 3", got)
			}
		}
	})
}

func TestTheDefaultClientIsUsedWithoutAContext(t *testing.T) {
	client := interlock.New(nil)
	interlock.SetDefault(client)
	defer interlock.SetDefault(nil)
	if !sweep(woven.Bg(), site("lock", "on-timeout=skip"), "1", func() {}) || client.Stats().Acquired != 1 {
		t.Errorf("the default client granted %d locks, want 1", client.Stats().Acquired)
	}
}

func recovered(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

func isContended(p any) bool {
	err, _ := p.(error)
	return errors.Is(err, interlock.ErrContended)
}

// refuseAll makes an engine refuse all acquires and claims.
func refuseAll(f *enginetest.Faulty) {
	for _, op := range []enginetest.Op{enginetest.OpAcquire, enginetest.OpClaim} {
		f.Inject(enginetest.Fault{Op: op, Do: enginetest.Refuse})
	}
}

// A result that outlives the call, such as a response, needs a context that does not end
// with the lock.
func TestAContextWithoutCancelOutlivesTheLock(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		type user struct{}
		for verb, call := range map[string]func(ctx context.Context, work func(context.Context) error) error{
			"lock": func(ctx context.Context, work func(context.Context) error) error {
				_, err := pay(ctx, site("lock", ""), "42", work)
				return err
			},
			"once": func(ctx context.Context, work func(context.Context) error) error {
				_, _, err := placeOrder(ctx, site("once", ""), woven.Key1("42"), work)
				return err
			},
		} {
			var inner, kept context.Context
			err := call(context.WithValue(ctx, user{}, "ann"), func(ctx context.Context) error {
				inner, kept = ctx, context.WithoutCancel(ctx)             //nolint:fatcontext // looked at after the return
				_, err := pay(kept, site("lock", "wait=0"), "42", noWork) // enters again under a lock
				return err
			})
			if err != nil {
				t.Errorf("%s: got %v, want no error", verb, err)
			}
			if inner.Err() == nil || kept.Err() != nil || kept.Value(user{}) != "ann" {
				t.Errorf("%s: after the return the contexts have the errors %v and %v and the user %v; want an error only for the first, and ann",
					verb, inner.Err(), kept.Err(), kept.Value(user{}))
			}
			_, err = pay(ctx, site("lock", ""), "42", func(context.Context) error {
				_, err := pay(kept, site("lock", "wait=0"), "42", noWork)
				return err
			})
			if !errors.Is(err, interlock.ErrContended) {
				t.Errorf("%s: a released hold entered the lock of another holder: %v, want ErrContended", verb, err)
			}
		}
	})
}
