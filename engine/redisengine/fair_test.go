package redisengine_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func fair(t testing.TB, holder, attempt string) engine.Request {
	t.Helper()
	return requestKind(t, engine.Fair, holder, attempt)
}

// queueOf returns the queue of the lock of this test.
func queueOf(t testing.TB, s *redistest.Server) string {
	t.Helper()
	return strings.ReplaceAll(s.Must("LRANGE", relatedKey(t, "redisson_lock_queue:"), "0", "-1"), "\n", " ")
}

func TestFairFormat(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	t.Run("a fair lock without waiters has the format of an exclusive lock", func(t *testing.T) {
		t.Parallel()
		r := fair(t, ann, "a")
		g := granted(t, e, r)
		wantHash(t, s, r.Key, map[string]string{ann: "1", "fence:a": fmt.Sprint(g.Fence)})
		wantTTL(t, s, r.Key, r.Lease)
		wantKeys(t, s, "$")
		released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
		wantKeys(t, s)
	})

	t.Run("waiters are in a list, their reservations in two keys beside it, and all expire together", func(t *testing.T) {
		t.Parallel()
		granted(t, e, fair(t, ann, "a"))
		busy(t, e, queued(fair(t, bob, "b"), time.Minute))
		busy(t, e, queued(fair(t, cat, "c"), 5*time.Second))
		wantKeys(t, s, "$", "redisson_lock_queue:{$}", "redisson_lock_timeout:{$}", "interlock_queue_lease:{$}")
		if got := queueOf(t, s); got != bob+" "+cat {
			t.Errorf("the queue is %s, want %s %s", got, bob, cat)
		}
		wantScoreAhead(t, s, s.Must("ZSCORE", relatedKey(t, "redisson_lock_timeout:"), bob), time.Minute)
		wantScoreAhead(t, s, s.Must("ZSCORE", relatedKey(t, "redisson_lock_timeout:"), cat), 5*time.Second)
		wantHash(t, s, relatedKey(t, "interlock_queue_lease:"), map[string]string{bob: "60000", cat: "5000"})
		for _, prefix := range []string{"redisson_lock_queue:", "redisson_lock_timeout:", "interlock_queue_lease:"} {
			wantTTL(t, s, relatedKey(t, prefix), 2*time.Minute)
		}
	})

	t.Run("no key is left when all waiters have left", func(t *testing.T) {
		t.Parallel()
		a, b, c := fair(t, ann, "a"), queued(fair(t, bob, "b"), time.Minute), queued(fair(t, cat, "c"), time.Minute)
		granted(t, e, a)
		busy(t, e, b)
		busy(t, e, c)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		released(t, e, b, engine.ReleaseResult{Outcome: engine.AlreadyFree})
		granted(t, e, c)
		wantKeys(t, s, "$")
		released(t, e, c, engine.ReleaseResult{Outcome: engine.Released})
		wantKeys(t, s)
	})

	t.Run("a release publishes 0 to the first waiter only, and to all without a queue", func(t *testing.T) {
		t.Parallel()
		a, b := fair(t, ann, "a"), queued(fair(t, bob, "b"), time.Minute)
		all, first := s.Subscribe("SUBSCRIBE", channelOf(a.Key)), s.Subscribe("SUBSCRIBE", channelOf(a.Key)+":"+bob)
		second := s.Subscribe("SUBSCRIBE", channelOf(a.Key)+":"+cat)
		granted(t, e, a)
		busy(t, e, b)
		busy(t, e, queued(fair(t, cat, "c"), time.Minute))
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
		if got := first(); got != "0" {
			t.Errorf("the message to the first waiter is %q, want 0", got)
		}
		released(t, e, b, engine.ReleaseResult{Outcome: engine.AlreadyFree})
		if got := second(); got != "0" {
			t.Errorf("the message to the next waiter is %q, want 0", got)
		}
		released(t, e, fair(t, cat, "c"), engine.ReleaseResult{Outcome: engine.AlreadyFree})
		granted(t, e, a)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
		if got := all(); got != "0" {
			t.Errorf("the message to all is %q, want 0", got)
		}
	})

	t.Run("a fence counter of another type fails the call before the first write", func(t *testing.T) {
		t.Parallel()
		r := fenced(fair(t, ann, "a"), 1)
		s.Must("RPUSH", relatedKey(t, "redisson_lock_token:"), "x")
		s.Must("RPUSH", relatedKey(t, "redisson_lock_queue:"), "stale")
		refused(t, e, r, engine.ErrKind)
		if queueOf(t, s) != "stale" || s.Must("EXISTS", r.Key) != "0" {
			t.Error("a refused call changed the queue or the lock")
		}
	})
}

