package interlock_test

import (
	"context"
	"sync"
	"testing"

	"github.com/interlock-go/interlock"
)

// While an operator ends holds, every scrape finds figures that can be true.
func TestGaugesAreNeverNegative(t *testing.T) {
	client := interlock.New(nil)
	stop := make(chan struct{})
	var all sync.WaitGroup
	until := func(f func()) {
		for {
			select {
			case <-stop:
				return
			default:
				f()
			}
		}
	}
	all.Go(func() {
		until(func() { _ = client.Mutex("k:1").Do(t.Context(), func(context.Context) error { return nil }) })
	})
	for range 2 {
		all.Go(func() { until(func() { client.ReleaseAll() }) })
	}
	for range 10_000 {
		if s := client.LockStats(); len(s) > 0 && (s[0].Live < 0 || s[0].Waiting < 0) {
			t.Errorf("%d locks are held and %d callers wait", s[0].Live, s[0].Waiting)
			break
		}
	}
	close(stop)
	all.Wait()
	if s := client.Stats(); s.Live != 0 || s.Waiting != 0 || s.Acquired != s.Released+s.Lost-s.Dropped+s.ReleaseFailed {
		t.Errorf("at the end the counters are %+v", s)
	}
}
