package interop

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
)

// TestReentry locks twice and unlocks once: the lock is still held (T2, T4).
func TestReentry(t *testing.T) {
	s := newFixture(t, interlock.DefaultLease)

	t.Run(goToJava, func(t *testing.T) {
		s, l := s.withT(t), s.newLock("exclusive")
		m, j := s.client.Mutex(l.key, interlock.Reentrant()), s.javaActor()
		ctx, outer, err := m.Lock(t.Context())
		s.must(err)
		_, inner, err := m.Lock(ctx)
		s.must(err)
		s.wantRefused(j, l)
		s.must(inner.Unlock())
		s.wantRefused(j, l)
		s.must(outer.Unlock())
		s.must(j.lock(l))
		s.must(j.unlock(l))
		table.record("locked twice, unlocked once", goToJava, "still held")
	})

	t.Run(javaToGo, func(t *testing.T) {
		s, l := s.withT(t), s.newLock("exclusive")
		j, g := s.javaActor(), s.goActor()
		s.must(j.lock(l))
		s.must(j.lock(l))
		if holder := s.holderOf(l); holder.Count != 2 {
			t.Errorf("Java locked twice, but Go counts %d", holder.Count)
		}
		s.must(j.unlock(l))
		s.wantRefused(g, l)
		s.must(j.unlock(l))
		s.must(g.lock(l))
		s.must(g.unlock(l))
		table.record("locked twice, unlocked once", javaToGo, "still held; count 2 seen")
	})
}

// TestForceRelease releases the other language's locks with forceUnlock or ForceRelease.
func TestForceRelease(t *testing.T) {
	t.Parallel()
	s := newFixture(t, shortLease)

	t.Run("Java force-releases a lock of Go", func(t *testing.T) {
		s, l := s.withT(t), s.newLock("exclusive")
		ctx, hold, err := s.client.Mutex(l.key).Lock(t.Context())
		s.must(err)
		_, err = s.javaActor().(*javaActor).do("force", l)
		s.must(err)
		began := time.Now()
		select {
		case <-ctx.Done():
		case <-time.After(shortLease + time.Second):
			t.Fatal("the holder was not notified")
		}
		took := time.Since(began)
		if err := context.Cause(ctx); !errors.Is(err, interlock.ErrLost) {
			t.Errorf("the hold's context ended with %v, want ErrLost", err)
		}
		if err := hold.Unlock(); !errors.Is(err, interlock.ErrLost) {
			t.Errorf("Unlock returned %v, want ErrLost", err)
		}
		table.record("force-released by the other", goToJava, "Go knows after %v; lease %v", rounded(took), shortLease)
	})

	t.Run("Go force-releases a lock of Java, and the Java waiter is notified", func(t *testing.T) {
		s, l := s.withT(t), s.newLock("exclusive")
		j, next := s.javaActor(), s.javaActor()
		s.must(j.lock(l))
		if holder := s.holderOf(l); holder.Count != 1 || holder.Fence != 0 || holder.Left <= 0 || holder.Left > shortLease {
			t.Errorf("unexpected Java holder: %+v", holder)
		}
		got := s.lockInBackground(next, l)
		s.waitForSubscribers(l, 1)
		began := time.Now()
		_, err := s.client.ForceRelease(t.Context(), l.key)
		s.must(err)
		took := (<-got).Sub(began)
		if took > maxWake {
			t.Errorf("the waiter got the lock after %v", took)
		}
		if err := j.unlock(l); err == nil {
			t.Error("Java unlocked a lock that it had lost")
		}
		s.must(next.unlock(l))
		table.record("force-released by the other", javaToGo, "the next in Java has it after %v", rounded(took))
	})
}

// holderOf returns the only holder of a lock.
func (s *fixture) holderOf(l lock) interlock.HolderInfo {
	s.t.Helper()
	info, err := s.client.Inspect(s.t.Context(), l.key)
	s.must(err)
	if len(info.Holders) != 1 {
		s.t.Fatalf("the holders of %s are %+v, want one", l.key, info.Holders)
	}
	return info.Holders[0]
}