func TestFairWithRedisson(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	lock := func(t *testing.T, owner string) string {
		t.Helper()
		return s.Must("EVAL", redissonFair, "3", key(t), relatedKey(t, "redisson_lock_queue:"), relatedKey(t, "redisson_lock_timeout:"),
			"30000", owner, "300000", strconv.FormatInt(time.Now().UnixMilli(), 10))
	}
	const second = "8743c9c0-0795-4907-87fd-6c719a6b4586:32" // another thread of the Java process
	unlock := func(t *testing.T, owner string) string {
		t.Helper()
		return s.Must("EVAL", redissonFairUnlock, "4", key(t), relatedKey(t, "redisson_lock_queue:"), relatedKey(t, "redisson_lock_timeout:"),
			channelOf(key(t)), "0", "30000", owner, strconv.FormatInt(time.Now().UnixMilli(), 10), "publish")
	}

	t.Run("a Java waiter behind a Go holder is notified, and granted the lock before later waiters", func(t *testing.T) {
		t.Parallel()
		a, c := fair(t, ann, "a"), queued(fair(t, cat, "c"), time.Minute)
		granted(t, e, a)
		if got := lock(t, java); got == "(nil)" {
			t.Fatal("Java acquired a lock that Go holds")
		}
		if b := busy(t, e, c); b.Ahead != 1 {
			t.Errorf("Ahead = %d, want 1, for Java", b.Ahead)
		}
		message := s.Subscribe("SUBSCRIBE", channelOf(a.Key)+":"+java)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
		if got := message(); got != "0" {
			t.Errorf("the message to Java is %q, want 0", got)
		}
		if b := busy(t, e, c); b.Holder != java {
			t.Errorf("the first waiter is %s, want Java", b.Holder)
		}
		if got := lock(t, java); got != "(nil)" {
			t.Errorf("lock by Java: %s, want (nil)", got)
		}
	})

	t.Run("a waiter behind a Java waiter keeps its position when Java is granted the lock and moves all deadlines", func(t *testing.T) {
		t.Parallel()
		a, b := fair(t, ann, "a"), queued(fair(t, bob, "b"), time.Second)
		granted(t, e, a)
		lock(t, java)
		busy(t, e, b)
		lock(t, second) // behind bob
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		if got := lock(t, java); got != "(nil)" {
			t.Fatalf("lock by the first waiter, in Java: %s, want (nil)", got)
		}
		unlock(t, java)
		if got := lock(t, second); got == "(nil)" {
			t.Fatal("a later waiter in Java acquired the lock first")
		}
		granted(t, e, b)
		released(t, e, b, engine.ReleaseResult{Outcome: engine.Released})
		if got := lock(t, second); got != "(nil)" {
			t.Errorf("lock by the last waiter: %s, want (nil)", got)
		}
		wantKeys(t, s, "$")
	})

	t.Run("no waiter is lost in a queue of Java and Go waiters, in any order", func(t *testing.T) {
		t.Parallel()
		order := "JJGJGGJJJGJG"
		granted(t, e, fair(t, ann, "a"))
		name := func(i int) string { return fmt.Sprintf("c0c00000-0000-4000-8000-00000000000c:%d", i) }
		ours := func(i int) engine.Request { return queued(fair(t, name(i), "x"), 5*time.Second) }
		for i, kind := range order {
			if kind == 'J' {
				lock(t, name(i))
			} else {
				busy(t, e, ours(i))
			}
		}
		released(t, e, fair(t, ann, "a"), engine.ReleaseResult{Outcome: engine.Released})
		for i, kind := range order {
			want := make([]string, 0, len(order))
			for k := i; k < len(order); k++ {
				want = append(want, name(k))
			}
			if got := queueOf(t, s); got != strings.Join(want, " ") {
				t.Fatalf("the queue after %d grants is %s, want %s", i, got, strings.Join(want, " "))
			}
			if kind == 'J' {
				if got := lock(t, name(i)); got != "(nil)" {
					t.Fatalf("lock by waiter %d, in Java: %s, want (nil)", i, got)
				}
				unlock(t, name(i))
			} else {
				granted(t, e, ours(i))
				released(t, e, ours(i), engine.ReleaseResult{Outcome: engine.Released})
			}
		}
		wantKeys(t, s)
	})

	t.Run("a waiter that dies behind a Java waiter costs no more than its own reservation", func(t *testing.T) {
		t.Parallel()
		a, b, c := fair(t, ann, "a"), queued(fair(t, bob, "b"), time.Second), queued(fair(t, cat, "c"), time.Minute)
		granted(t, e, a)
		lock(t, java)
		busy(t, e, b)
		busy(t, e, c)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		lock(t, java)
		unlock(t, java)
		if got := busy(t, e, c); got.Holder != bob || got.Left > time.Second {
			t.Errorf("refusal = %+v, want bob as the first waiter, for at most 1s", got)
		}
	})

	t.Run("reservations do not grow in a mixed queue that is never empty", func(t *testing.T) {
		t.Parallel()
		a, b := queued(fair(t, ann, "a"), 5*time.Second), queued(fair(t, bob, "b"), 5*time.Second)
		granted(t, e, a)
		for range 40 { // ann holds the lock
			lock(t, java)
			busy(t, e, b)
			lock(t, second)
			released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
			lock(t, java)
			unlock(t, java)
			granted(t, e, b)
			busy(t, e, a)
			lock(t, java)
			released(t, e, b, engine.ReleaseResult{Outcome: engine.Released})
			lock(t, second)
			unlock(t, second)
			granted(t, e, a)
		}
		last := strings.Fields(s.Must("ZRANGE", relatedKey(t, "redisson_lock_timeout:"), "-1", "-1", "WITHSCORES"))
		deadline, err := strconv.ParseFloat(last[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		if left := time.Until(time.UnixMilli(int64(deadline))); left > time.Hour {
			t.Errorf("the position of %s is reserved for another %v, want at most an hour", last[0], left)
		}
	})

	t.Run("a Go waiter that finds the lock free notifies the Java waiter ahead of it again", func(t *testing.T) {
		t.Parallel()
		a, c := fair(t, ann, "a"), queued(fair(t, cat, "c"), time.Minute)
		granted(t, e, a)
		lock(t, java)
		busy(t, e, c)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released}) // no waiter listens
		message := s.Subscribe("SUBSCRIBE", channelOf(a.Key)+":"+java)
		busy(t, e, c)
		if got := message(); got != "0" {
			t.Errorf("the message to Java is %q, want 0", got)
		}
		if got := lock(t, java); got != "(nil)" {
			t.Errorf("lock by Java: %s, want (nil)", got)
		}
	})

	t.Run("a Go waiter behind a Go waiter notifies none, since a Go waiter asks by itself", func(t *testing.T) {
		t.Parallel()
		a, b, c := fair(t, ann, "a"), queued(fair(t, bob, "b"), time.Minute), queued(fair(t, cat, "c"), time.Minute)
		granted(t, e, a)
		busy(t, e, b)
		busy(t, e, c)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released}) // no waiter listens
		message := s.Subscribe("SUBSCRIBE", channelOf(a.Key)+":"+bob)
		busy(t, e, c)
		s.Must("PUBLISH", channelOf(a.Key)+":"+bob, "end")
		if got := message(); got != "end" {
			t.Errorf("a message %q was sent to the first waiter, want none", got)
		}
	})

	t.Run("a Go waiter behind a Java holder is notified", func(t *testing.T) {
		t.Parallel()
		b := queued(fair(t, bob, "b"), time.Minute)
		lock(t, java)
		busy(t, e, b)
		wake, stop := e.Notify(b)
		defer stop()
		awaitWake(t, wake)
		if got := unlock(t, java); got != "1" {
			t.Errorf("unlock by Java: %s, want 1", got)
		}
		awaitWake(t, wake)
		granted(t, e, b)
		if got := lock(t, java); got == "(nil)" {
			t.Error("Java acquired a lock that Go holds")
		}
	})
}

