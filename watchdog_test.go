package interlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
)

// Requirement T3: without an explicit lease a lock has 30 s and is renewed every 10 s while
// it is held.
var watchdogLaws = []law{
	{"a lock is renewed every third of its lease while it is held (T3)", func(t *testing.T, w *world) {
		err := w.client.Mutex("k:1").Do(t.Context(), func(ctx context.Context) error {
			time.Sleep(24*time.Hour + time.Second)
			return ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
		if n := w.client.Stats().Renewed; n != 8640 {
			t.Errorf("renewed %d times in a day, want 8640", n)
		}
		if n := w.engine.Calls(enginetest.OpRenew); n != 8642 { // two more check for a forced release
			t.Errorf("%d renewal calls in a day, want 8642", n)
		}
	}},
	{"renewal continues after cancellation and stops at Unlock", func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		_, hold, err := w.client.Mutex("k:1").Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		time.Sleep(time.Hour + time.Second) // winding down, between two renewals
		wantBusy(t, w.another().Mutex("k:1"))
		unlock(t, hold)
		n := w.engine.Calls(enginetest.OpRenew)
		time.Sleep(time.Hour)
		if w.engine.Calls(enginetest.OpRenew) != n {
			t.Error("the lease was renewed after Unlock")
		}
	}},
	{"a failed renewal is retried", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1"))
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRenew, Do: enginetest.Refuse})
		time.Sleep(25 * time.Second)
		w.engine.Heal()
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Errorf("the lock was lost: %v", context.Cause(ctx))
		}
		if n := w.client.Stats().RenewFailed; n < 5 {
			t.Errorf("%d failed renewals counted, want several", n)
		}
		unlock(t, hold)
	}},
	{"a renewal that hangs does not end the watchdog", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1"))
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRenew, Do: enginetest.Hang, Times: 3})
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Errorf("the lock was lost: %v", context.Cause(ctx))
		}
		unlock(t, hold)
	}},
	{"a lost reply to a renewal does not lose the lock", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1"))
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRenew, Do: enginetest.LoseReply, Times: 4})
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Errorf("the lock was lost: %v", context.Cause(ctx))
		}
		unlock(t, hold)
	}},
	{"many locks are renewed with few calls", func(t *testing.T, w *world) {
		var holds []*interlock.Hold
		for i := range 500 {
			_, hold := lock(t, w.client.Mutex(fmt.Sprintf("k:%d", i)))
			holds = append(holds, hold)
		}
		time.Sleep(10*time.Second + time.Millisecond)
		if n := w.engine.Calls(enginetest.OpRenew); n > 4 { // two of them check for a forced release
			t.Errorf("%d renewal calls for 500 locks, want at most 4", n)
		}
		if n := w.client.Stats().Renewed; n != 500 {
			t.Errorf("%d leases renewed, want 500", n)
		}
		for _, hold := range holds {
			unlock(t, hold)
		}
	}},
	{"a short lease does not shorten the renewal call of a long one", func(t *testing.T, w *world) {
		c := w.on(slowRenewals{w.engine, 150 * time.Millisecond})
		ctx, hold := lock(t, c.Mutex("long:1", interlock.Watchdog(3*time.Second)))
		stop := time.Now().Add(20 * time.Second)
		together(3, func(i int) {
			for n := 0; time.Now().Before(stop); n++ {
				_, short := lock(t, c.Mutex(fmt.Sprintf("short:%d:%d", i, n), interlock.Watchdog(300*time.Millisecond)))
				time.Sleep(time.Duration(250+20*i) * time.Millisecond)
				_ = short.Unlock()
			}
		})
		if ctx.Err() != nil {
			t.Errorf("the lock was lost: %v", context.Cause(ctx))
		}
		unlock(t, hold)
	}},
	{"a shard that hangs does not delay renewals on another", func(t *testing.T, w *world) {
		e := newSharded()
		c := w.on(e)
		sick, _ := lock(t, c.Mutex("sick:1"))
		well, hold := lock(t, c.Mutex("well:1"))
		e.parts[0].Inject(enginetest.Fault{Op: enginetest.OpRenew, Do: enginetest.Hang})
		time.Sleep(5*time.Minute + time.Second)
		if well.Err() != nil {
			t.Errorf("the lock on the healthy shard was lost: %v", context.Cause(well))
		}
		if n := e.parts[1].Calls(enginetest.OpRenew); n != 30 {
			t.Errorf("renewed %d times on the healthy shard in 5 min, want 30: every 10 s", n)
		}
		if sick.Err() == nil {
			t.Error("the lock on the sick shard was not lost")
		}
		unlock(t, hold)
		e.parts[0].Heal()
	}},
	{"Watchdog sets the lease that is renewed", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Watchdog(3*time.Second)))
		if left := hold.Left(); left > 3*time.Second {
			t.Errorf("Left() = %v, want at most 3s", left)
		}
		time.Sleep(time.Minute)
		if n := w.client.Stats().Renewed; n < 58 || n > 60 {
			t.Errorf("the lease was renewed %d times in a minute, want 58 to 60", n)
		}
		unlock(t, hold)
	}},
	{"MaxHold ends endless renewal", func(t *testing.T, w *world) {
		wantIn(t, time.Minute, time.Minute, func() {
			err := w.client.Mutex("k:1", interlock.MaxHold(time.Minute)).Do(t.Context(), func(ctx context.Context) error {
				<-ctx.Done()
				wantErr(t, context.Cause(ctx), interlock.ErrMaxHold)
				return nil
			})
			wantErr(t, err, interlock.ErrLost)
			wantErr(t, err, interlock.ErrMaxHold)
		})
		w.client.Idle()
		wantFree(t, w.another().Mutex("k:1")) // Unlock released it
	}},
	{"a holder that ignores MaxHold keeps the lock for one more lease at most", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1", interlock.MaxHold(time.Minute)))
		time.Sleep(time.Minute)
		wantBusy(t, w.another().Mutex("k:1"))
		time.Sleep(lease)
		wantFree(t, w.another().Mutex("k:1"))
		wantErr(t, hold.Unlock(), interlock.ErrMaxHold)
	}},
	{"a re-entered lock is renewed like any other", func(t *testing.T, w *world) {
		m := w.client.Mutex("k:1", interlock.Reentrant())
		ctx, outer := lock(t, m)
		_, inner, err := m.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		unlock(t, outer)
		time.Sleep(5 * time.Minute)
		wantBusy(t, w.another().Mutex("k:1"))
		unlock(t, inner)
		wantFree(t, w.another().Mutex("k:1"))
	}},
}

