package interlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
)

// T13: a hot key split into partitions.
var stripedLaws = []law{
	{"as many are in at once as there are stripes, each at its own", func(t *testing.T, w *world) {
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
				t.Errorf("%d are at stripe %d", n, stripe)
			}
		}
	}},
	{"who comes when all are taken waits for one", func(t *testing.T, w *world) {
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
			t.Error(err)
		}
	}},
	{"all of them keep everybody out", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Striped("k:1", 4).All())
		others := w.another().Striped("k:1", 4, interlock.Wait(0))
		err := others.Do(t.Context(), func(context.Context, int) error { return nil })
		wantErr(t, err, interlock.ErrContended)
		for i := range others.Len() {
			wantBusy(t, others.Stripe(i))
		}
		unlock(t, hold)
	}},
	{"the same id belongs to the same stripe, in every process", func(t *testing.T, w *world) {
		used := make(map[string]bool)
		for i := range 100 {
			id := fmt.Sprint("user-", i)
			one, two := w.client.Striped("k:1", 4).For(id), w.another().Striped("k:1", 4).For(id)
			if one.Key() != two.Key() {
				t.Errorf("%s is at %s and at %s", id, one.Key(), two.Key())
			}
			used[one.Key()] = true
		}
		if len(used) != 4 {
			t.Errorf("a hundred ids lie in %d stripes, want 4", len(used))
		}
	}},
	{"stripes are tried from another place each time", func(t *testing.T, w *world) {
		used := make(map[int]bool)
		for range 100 {
			_ = w.client.Striped("k:1", 4).Do(t.Context(), func(_ context.Context, stripe int) error {
				used[stripe] = true
				return nil
			})
		}
		if len(used) != 4 {
			t.Errorf("%d of 4 stripes were used", len(used))
		}
	}},
	{"a number of stripes that cannot be meant is refused", func(t *testing.T, w *world) {
		for _, n := range []int{0, -1, 1 << 20} {
			err := w.client.Striped("k:1", n).Do(t.Context(), func(context.Context, int) error { return nil })
			wantErr(t, err, interlock.ErrOption)
			_, _, err = w.client.Striped("k:1", n).All().Lock(t.Context())
			wantErr(t, err, interlock.ErrOption)
		}
	}},
}
