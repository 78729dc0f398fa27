package interop

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
)

// TestReentry enters twice and leaves once: the lock is still held (T2, T4).
func TestReentry(t *testing.T) {
	s := newScene(t, interlock.DefaultLease)

	t.Run(goToJava, func(t *testing.T) {
		s, l := s.in(t), s.fresh("exclusive")
		m, j := s.client.Mutex(l.key, interlock.Reentrant()), s.java()
		ctx, outer, err := m.Lock(t.Context())
		s.must(err)
		_, inner, err := m.Lock(ctx)
		s.must(err)
		s.refused(j, l)
		s.must(inner.Unlock())
		s.refused(j, l)
		s.must(outer.Unlock())
		s.must(j.lock(l))
		s.must(j.unlock(l))
		table.note("entered twice, left once", goToJava, "still held")
	})

	t.Run(javaToGo, func(t *testing.T) {
		s, l := s.in(t), s.fresh("exclusive")
		j, g := s.java(), s.golang()
		s.must(j.lock(l))
		s.must(j.lock(l))
		if holder := s.holderOf(l); holder.Count != 2 {
			t.Errorf("Java has entered twice, and Go counts %d", holder.Count)
		}
		s.must(j.unlock(l))
		s.refused(g, l)
		s.must(j.unlock(l))
		s.must(g.lock(l))
		s.must(g.unlock(l))
		table.note("entered twice, left once", javaToGo, "still held; count 2 seen")
	})
}

// TestTakenAway takes locks from who holds them, with either side's last resort.
func TestTakenAway(t *testing.T) {
	t.Parallel()
	s := newScene(t, short)

	t.Run("Java takes a lock away from Go", func(t *testing.T) {
		s, l := s.in(t), s.fresh("exclusive")
		ctx, hold, err := s.client.Mutex(l.key).Lock(t.Context())
		s.must(err)
		_, err = s.java().(*thread).do("force", l)
		s.must(err)
		began := time.Now()
		select {
		case <-ctx.Done():
		case <-time.After(short + time.Second):
			t.Fatal("the holder was not notified")
		}
		took := time.Since(began)
		if err := context.Cause(ctx); !errors.Is(err, interlock.ErrLost) {
			t.Errorf("the context of the hold ended with %v", err)
		}
		if err := hold.Unlock(); !errors.Is(err, interlock.ErrLost) {
			t.Errorf("Unlock returned %v", err)
		}
		table.note("taken away by the other", goToJava, "Go knows after %v; lease %v", rounded(took), short)
	})

	t.Run("Go takes a lock away from Java, and wakes who waits there", func(t *testing.T) {
		s, l := s.in(t), s.fresh("exclusive")
		j, next := s.java(), s.java()
		s.must(j.lock(l))
		if holder := s.holderOf(l); holder.Count != 1 || holder.Fence != 0 || holder.Left <= 0 || holder.Left > short {
			t.Errorf("of the holder in Java is known: %+v", holder)
		}
		got := s.later(next, l)
		s.asked(l, 1)
		began := time.Now()
		_, err := s.client.ForceRelease(t.Context(), l.key)
		s.must(err)
		took := (<-got).Sub(began)
		if took > heardOf {
			t.Errorf("the waiter got the lock only after %v", took)
		}
		if err := j.unlock(l); err == nil {
			t.Error("Java unlocked what it did not hold any more")
		}
		s.must(next.unlock(l))
		table.note("taken away by the other", javaToGo, "the next in Java has it after %v", rounded(took))
	})
}

// holderOf is the one holder of a lock, as an operator sees it.
func (s *scene) holderOf(l lock) interlock.HolderInfo {
	s.t.Helper()
	info, err := s.client.Inspect(s.t.Context(), l.key)
	s.must(err)
	if len(info.Holders) != 1 {
		s.t.Fatalf("the holders of %s are %+v", l.key, info.Holders)
	}
	return info.Holders[0]
}
