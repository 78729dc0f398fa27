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

// L2: shutdown waits for what directives have begun, and nothing begins behind it.
func TestClosingTheClientEndsTheGuardsOfSites(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		s := site("once", "")
		go func() {
			if _, _, err := placeOrder(ctx, s, woven.Key1("42"), func(ctx context.Context) error { time.Sleep(time.Minute); return ctx.Err() }); err != nil {
				t.Errorf("it was disturbed: %v", err)
			}
		}()
		synctest.Wait()
		start := time.Now()
		if err := client.Close(t.Context()); err != nil || time.Since(start) != time.Minute {
			t.Errorf("closed after %v: %v", time.Since(start), err)
		}
		for range 2 { // by the guard that there was, and by one that there is not any more
			_, _, err := placeOrder(ctx, s, woven.Key1("43"), func(context.Context) error { t.Error("it ran"); return nil })
			if !errors.Is(err, guard.ErrClosed) {
				t.Errorf("afterwards: %v", err)
			}
		}
		if _, err := pay(ctx, site("lock", ""), "42", noWork); !errors.Is(err, interlock.ErrClosed) {
			t.Errorf("a lock afterwards: %v", err)
		}
	})
}

func TestClosingInAHurryEndsTheWork(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		done := make(chan error)
		go func() {
			_, _, err := placeOrder(ctx, site("once", ""), woven.Key1("42"), func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
			done <- err
		}()
		synctest.Wait()
		hurry, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := client.Close(hurry); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("no caller learns that work was ended: %v", err)
		}
		if err := <-done; !errors.Is(err, interlock.ErrClosed) {
			t.Errorf("the work got %v", err)
		}
	})
}

// A site keeps something for a few clients only. That it forgot one does not mean
// that nobody waits for its work.
func TestClosingWaitsForWhatTheSiteHasForgotten(t *testing.T) {
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
			t.Errorf("closed after %v: %v", time.Since(start), err)
		}
	})
}

func TestAClosedClientIsNotKept(t *testing.T) {
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
	for range 10 {
		if runtime.GC(); kept.Value() == nil {
			break
		}
	}
	if kept.Value() != nil {
		t.Error("a site keeps a client that was closed")
	}
	runtime.KeepAlive(once)
	runtime.KeepAlive(lock)
}
