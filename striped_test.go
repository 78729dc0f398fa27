package interlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
)

// Requirement T13: a hot key split into partitions.
var stripedLaws = []law{
	{"each stripe has one holder at a time", func(t *testing.T, w *world) {
		clients := []*interlock.Client{w.client, w.another()}
		var (
			mu   sync.Mutex
			used = make(map[int]int)
		)
		wantIn(t, time.Second, time.Second, func() {
			together(8, func(i int) {
				err := clients[i%2].Striped("k:1", 8).Do(t.Context(), func(_ context.Context, stripe int) error {
					mu.Lock()
					used[stripe]++
					mu.Unlock()
					time.Sleep(time.Second)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
		for stripe, n := range used {
			if n != 1 {
				t.Errorf("%d callers held stripe %d, want 1", n, stripe)
			}
		}
	}},
	{"a caller waits when all stripes are held", func(t *testing.T, w *world) {
		s, others := w.client.Striped("k:1", 2), w.another().Striped("k:1", 2)
		in := 0
		together(6, func(int) {
			err := others.Do(t.Context(), func(context.Context, int) error {
				time.Sleep(time.Second)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		if err := s.All().Do(t.Context(), func(context.Context) error { in++; return nil }); err != nil || in != 1 {
			t.Errorf("Do = %v after %d runs; want nil and 1", err, in)
		}
	}},
	{"a waiter gets any stripe that becomes free within a second", func(t *testing.T, w *world) {
		var holds []*interlock.Hold
		for i := range 4 {
			_, h := lock(t, w.another().Striped("k:1", 4).Stripe(i))
			holds = append(holds, h)
		}
		for i, h := range holds {
			d := time.Second
			if i == 3 {
				d = time.Hour
			}
			time.AfterFunc(d, func() { _ = h.Unlock() })
		}
		wantIn(t, time.Second, 3*time.Second, func() {
			together(20, func(int) {
				if err := w.client.Striped("k:1", 4).Do(t.Context(), func(context.Context, int) error { return nil }); err != nil {
					t.Error(err)
				}
			})
		})
		time.Sleep(time.Hour)
	}},
	{"if its context holds a stripe, Do acquires another one, or with Reentrant the same one", func(t *testing.T, w *world) {
		for range 20 {
			s := w.client.Striped("k:1", 2)
			ctx, hold := lock(t, s.Stripe(0))
			err := w.client.Striped("k:1", 2, interlock.Reentrant()).Do(ctx, func(context.Context, int) error { return nil })
			if err != nil {
				t.Error(err)
			}
			err = s.Do(ctx, func(ctx context.Context, stripe int) error {
				if stripe != 1 {
					t.Errorf("Do acquired stripe %d, want 1: ctx holds 0", stripe)
				}
				return s.Do(ctx, func(context.Context, int) error { return nil })
			})
			var busy *interlock.ContendedError
			if !errors.As(err, &busy) || !busy.Self {
				t.Errorf("Do = %v, want a ContendedError with Self", err)
			}
			unlock(t, hold)
		}
	}},
	{"a caller without a stripe is reported once", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Striped("k:1", 8).All())
		_ = w.client.Striped("k:1", 8, interlock.Wait(5*time.Second)).Do(t.Context(), func(context.Context, int) error { return nil })
		if n := w.client.Stats().Contended; n != 1 {
			t.Errorf("Contended = %d, want 1", n)
		}
		unlock(t, hold)
	}},
	{"all stripes together block every caller", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Striped("k:1", 4).All())
		others := w.another().Striped("k:1", 4, interlock.Wait(0))
		err := others.Do(t.Context(), func(context.Context, int) error { return nil })
		wantErr(t, err, interlock.ErrContended)
		for i := range others.Len() {
			wantBusy(t, others.Stripe(i))
		}
		unlock(t, hold)
	}},
	{"an id has the same stripe in every process", func(t *testing.T, w *world) {
		used := make(map[string]bool)
		for i := range 100 {
			id := fmt.Sprint("user-", i)
			first, second := w.client.Striped("k:1", 4).For(id), w.another().Striped("k:1", 4).For(id)
			if first.Key() != second.Key() {
				t.Errorf("%s has the stripes %s and %s, want the same in both processes", id, first.Key(), second.Key())
			}
			used[first.Key()] = true
		}
		if len(used) != 4 {
			t.Errorf("a hundred ids use %d stripes, want 4", len(used))
		}
	}},
	{"stripes are tried in random order", func(t *testing.T, w *world) {
		used := make(map[int]bool)
		for range 100 {
			_ = w.client.Striped("k:1", 4).Do(t.Context(), func(_ context.Context, stripe int) error {
				used[stripe] = true
				return nil
			})
		}
		if len(used) != 4 {
			t.Errorf("%d stripes were used, want 4", len(used))
		}
	}},
	{"an invalid number of stripes is refused", func(t *testing.T, w *world) {
		for _, n := range []int{0, -1, 1 << 20} {
			err := w.client.Striped("k:1", n).Do(t.Context(), func(context.Context, int) error { return nil })
			wantErr(t, err, interlock.ErrOption)
			_, _, err = w.client.Striped("k:1", n).All().Lock(t.Context())
			wantErr(t, err, interlock.ErrOption)
		}
	}},
}
