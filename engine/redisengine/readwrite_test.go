package redisengine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func reading(t testing.TB, holder, attempt string) engine.Request {
	t.Helper()
	return requestKind(t, engine.Read, holder, attempt)
}

func writing(t testing.TB, holder, attempt string) engine.Request {
	t.Helper()
	return requestKind(t, engine.Write, holder, attempt)
}

// timeoutOf returns the key of a reader's lease.
func timeoutOf(t testing.TB, holder string) string {
	t.Helper()
	return relatedKey(t, "") + ":" + holder + ":rwlock_timeout:1"
}

func TestReadWriteFormat(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	t.Run("readers are fields of a hash, each with a key for its lease", func(t *testing.T) {
		t.Parallel()
		a, b := reading(t, ann, "a"), lasting(reading(t, bob, "b"), time.Minute)
		g, h := granted(t, e, a), granted(t, e, b)
		wantHash(t, s, a.Key, map[string]string{
			"mode": "read", ann: "1", bob: "1", "fence:" + ann: fmt.Sprintf("#%d a", g.Fence), "fence:" + bob: fmt.Sprintf("#%d b", h.Fence),
		})
		wantKeys(t, s, "$", "{$}:"+ann+":rwlock_timeout:1", "{$}:"+bob+":rwlock_timeout:1")
		wantTTL(t, s, a.Key, time.Minute)
		wantTTL(t, s, timeoutOf(t, ann), 30*time.Second)
		wantTTL(t, s, timeoutOf(t, bob), time.Minute)
		released(t, e, b, engine.ReleaseResult{Outcome: engine.Released})
		wantHash(t, s, a.Key, map[string]string{"mode": "read", ann: "1", "fence:" + ann: fmt.Sprintf("#%d a", g.Fence)})
		wantTTL(t, s, a.Key, 30*time.Second)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		wantKeys(t, s)
	})

	t.Run("the writer's field ends in :write", func(t *testing.T) {
		t.Parallel()
		r := writing(t, ann, "a")
		g := granted(t, e, r)
		wantHash(t, s, r.Key, map[string]string{"mode": "write", ann + ":write": "1", "fence:" + ann + ":write": fmt.Sprintf("#%d a", g.Fence)})
		wantTTL(t, s, r.Key, r.Lease)
		wantKeys(t, s, "$")
		released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
		wantKeys(t, s)
	})

	t.Run("each entry of a named owner is counted and recorded", func(t *testing.T) {
		t.Parallel()
		one, two, three := reading(t, ann, "a1"), reading(t, ann, "a2"), reading(t, ann, "a3")
		g := granted(t, e, one)
		granted(t, e, two)
		granted(t, e, three)
		wantHash(t, s, one.Key, map[string]string{"mode": "read", ann: "3", "fence:" + ann: fmt.Sprintf("#%d a1 a2 a3", g.Fence)})
		released(t, e, two, engine.ReleaseResult{Outcome: engine.Released, Count: 2})
		wantHash(t, s, one.Key, map[string]string{"mode": "read", ann: "2", "fence:" + ann: fmt.Sprintf("#%d a1 a3", g.Fence)})
		released(t, e, three, engine.ReleaseResult{Outcome: engine.Released, Count: 1})
		released(t, e, one, engine.ReleaseResult{Outcome: engine.Released})
		wantKeys(t, s)
	})

	t.Run("a writer that also reads becomes a reader when it stops writing", func(t *testing.T) {
		t.Parallel()
		w, r := writing(t, ann, "w"), lasting(reading(t, ann, "r"), time.Minute)
		g := granted(t, e, w)
		granted(t, e, r)
		wantTTL(t, s, w.Key, time.Minute)
		wantKeys(t, s, "$", "{$}:"+ann+":rwlock_timeout:1", "{$}:"+ann+":write:rwlock_timeout:1")
		wantTTL(t, s, timeoutOf(t, ann), time.Minute)
		wantTTL(t, s, timeoutOf(t, ann+":write"), 30*time.Second)
		released(t, e, w, engine.ReleaseResult{Outcome: engine.Released})
		wantKeys(t, s, "$", "{$}:"+ann+":rwlock_timeout:1")
		wantHash(t, s, w.Key, map[string]string{"mode": "read", ann: "1", "fence:" + ann: fmt.Sprintf("#%d r", g.Fence)})
		wantTTL(t, s, w.Key, time.Minute)
		released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
		wantKeys(t, s)
	})

	t.Run("a writer that stops reading has the lease of the hash again", func(t *testing.T) {
		t.Parallel()
		w, r := writing(t, ann, "w"), lasting(reading(t, ann, "r"), time.Hour)
		g := granted(t, e, w)
		granted(t, e, r)
		renewed(t, e, lasting(w, time.Minute), nil)
		wantTTL(t, s, timeoutOf(t, ann+":write"), time.Minute)
		wantTTL(t, s, w.Key, time.Hour)
		released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
		wantHash(t, s, w.Key, map[string]string{"mode": "write", ann + ":write": "1", "fence:" + ann + ":write": fmt.Sprintf("#%d w", g.Fence)})
		wantKeys(t, s, "$")
		wantTTL(t, s, w.Key, time.Minute)
		released(t, e, w, engine.ReleaseResult{Outcome: engine.Released})
		wantKeys(t, s)
	})

	t.Run("an expired writer is removed by the next caller", func(t *testing.T) {
		t.Parallel()
		w, r := writing(t, ann, "w"), reading(t, ann, "r")
		granted(t, e, w)
		g := granted(t, e, r)
		s.Must("DEL", timeoutOf(t, ann+":write"))
		renewed(t, e, w, engine.ErrNotHolder)
		released(t, e, w, engine.ReleaseResult{Outcome: engine.NotYours})
		if l := inspected(t, e, w.Key); l.Kind != engine.Read || len(l.Holders) != 1 || l.Holders[0].Kind != engine.Read {
			t.Errorf("inspect: %+v, want one reader", l)
		}
		if b := busy(t, e, writing(t, bob, "b")); b.Holder != ann {
			t.Errorf("the holder is %q, want ann", b.Holder)
		}
		wantHash(t, s, w.Key, map[string]string{"mode": "read", ann: "1", "fence:" + ann: fmt.Sprintf("#%d r", g.Fence)})
	})

	t.Run("a Java writer does not expire before its hash", func(t *testing.T) {
		t.Parallel()
		s.Must("EVAL", redissonWrite, "1", key(t), "20000", java+":write")
		s.Must("EVAL", redissonRead, "2", key(t), relatedKey(t, "")+":"+java+":rwlock_timeout", "20000", java, java+":write")
		for _, r := range []engine.Request{reading(t, ann, "a"), writing(t, ann, "a")} {
			if b := busy(t, e, r); b.Holder != java {
				t.Errorf("the holder is %q, want Java", b.Holder)
			}
		}
		if l := inspected(t, e, key(t)); l.Kind != engine.Write || len(l.Holders) != 2 || l.Holders[0].Kind != engine.Write {
			t.Errorf("inspect: %+v, want a writer and a reader", l)
		}
	})

	t.Run("a Java reader without its key lives as long as the hash", func(t *testing.T) {
		t.Parallel()
		s.Must("EVAL", redissonRead, "2", key(t), relatedKey(t, "")+":"+java+":rwlock_timeout", "20000", java, java+":write")
		s.Must("DEL", relatedKey(t, "")+":"+java+":rwlock_timeout:1") // Redisson renewed the hash only
		wantReader := func() {
			t.Helper()
			if b := busy(t, e, writing(t, ann, "w")); b.Holder != java {
				t.Errorf("the holder is %q, want Java", b.Holder)
			}
			if l := inspected(t, e, key(t)); l.Kind != engine.Read || len(l.Holders) != 1 || l.Holders[0].Name != java {
				t.Errorf("inspect: %+v, want one reader of Java", l)
			}
		}
		wantReader()
		granted(t, e, reading(t, bob, "r"))
		released(t, e, reading(t, bob, "r"), engine.ReleaseResult{Outcome: engine.Released})
		wantReader()
		s.Must("PEXPIRE", key(t), "1")
		for s.Must("EXISTS", key(t)) != "0" {
			time.Sleep(time.Millisecond)
		}
		granted(t, e, writing(t, ann, "w"))
	})

	t.Run("waiters are queued by arrival, with expiries in another key, and both expire together", func(t *testing.T) {
		t.Parallel()
		a := writing(t, ann, "a")
		granted(t, e, a)
		busy(t, e, queued(reading(t, bob, "b"), time.Minute))
		busy(t, e, queued(writing(t, cat, "c"), 5*time.Second))
		wantKeys(t, s, "$", "interlock_readers:{$}", "interlock_writers:{$}", "interlock_queue_expiry:{$}", "interlock_queue_lease:{$}")
		wantScoreAhead(t, s, s.Must("ZSCORE", relatedKey(t, "interlock_queue_expiry:"), bob), time.Minute)
		wantScoreAhead(t, s, s.Must("ZSCORE", relatedKey(t, "interlock_queue_expiry:"), cat+":write"), 5*time.Second)
		wantHash(t, s, relatedKey(t, "interlock_queue_lease:"), map[string]string{bob: "60000", cat + ":write": "5000"})
		for _, prefix := range []string{"interlock_readers:", "interlock_writers:", "interlock_queue_expiry:", "interlock_queue_lease:"} {
			wantTTL(t, s, relatedKey(t, prefix), 2*time.Minute)
		}
		if r, w := number(t, s, "ZSCORE", relatedKey(t, "interlock_readers:"), bob), number(t, s, "ZSCORE", relatedKey(t, "interlock_writers:"), cat+":write"); r >= w {
			t.Errorf("the first waiter arrived at %d, the second at %d; want a rising order", r, w)
		}
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		granted(t, e, reading(t, bob, "b"))
		released(t, e, writing(t, cat, "c"), engine.ReleaseResult{Outcome: engine.NotYours})
		released(t, e, reading(t, bob, "b"), engine.ReleaseResult{Outcome: engine.Released})
		wantKeys(t, s)
	})

	t.Run("a read unlock publishes 0, a write unlock 1, even if the writer continues to read", func(t *testing.T) {
		t.Parallel()
		next := s.Subscribe("SUBSCRIBE", relatedKey(t, "redisson_rwlock:"))
		r, w := reading(t, ann, "r"), writing(t, ann, "w")
		listening := engine.ReleaseResult{Outcome: engine.Released, Listeners: 1}
		for _, end := range []struct {
			held []engine.Request
			end  engine.Request
			want string
		}{{[]engine.Request{r}, r, "0"}, {[]engine.Request{w}, w, "1"}, {[]engine.Request{w, r}, w, "1"}} {
			for _, h := range end.held {
				granted(t, e, h)
			}
			released(t, e, end.end, listening)
			if got := next(); got != end.want {
				t.Errorf("the message is %q, want %s", got, end.want)
			}
		}
	})

	t.Run("a name that is reserved in the hash is refused", func(t *testing.T) {
		t.Parallel()
		for _, r := range []engine.Request{reading(t, ann+":write", "a"), writing(t, ann, "a b"), requestKind(t, engine.Permit, "ann/1", "a")} {
			_, err := e.Acquire(context.Background(), r)
			wantError(t, err, nil, "uuid:number")
		}
	})
}