// slowAnswers is an engine that applies renewals at once and replies after a delay.
type slowAnswers struct {
	engine.Engine
	delay time.Duration
}

func (s slowAnswers) Renew(ctx context.Context, rs []engine.Request) []error {
	errs := s.Engine.Renew(ctx, rs)
	time.Sleep(s.delay)
	return errs
}

// slowRenewals is an engine that renews after a delay, unless the context ends first.
type slowRenewals struct {
	engine.Engine
	delay time.Duration
}

func (s slowRenewals) Renew(ctx context.Context, rs []engine.Request) []error {
	select {
	case <-time.After(s.delay):
		return s.Engine.Renew(ctx, rs)
	case <-ctx.Done():
	}
	errs := make([]error, len(rs))
	for i := range errs {
		errs[i] = engine.ErrUnknown
	}
	return errs
}

// sharded is two engines; keys beginning with s are in the first.
type sharded struct{ parts [2]*enginetest.Faulty }

func newSharded() *sharded {
	return &sharded{[2]*enginetest.Faulty{enginetest.NewFaulty(memory.New()), enginetest.NewFaulty(memory.New())}}
}

func (s *sharded) shard(key string) int {
	if key[0] == 's' {
		return 0
	}
	return 1
}

func (s *sharded) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	return s.parts[s.shard(r.Key)].Acquire(ctx, r)
}

// Renew is never called for keys of two shards together, so the first key decides.
func (s *sharded) Renew(ctx context.Context, rs []engine.Request) []error {
	return s.parts[s.shard(rs[0].Key)].Renew(ctx, rs)
}

func (s *sharded) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	return s.parts[s.shard(r.Key)].Release(ctx, r)
}

func (s *sharded) Abandon(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	return s.parts[s.shard(r.Key)].Abandon(ctx, r)
}

func (s *sharded) Capabilities() engine.Capabilities {
	return engine.Capabilities{Shard: s.shard}
}
