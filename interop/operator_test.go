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
	f := newFixture(t, interlock.DefaultLease)

	t.Run(goToJava, func(t *testing.T) {
		f, l := f.withT(t), f.newLock("exclusive")
		m, j := f.client.Mutex(l.key, interlock.Reentrant()), f.javaActor()
		ctx, outer, err := m.Lock(t.Context())
		f.must(err)
		_, inner, err := m.Lock(ctx)
		f.must(err)
		f.wantRefused(j, l)
		f.must(inner.Unlock())
		f.wantRefused(j, l)
		f.must(outer.Unlock())
		f.must(j.lock(l))
		f.must(j.unlock(l))
		table.record("locked twice, unlocked once", goToJava, "still held")
	})

	t.Run(javaToGo, func(t *testing.T) {
		f, l := f.withT(t), f.newLock("exclusive")
		j, g := f.javaActor(), f.goActor()
		f.must(j.lock(l))
		f.must(j.lock(l))
		if holder := f.holderOf(l); holder.Count != 2 {
			t.Errorf("Go counts %d acquisitions of Java's lock, want 2", holder.Count)
		}
		f.must(j.unlock(l))
		f.wantRefused(g, l)
		f.must(j.unlock(l))
		f.must(g.lock(l))
		f.must(g.unlock(l))
		table.record("locked twice, unlocked once", javaToGo, "still held; count 2 seen")
	})
}

// TestForceRelease releases the other language's locks with forceUnlock or ForceRelease.
func TestForceRelease(t *testing.T) {
	t.Parallel()
	short, long := newFixture(t, shortLease), newFixture(t, longLease)
	for _, kind := range []string{"exclusive", "fair", "fenced", "read", "write"} {
		row := "force-released by the other, " + kind
		t.Run(kind+": Java force-releases a lock of Go", func(t *testing.T) {
			t.Parallel()
			f := short.withT(t)
			l := f.newLock(kind)
			ctx, hold, err := f.goActor().(*goActor).locker(l).Lock(t.Context())
			f.must(err)
			_, err = f.javaActor().(*javaActor).do("force", l)
			f.must(err)
			began := time.Now()
			select {
			case <-ctx.Done():
			case <-time.After(callTimeout):
				t.Fatal("the holder was not notified")
			}
			took := time.Since(began)
			if err := context.Cause(ctx); !errors.Is(err, interlock.ErrLost) {
				t.Errorf("the hold's context ended with %v, want ErrLost", err)
			}
			if err := hold.Unlock(); !errors.Is(err, interlock.ErrLost) {
				t.Errorf("Unlock returned %v, want ErrLost", err)
			}
			table.record(row, goToJava, "Go knows after %v; lease %v", rounded(took), shortLease)
		})

		t.Run(kind+": Go force-releases a lock of Java, and the Java waiter is notified", func(t *testing.T) {
			t.Parallel()
			f := long.withT(t)
			l := f.newLock(kind)
			wanted := l
			if kind == "read" {
				wanted = l.withKind("write")
			}
			j, next := f.javaActor(), f.javaActor()
			f.must(j.lock(l))
			if holder := f.holderOf(l); holder.Count != 1 || kind != "fenced" && holder.Fence != 0 || holder.Left <= 0 || holder.Left > longLease {
				t.Errorf("the Java holder is %+v, want count 1, no fence, and at most %v of the lease left", holder, longLease)
			}
			got := f.lockInBackground(next, wanted)
			f.waitForSubscribers(l, 1)
			began := time.Now()
			_, err := f.client.ForceRelease(t.Context(), l.key)
			f.must(err)
			took := (<-got).Sub(began)
			if t.Failed() {
				t.FailNow()
			}
			if err := j.unlock(l); err == nil {
				t.Error("Java unlocked a lock that it had lost")
			}
			f.must(next.unlock(wanted))
			table.record(row, javaToGo, "the next in Java has it after %v", rounded(took))
		})
	}
}

// holderOf returns the only holder of a lock.
func (f *fixture) holderOf(l lock) interlock.HolderInfo {
	f.t.Helper()
	info, err := f.client.Inspect(f.t.Context(), l.key)
	f.must(err)
	if len(info.Holders) != 1 {
		f.t.Fatalf("the holders of %s are %+v, want one", l.key, info.Holders)
	}
	return info.Holders[0]
}