func TestReadWriteWithRedisson(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	timeouts := func(t *testing.T, owner string) string { return relatedKey(t, "") + ":" + owner + ":rwlock_timeout" }
	read := func(t *testing.T, owner string) string {
		return s.Must("EVAL", redissonRead, "2", key(t), timeouts(t, owner), "20000", owner, owner+":write")
	}
	readUnlock := func(t *testing.T, owner string) string {
		return s.Must("EVAL", redissonReadUnlock, "4", key(t), relatedKey(t, "redisson_rwlock:"), timeouts(t, owner), relatedKey(t, ""), "0", owner, "publish")
	}
	write := func(t *testing.T, owner string) string {
		return s.Must("EVAL", redissonWrite, "1", key(t), "20000", owner+":write")
	}
	writeUnlock := func(t *testing.T, owner string) string {
		return s.Must("EVAL", redissonWriteUnlock, "2", key(t), relatedKey(t, "redisson_rwlock:"), "1", owner+":write", "publish")
	}

	t.Run("Java reads beside Go, and its unlock keeps Go's read lock", func(t *testing.T) {
		t.Parallel()
		a := reading(t, ann, "a")
		granted(t, e, a)
		for range 2 {
			if got := read(t, java); got != "(nil)" {
				t.Fatalf("read by Java: %s, want (nil)", got)
			}
		}
		for range 2 {
			if got := readUnlock(t, java); got != "0" {
				t.Fatalf("read unlock by Java: %s, want 0", got)
			}
		}
		wantTTL(t, s, a.Key, a.Lease)
		if got := write(t, java); got == "(nil)" {
			t.Error("Java acquired the write lock beside a Go reader")
		}
		renewed(t, e, a, nil)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		wantKeys(t, s)
	})

	t.Run("Go reads beside Java, and its release keeps Java's read lock", func(t *testing.T) {
		t.Parallel()
		a := reading(t, ann, "a")
		read(t, java)
		read(t, java)
		granted(t, e, a)
		if b := busy(t, e, writing(t, bob, "b")); b.Holder != java && b.Holder != ann {
			t.Errorf("the holder is %q, want Java or ann", b.Holder)
		}
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		wantHash(t, s, a.Key, map[string]string{"mode": "read", java: "2"})
		wantTTL(t, s, a.Key, 20*time.Second)
		readUnlock(t, java)
		if b := busy(t, e, writing(t, bob, "b")); b.Holder != java {
			t.Errorf("the holder is %q, want Java", b.Holder)
		}
		readUnlock(t, java)
		granted(t, e, writing(t, bob, "b"))
	})

	t.Run("a dead Go reader does not keep the lock from Java", func(t *testing.T) {
		t.Parallel()
		granted(t, e, reading(t, ann, "a"))
		read(t, java)
		s.Must("DEL", timeoutOf(t, ann))
		if got := readUnlock(t, java); got != "1" {
			t.Errorf("read unlock by Java: %s, want 1, for a free lock", got)
		}
		if got := write(t, java); got != "(nil)" {
			t.Errorf("write by Java: %s, want (nil)", got)
		}
		for _, r := range []engine.Request{reading(t, ann, "a"), writing(t, ann, "a")} {
			if b := busy(t, e, r); b.Holder != java {
				t.Errorf("the holder is %q, want Java", b.Holder)
			}
		}
	})

	t.Run("a Java write unlock wakes a Go reader", func(t *testing.T) {
		t.Parallel()
		write(t, java)
		b := queued(reading(t, bob, "b"), time.Minute)
		busy(t, e, b)
		wake, stop := e.Notify(b)
		defer stop()
		awaitWake(t, wake)
		if got := writeUnlock(t, java); got != "1" {
			t.Errorf("write unlock by Java: %s, want 1", got)
		}
		awaitWake(t, wake)
		granted(t, e, b)
		if got := writeUnlock(t, java); got != "(nil)" {
			t.Errorf("write unlock by Java, which does not hold the lock: %s, want (nil)", got)
		}
	})
}
