package redisengine_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func TestDamagedReadWriteQueue(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	for _, lost := range []string{"interlock_writers:", "interlock_queue_expiry:"} {
		t.Run("after the loss of "+lost+" waiters are queued again in the order of their next calls", func(t *testing.T) {
			t.Parallel()
			a, b, c := reading(t, ann, "a"), queued(writing(t, bob, "b"), time.Minute), queued(writing(t, cat, "c"), time.Minute)
			granted(t, e, a)
			busy(t, e, b)
			busy(t, e, c)
			s.Must("DEL", relatedKey(t, lost))
			busy(t, e, c)
			if got := busy(t, e, b); got.Ahead != 1 {
				t.Errorf("Ahead = %d, want 1", got.Ahead)
			}
			released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
			busy(t, e, b)
			granted(t, e, c)
			wantKeys(t, s, "$", "interlock_writers:{$}", "interlock_queue_expiry:{$}", "interlock_queue_lease:{$}")
		})
	}

	for name, expiry := range map[string]string{"whose reservations have expired": "1000", "without an expiry": ""} {
		t.Run("a hundred writers "+name+" delay no caller for long", func(t *testing.T) {
			t.Parallel()
			for i := range 100 {
				s.Must("ZADD", relatedKey(t, "interlock_writers:"), strconv.Itoa(i), numberedHolder(i)+":write")
				if expiry != "" {
					s.Must("ZADD", relatedKey(t, "interlock_queue_expiry:"), expiry, numberedHolder(i)+":write")
				}
			}
			r := queued(reading(t, ann, "a"), time.Minute)
			busy(t, e, r)
			if n := number(t, s, "ZCARD", relatedKey(t, "interlock_writers:")); n != 84 {
				t.Errorf("after one call %d waiters are left of 100, want 84", n)
			}
			grantedWithin(t, e, r, 7)
			released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
			grantedWithin(t, e, queued(writing(t, bob, "b"), time.Minute), 2)
			wantKeys(t, s, "$")
		})
	}

	for _, prefix := range []string{"interlock_readers:", "interlock_writers:", "interlock_queue_expiry:", "interlock_queue_lease:"} {
		t.Run("a string at "+prefix+" is refused, and nothing is written", func(t *testing.T) {
			t.Parallel()
			a := writing(t, ann, "a")
			granted(t, e, a)
			before := s.Must("HGETALL", a.Key)
			s.Must("SET", relatedKey(t, prefix), "v", "PX", "60000")
			for _, r := range []engine.Request{reading(t, bob, "b"), writing(t, bob, "b")} {
				if _, err := e.Acquire(context.Background(), queued(r, time.Minute)); !errors.Is(err, engine.ErrKind) {
					t.Errorf("acquire %s: %v, want %v", r.Kind, err, engine.ErrKind)
				}
			}
			if s.Must("HGETALL", a.Key) != before {
				t.Error("the lock was changed")
			}
			wantKeys(t, s, "$", strings.ReplaceAll(relatedKey(t, prefix), key(t), "$"))
			released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		})
	}

	t.Run("a waiter does not overtake earlier ones when the clock is set back", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, redistest.SteppedClock)
		e := open(t, s)
		a := lasting(reading(t, ann, "a"), 3*time.Hour)
		granted(t, e, a)
		b, c := queued(writing(t, bob, "b"), time.Minute), queued(writing(t, cat, "c"), time.Minute)
		busy(t, e, b)
		s.Step(-time.Hour)
		if got := busy(t, e, c); got.Ahead != 1 {
			t.Errorf("Ahead = %d, want 1", got.Ahead)
		}
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		busy(t, e, c)
		granted(t, e, b)
	})
}

// TestOnlyTheNextWriterIsNotified checks the channels of releases. If every release woke all
// waiters, each would retry.
func TestOnlyTheNextWriterIsNotified(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	first, second, third := queued(writing(t, bob, "b"), time.Minute), queued(writing(t, cat, "c"), time.Minute), queued(reading(t, numberedHolder(7), "e"), time.Minute)
	held := reading(t, ann, "a")
	granted(t, e, held)
	for _, r := range []engine.Request{first, second, third} {
		busy(t, e, r)
	}
	all := relatedKey(t, "redisson_rwlock:")
	toAll, toFirst, toSecond := s.Subscribe("SUBSCRIBE", all), s.Subscribe("SUBSCRIBE", all+":"+bob+":write"), s.Subscribe("SUBSCRIBE", all+":"+cat+":write")
	if _, err := e.Release(context.Background(), held); err != nil {
		t.Fatal(err)
	}
	if got := toFirst(); got != "0" {
		t.Errorf("the message to the first writer is %q, want 0", got)
	}
	granted(t, e, first)
	if _, err := e.Release(context.Background(), first); err != nil {
		t.Fatal(err)
	}
	if got := toSecond(); got != "1" {
		t.Errorf("the message to the second writer is %q, want 1", got)
	}
	granted(t, e, second)
	if _, err := e.Release(context.Background(), second); err != nil {
		t.Fatal(err)
	}
	s.Must("PUBLISH", all, "last")
	if got := toAll(); got != "1" { // the next waiter is a reader
		t.Errorf("the message to all is %q, want 1", got)
	}
	if got := toAll(); got != "last" {
		t.Errorf("the message to all is %q, want last", got)
	}
}

// TestRedissonIsNotifiedAsWell checks the channel of Redisson's clients. Every release is
// published there. A writer's release is published twice, as 1 and as 0, since they may lose
// a 1.
func TestRedissonIsNotifiedAsWell(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s, redisengine.Redisson())
	held, next := reading(t, ann, "a"), queued(writing(t, bob, "b"), time.Minute)
	granted(t, e, held)
	busy(t, e, next)
	all := relatedKey(t, "redisson_rwlock:")
	toAll, toNext := s.Subscribe("SUBSCRIBE", all), s.Subscribe("SUBSCRIBE", all+":"+bob+":write")
	released(t, e, held, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
	granted(t, e, next)
	released(t, e, next, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
	s.Must("PUBLISH", all, "last")
	if got := toNext(); got != "0" {
		t.Errorf("the message to the next writer is %q, want 0", got)
	}
	for _, want := range []string{"0", "1", "0", "last"} {
		if got := toAll(); got != want {
			t.Fatalf("the message to all is %q, want %q", got, want)
		}
	}
}
