package woven_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/woven"
)

// Requirement L2: Close waits for work that directives have started. No work starts
// afterwards.
func TestCloseWaitsForGuardedWork(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		s := site("once", "")
		go func() {
			if _, _, err := placeOrder(ctx, s, woven.Key1("42"), func(ctx context.Context) error { time.Sleep(time.Minute); return ctx.Err() }); err != nil {
				t.Errorf("the running work returned %v, want no error: Close waits for it", err)
			}
		}()
		synctest.Wait()
		start := time.Now()
		if err := client.Close(t.Context()); err != nil || time.Since(start) != time.Minute {
			t.Errorf("Close took %v and returned %v; want 1m and no error", time.Since(start), err)
		}
		for range 2 { // first with the old guard, then without one
			_, _, err := placeOrder(ctx, s, woven.Key1("43"), func(context.Context) error { t.Error("the work ran"); return nil })
			if !errors.Is(err, guard.ErrClosed) {
				t.Errorf("a guarded call after Close: got %v, want ErrClosed", err)
			}
		}
		if _, err := pay(ctx, site("lock", ""), "42", noWork); !errors.Is(err, interlock.ErrClosed) {
			t.Errorf("a lock after Close: got %v, want ErrClosed", err)
		}
	})
}

func TestCloseWithADeadlineCancelsTheWork(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		done := make(chan error)
		go func() {
			_, _, err := placeOrder(ctx, site("once", ""), woven.Key1("42"), func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
			done <- err
		}()
		synctest.Wait()
		deadline, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := client.Close(deadline); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close returned %v, want DeadlineExceeded", err)
		}
		if err := <-done; !errors.Is(err, interlock.ErrClosed) {
			t.Errorf("the work returned %v, want ErrClosed", err)
		}
	})
}

// A site caches guards for a few clients only. Close waits for the work of an evicted
// guard, too.
func TestCloseWaitsForEvictedGuards(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		s := site("once", "")
		go func() {
			_, _, _ = placeOrder(ctx, s, woven.Key1("42"), func(context.Context) error { time.Sleep(time.Minute); return nil })
		}()
		synctest.Wait()
		for i := range 20 {
			other := interlock.New(nil)
			if _, _, err := placeOrder(interlock.NewContext(ctx, other), s, woven.Key1(strconv.Itoa(i)), noWork); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		if err := client.Close(t.Context()); err != nil || time.Since(start) != time.Minute {
			t.Errorf("Close took %v and returned %v; want 1m and no error", time.Since(start), err)
		}
	})
}

func TestAClosedClientIsGarbageCollected(t *testing.T) {
	once, lock := site("once", ""), site("lock", "")
	kept := func() weak.Pointer[interlock.Client] {
		client := interlock.New(nil)
		ctx := interlock.NewContext(context.Background(), client)
		for _, f := range []func() error{
			func() error { _, _, err := placeOrder(ctx, once, woven.Key1("42"), noWork); return err },
			func() error { _, err := pay(ctx, lock, "42", noWork); return err },
			func() error { return client.Close(ctx) },
		} {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		}
		return weak.Make(client)
	}()
	// On a busy machine the client's last goroutine may still end.
	for end := time.Now().Add(time.Minute); kept.Value() != nil && time.Now().Before(end); time.Sleep(time.Millisecond) {
		runtime.GC()
	}
	if kept.Value() != nil {
		t.Error("a site still references a closed client")
	}
	runtime.KeepAlive(once)
	runtime.KeepAlive(lock)
}