func TestDamagedFairQueue(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	queue := func(t *testing.T) string { return relatedKey(t, "redisson_lock_queue:") }
	expiries := func(t *testing.T) string { return relatedKey(t, "redisson_lock_timeout:") }

	t.Run("a queue without leases works, and gets them back", func(t *testing.T) {
		t.Parallel()
		a, b := fair(t, ann, "a"), queued(fair(t, bob, "b"), time.Minute)
		granted(t, e, a)
		busy(t, e, b)
		s.Must("DEL", relatedKey(t, "interlock_queue_lease:"))
		if got := busy(t, e, queued(fair(t, cat, "c"), time.Minute)); got.Ahead != 1 {
			t.Errorf("Ahead = %d, want 1", got.Ahead)
		}
		busy(t, e, b)
		wantHash(t, s, relatedKey(t, "interlock_queue_lease:"), map[string]string{bob: "60000", cat: "60000"})
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		granted(t, e, b)
	})

	for _, lost := range []string{"redisson_lock_queue:", "redisson_lock_timeout:"} {
		t.Run("after the loss of "+lost+" waiters are queued again in the order of their next calls", func(t *testing.T) {
			t.Parallel()
			a, b, c := fair(t, ann, "a"), queued(fair(t, bob, "b"), time.Minute), queued(fair(t, cat, "c"), time.Minute)
			granted(t, e, a)
			busy(t, e, b)
			busy(t, e, c)
			s.Must("DEL", relatedKey(t, lost))
			if got := busy(t, e, c); got.Ahead != 0 {
				t.Errorf("Ahead = %d, want 0", got.Ahead)
			}
			if got := busy(t, e, b); got.Ahead != 1 {
				t.Errorf("Ahead = %d, want 1", got.Ahead)
			}
			wantKeys(t, s, "$", "redisson_lock_queue:{$}", "redisson_lock_timeout:{$}", "interlock_queue_lease:{$}")
			if got := queueOf(t, s); got != cat+" "+bob {
				t.Errorf("the queue is %s, want each waiter once", got)
			}
			if n := s.Must("ZCARD", expiries(t)); n != "2" {
				t.Errorf("%s reservations exist, want 2", n)
			}
			released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
			busy(t, e, b)
			granted(t, e, c)
		})
	}

	plant := func(t *testing.T, n int, score func(i int) string) {
		t.Helper()
		for i := range n {
			s.Must("RPUSH", queue(t), numberedHolder(i))
			if at := score(i); at != "" {
				s.Must("ZADD", expiries(t), at, numberedHolder(i))
			}
		}
	}
	for name, score := range map[string]func(int) string{
		"without an expiry":                      func(int) string { return "" },
		"whose reservations expired long ago":    func(i int) string { return strconv.Itoa(1000 + i) },
		"some of them with endless reservations": func(i int) string { return []string{"inf", "", "9e17", "-inf"}[i%4] },
	} {
		t.Run("a hundred waiters "+name+" delay no caller for long", func(t *testing.T) {
			t.Parallel()
			plant(t, 100, score)
			r := queued(fair(t, ann, "a"), time.Minute)
			if b := busy(t, e, r); b.Left > time.Millisecond || b.Ahead != 84 {
				t.Errorf("refusal = %+v, want a retry at once and 84 waiters ahead", b)
			}
			if n := number(t, s, "LLEN", queue(t)); n != 85 {
				t.Errorf("after one call %d waiters are left of 101, want 85", n)
			}
			wantKeys(t, s, "redisson_lock_queue:{$}", "redisson_lock_timeout:{$}", "interlock_queue_lease:{$}")
			grantedWithin(t, e, r, 7)
			released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
			wantKeys(t, s)
		})
	}

	t.Run("a waiter with a clock an hour fast keeps its position, and no key lasts longer", func(t *testing.T) {
		t.Parallel()
		ahead := strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)
		plant(t, 1, func(int) string { return ahead })
		b := busy(t, e, queued(fair(t, ann, "a"), 5*time.Second))
		if b.Holder != numberedHolder(0) || b.Left < 59*time.Minute || b.Left > time.Hour {
			t.Errorf("refusal = %+v, want the first waiter and its hour", b)
		}
		wantTTL(t, s, queue(t), time.Hour+5*time.Minute+10*time.Second) // with the margin for Redisson
		wantTTL(t, s, expiries(t), time.Hour+5*time.Minute+10*time.Second)
	})

	t.Run("a dead waiter is overtaken, and removed by the next grant", func(t *testing.T) {
		t.Parallel()
		a, c := fair(t, ann, "a"), queued(fair(t, cat, "c"), time.Minute)
		granted(t, e, a)
		for i := range 10 {
			busy(t, e, queued(fair(t, numberedHolder(i), "b"), time.Minute))
			s.Must("ZADD", expiries(t), strconv.FormatInt(time.Now().UnixMilli()-1000, 10), numberedHolder(i))
		}
		if b := busy(t, e, c); b.Ahead != 10 {
			t.Errorf("Ahead = %d, want 10, since any of them may return", b.Ahead)
		}
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		granted(t, e, c)
		wantKeys(t, s, "$")
	})

	t.Run("a hundred dead waiters delay no caller for long", func(t *testing.T) {
		t.Parallel()
		r := queued(fair(t, ann, "a"), time.Minute)
		for i := range 100 {
			s.Must("RPUSH", queue(t), numberedHolder(i))
			s.Must("ZADD", expiries(t), strconv.FormatInt(time.Now().UnixMilli()-1000, 10), numberedHolder(i))
			s.Must("HSET", relatedKey(t, "interlock_queue_lease:"), numberedHolder(i), "60000")
		}
		grantedWithin(t, e, r, 8)
		wantKeys(t, s, "$")
	})

	t.Run("a name that is queued twice leaves the queue at once", func(t *testing.T) {
		t.Parallel()
		a, b := fair(t, ann, "a"), queued(fair(t, bob, "b"), time.Minute)
		granted(t, e, a)
		busy(t, e, b)
		s.Must("RPUSH", queue(t), bob)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		granted(t, e, b)
		wantKeys(t, s, "$")
	})

	for _, prefix := range []string{"redisson_lock_queue:", "redisson_lock_timeout:", "interlock_queue_lease:"} {
		t.Run("a string at "+prefix+" is refused, and nothing is written", func(t *testing.T) {
			t.Parallel()
			e := open(t, s) // an engine of this test, so that its calls are not batched
			a := fair(t, ann, "a")
			g := granted(t, e, a)
			s.Must("SET", relatedKey(t, prefix), "v", "PX", "60000")
			refused(t, e, queued(fair(t, bob, "b"), time.Minute), engine.ErrKind)
			refused(t, e, fair(t, ann, "again"), engine.ErrKind)
			for _, end := range []func(context.Context, engine.Request) (engine.ReleaseResult, error){e.Release, e.Abandon} {
				if p, err := end(context.Background(), a); !errors.Is(err, engine.ErrKind) {
					t.Errorf("release: %+v, %v; want %v", p, err, engine.ErrKind)
				}
			}
			wantHash(t, s, a.Key, map[string]string{ann: "1", "fence:a": fmt.Sprint(g.Fence)})
			renewed(t, e, a, nil)
			wantKeys(t, s, "$", strings.ReplaceAll(relatedKey(t, prefix), key(t), "$"))
			s.Must("DEL", relatedKey(t, prefix))
			released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
			wantKeys(t, s)
		})
	}
}

// TestAQueueLastsAsLongAsItsReservations checks that a queue made for a short Go
// reservation lasts as long as the reservation of a Redisson waiter behind it.
func TestAQueueLastsAsLongAsItsReservations(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	held, waits := requestKind(t, engine.Fair, ann, "a"), queued(requestKind(t, engine.Fair, bob, "b"), time.Second)
	granted(t, e, held)
	busy(t, e, waits)
	queue, expiries := relatedKey(t, "redisson_lock_queue:"), relatedKey(t, "redisson_lock_timeout:")
	s.Must("RPUSH", queue, cat)
	s.Must("ZADD", expiries, fmt.Sprint(time.Now().Add(5*time.Minute).UnixMilli()), cat)
	released(t, e, held, engine.ReleaseResult{Outcome: engine.Released})
	granted(t, e, waits)
	for _, k := range []string{queue, expiries} {
		if ms := number(t, s, "PTTL", k); ms < 290_000 {
			t.Errorf("%s expires in %d ms, want as long as its last reservation", k, ms)
		}
	}
}
