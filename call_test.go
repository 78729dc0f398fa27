package interlock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/interlock-go/interlock"
)

// Requirement T9: run with a lock; if it is contended: error, zero value, default value or
// fallback.
var callLaws = []law{
	{"Call returns the result of the work (T9)", func(t *testing.T, w *world) {
		n, err := interlock.Call(t.Context(), w.client.Mutex("k:1"), func(context.Context) (int, error) { return 42, nil })
		if n != 42 || err != nil {
			t.Errorf("Call = %d, %v; want 42, nil", n, err)
		}
		oops := errors.New("oops")
		n, err = interlock.Call(t.Context(), w.client.Mutex("k:1"), func(context.Context) (int, error) { return 1, oops }, interlock.OrZero[int]())
		if n != 1 || !errors.Is(err, oops) {
			t.Errorf("Call = %d, %v; want 1 and the work's error, not the fallback", n, err)
		}
	}},
	{"a contended lock is an error, a zero value, a default or a fallback (T9)", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Mutex("k:1"))
		m := w.client.Mutex("k:1", interlock.Wait(0))
		work := func(context.Context) (int, error) { t.Error("the work ran"); return 0, nil }

		_, err := interlock.Call(t.Context(), m, work)
		wantErr(t, err, interlock.ErrContended)
		if n, err := interlock.Call(t.Context(), m, work, interlock.OrZero[int]()); n != 0 || err != nil {
			t.Errorf("Call with OrZero = %d, %v; want 0, nil", n, err)
		}
		if n, err := interlock.Call(t.Context(), m, work, interlock.OrValue(7)); n != 7 || err != nil {
			t.Errorf("Call with OrValue(7) = %d, %v; want 7, nil", n, err)
		}
		n, err := interlock.Call(t.Context(), m, work, interlock.OrElse(func(_ context.Context, busy *interlock.ContendedError) (int, error) {
			if busy.Holder != hold.Holder() {
				t.Errorf("busy.Holder = %q, want %q", busy.Holder, hold.Holder())
			}
			return 9, nil
		}))
		if n != 9 || err != nil {
			t.Errorf("Call with OrElse = %d, %v; want 9, nil", n, err)
		}
		unlock(t, hold)
	}},
	{"a fallback does not apply to a lock within the work", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Mutex("inner:1"))
		_, err := interlock.Call(t.Context(), w.client.Mutex("outer:1"), func(ctx context.Context) (int, error) {
			_, _, err := w.client.Mutex("inner:1").TryLock(ctx)
			return 0, err
		}, interlock.OrValue(7))
		wantErr(t, err, interlock.ErrContended)
		unlock(t, hold)
	}},
	{"a wrapped function locks only where needed (T9)", func(t *testing.T, w *world) {
		pay := interlock.Wrap(func(order string) interlock.Locker {
			if order == "free" {
				return nil
			}
			return w.client.Mutex(interlock.Key("pay", order))
		}, func(_ context.Context, order string) (string, error) {
			if order != "free" {
				wantBusy(t, w.another().Mutex(interlock.Key("pay", order)))
			}
			return "paid " + order, nil
		})
		for _, order := range []string{"42", "free"} {
			if got, err := pay(t.Context(), order); got != "paid "+order || err != nil {
				t.Errorf("pay(%q) = %q, %v; want %q, nil", order, got, err, "paid "+order)
			}
		}
	}},
	{"a nil lock runs the work without a lock", func(t *testing.T, w *world) {
		var mutex *interlock.Mutex
		var multi *interlock.Multi
		for _, nilLock := range []interlock.Locker{nil, mutex, multi} {
			n, err := interlock.Call(t.Context(), nilLock, func(context.Context) (int, error) { return 42, nil })
			if n != 42 || err != nil {
				t.Errorf("Call with a nil %T = %d, %v; want 42, nil", nilLock, n, err)
			}
		}
		if n := w.client.Stats().Acquired; n != 0 {
			t.Errorf("%d locks were acquired, want none", n)
		}
	}},
	{"From returns the client of the context, or the default", func(t *testing.T, w *world) {
		if interlock.From(interlock.NewContext(t.Context(), w.client)) != w.client {
			t.Error("From(NewContext(ctx, c)) is not c")
		}
		if c := interlock.From(t.Context()); c == nil || c != interlock.From(context.Background()) {
			t.Error("From returned no default client, or two different ones")
		}
	}},
}
