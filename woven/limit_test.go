package woven_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/woven"
)

// limited is a woven function with a limit above a lock.
func limited(ctx context.Context, limit, lock *woven.Site, user string, work func(context.Context) error) (err error) {
	var call woven.Call
	defer call.Done(&err)
	ctx = call.Limit(ctx, limit, woven.Key1(user), &err)
	if call.Refused {
		return
	}
	if lock != nil {
		ctx = call.Lock(ctx, lock, woven.Key1(user), &err)
		if call.Refused {
			return
		}
	}
	return work(ctx)
}

func TestLimit(t *testing.T) {
	t.Run("calls beyond the limit are refused until the window ends", func(t *testing.T) {
		withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
			s := site("limit", "rate=2/day zone=Asia/Shanghai") // virtual time begins at 08:00 there
			for range 2 {
				if err := limited(ctx, s, nil, "ann", noWork); err != nil {
					t.Fatal(err)
				}
			}
			err := limited(ctx, s, nil, "ann", noWork)
			var refused *woven.RefusedError
			var exceeded *interlock.QuotaError
			if !errors.As(err, &refused) || !errors.As(err, &exceeded) || exceeded.RetryAfter != 16*time.Hour || exceeded.Key != "pay:ann" {
				t.Fatalf("the error is %v, want a refusal for 16h", err)
			}
			if refused.Message["zh"] != "当前时段的次数已用完，请稍后再试" {
				t.Errorf("the message is %v, want the default message of a limit", refused.Message)
			}
			if err := limited(ctx, s, nil, "bob", noWork); err != nil {
				t.Errorf("another key: %v", err)
			}
			time.Sleep(16 * time.Hour)
			if err := limited(ctx, s, nil, "ann", noWork); err != nil {
				t.Errorf("after midnight: %v", err)
			}
		})
	})
	t.Run("a directive has its own message and its own refusal", func(t *testing.T) {
		withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
			s := site("limit", "rate=1/1h message=enough")
			_ = limited(ctx, s, nil, "ann", noWork)
			var refused *woven.RefusedError
			if err := limited(ctx, s, nil, "ann", noWork); !errors.As(err, &refused) || refused.Message["en"] != "enough" {
				t.Errorf("the error is %v, want a refusal with the message enough", err)
			}
			s = site("limit", "rate=1/2h on-limit=skip")
			for range 2 {
				if err := limited(ctx, s, nil, "ann", noWork); err != nil {
					t.Errorf("the error is %v, want none", err)
				}
			}
		})
	})
	t.Run("a call that did not run gives its unit back", func(t *testing.T) {
		withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
			limit, lock := site("limit", "rate=1/day"), site("lock", "wait=0")
			lock.Name = "stock"
			_, hold, err := client.Mutex("stock:ann").Lock(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := limited(ctx, limit, lock, "ann", noWork); !errors.Is(err, interlock.ErrContended) {
					t.Fatalf("the error is %v, want %v", err, interlock.ErrContended)
				}
			}
			_ = hold.Unlock()
			if err := limited(ctx, limit, lock, "ann", noWork); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("a call that a lower directive refuses with a panic gives its unit back", func(t *testing.T) {
		withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
			limit, lock := site("limit", "rate=1/day"), site("lock", "wait=0 on-timeout=panic")
			lock.Name = "stock"
			_, hold, err := client.Mutex("stock:ann").Lock(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if p := recovered(func() { _ = limited(ctx, limit, lock, "ann", noWork) }); p == nil {
				t.Fatal("the call did not panic")
			}
			_ = hold.Unlock()
			if err := limited(ctx, limit, lock, "ann", noWork); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("a failed call keeps its unit, unless it or the directive says otherwise", func(t *testing.T) {
		withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
			failed := errors.New("out of stock")
			fails := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
			for options, want := range map[string]error{"rate=1/1h": interlock.ErrQuota, "rate=1/2h on-error=keep": interlock.ErrQuota, "rate=1/3h on-error=free": failed} {
				s := site("limit", options)
				_ = limited(ctx, s, nil, "ann", fails(failed))
				if err := limited(ctx, s, nil, "ann", fails(failed)); !errors.Is(err, want) {
					t.Errorf("%s: the error is %v, want %v", options, err, want)
				}
			}
			s := site("limit", "rate=1/4h")
			for range 2 {
				if err := limited(ctx, s, nil, "ann", fails(interlock.GiveBack(failed))); !errors.Is(err, failed) {
					t.Errorf("the error is %v, want %v", err, failed)
				}
			}
		})
	})
	t.Run("a call that panics keeps its unit", func(t *testing.T) {
		withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
			s := site("limit", "rate=1/day on-error=free")
			func() {
				defer func() { _ = recover() }()
				_ = limited(ctx, s, nil, "ann", func(context.Context) error { panic("broken") })
			}()
			if err := limited(ctx, s, nil, "ann", noWork); !errors.Is(err, interlock.ErrQuota) {
				t.Errorf("the error is %v, want %v", err, interlock.ErrQuota)
			}
		})
	})
	t.Run("in a guarded call, a duplicate takes no unit", func(t *testing.T) {
		withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
			once, limit := site("once", ""), site("limit", "rate=1/day")
			run := func(id string) (n int, err error) {
				call := woven.Guarded(&err, &n)
				defer call.Done()
				ctx := call.Once(ctx, once, woven.Key1(id))
				if call.Refused {
					return
				}
				call.Limit(ctx, limit, woven.Key1("ann"))
				if call.Refused {
					return
				}
				call.Later = false
				return 7, nil
			}
			for range 2 {
				if n, err := run("a"); n != 7 || err != nil {
					t.Errorf("the call returned %d and %v, want 7", n, err)
				}
			}
			for range 2 { // a refused call is not recorded as executed
				if _, err := run("b"); !errors.Is(err, interlock.ErrQuota) || errors.Is(err, guard.ErrUnknown) {
					t.Errorf("the error is %v, want %v", err, interlock.ErrQuota)
				}
			}
		})
	})
	t.Run("an invalid site is reported", func(t *testing.T) {
		withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
			for _, options := range []string{"", "rate=3/day zone=Mars/Base"} {
				if err := limited(ctx, site("limit", options), nil, "ann", noWork); !errors.Is(err, woven.ErrSite) {
					t.Errorf("%q: the error is %v, want %v", options, err, woven.ErrSite)
				}
			}
		})
	})
}
