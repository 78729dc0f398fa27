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

func TestReadWriteLineInDisorder(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	for _, lost := range []string{"interlock_writers:", "interlock_places:"} {
		t.Run("who waited in a line without "+lost+" stands in line again", func(t *testing.T) {
			t.Parallel()
			a, b, c := reading(t, ann, "a"), placed(writing(t, bob, "b"), time.Minute), placed(writing(t, cat, "c"), time.Minute)
			granted(t, e, a)
			busy(t, e, b)
			busy(t, e, c)
			s.Must("DEL", beside(t, lost))
			busy(t, e, c)
			if got := busy(t, e, b); got.Ahead != 1 {
				t.Errorf("ahead are %d, want 1", got.Ahead)
			}
			released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
			busy(t, e, b)
			granted(t, e, c)
			kept(t, s, "$", "interlock_writers:{$}", "interlock_places:{$}", "interlock_lengths:{$}")
		})
	}

	for name, place := range map[string]string{"whose time has come": "1000", "of whom nobody knows until when": ""} {
		t.Run("a hundred writers in line "+name+" hold up nobody for long", func(t *testing.T) {
			t.Parallel()
			for i := range 100 {
				s.Must("ZADD", beside(t, "interlock_writers:"), strconv.Itoa(i), somebody(i)+":write")
				if place != "" {
					s.Must("ZADD", beside(t, "interlock_places:"), place, somebody(i)+":write")
				}
			}
			r := placed(reading(t, ann, "a"), time.Minute)
			busy(t, e, r)
			if n := number(t, s, "ZCARD", beside(t, "interlock_writers:")); n != 84 {
				t.Errorf("one call made %d of 100, want 84", n)
			}
			getsIn(t, e, r, 7)
			released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
			getsIn(t, e, placed(writing(t, bob, "b"), time.Minute), 2)
			kept(t, s, "$")
		})
	}

	for _, prefix := range []string{"interlock_readers:", "interlock_writers:", "interlock_places:", "interlock_lengths:"} {
		t.Run("a string in the place of "+prefix+" is refused, and nothing is half done", func(t *testing.T) {
			t.Parallel()
			a := writing(t, ann, "a")
			granted(t, e, a)
			before := s.Must("HGETALL", a.Key)
			s.Must("SET", beside(t, prefix), "v", "PX", "60000")
			for _, r := range []engine.Request{reading(t, bob, "b"), writing(t, bob, "b")} {
				if _, err := e.Acquire(context.Background(), placed(r, time.Minute)); !errors.Is(err, engine.ErrKind) {
					t.Errorf("%s: %v", r.Kind, err)
				}
			}
			if s.Must("HGETALL", a.Key) != before {
				t.Error("the lock was changed")
			}
			kept(t, s, "$", strings.ReplaceAll(beside(t, prefix), key(t), "$"))
			released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		})
	}

	t.Run("who comes later comes later, also when the clock is set back", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, redistest.SteppedClock)
		e := open(t, s)
		a := lasting(reading(t, ann, "a"), 3*time.Hour)
		granted(t, e, a)
		b, c := placed(writing(t, bob, "b"), time.Minute), placed(writing(t, cat, "c"), time.Minute)
		busy(t, e, b)
		s.Step(-time.Hour)
		if got := busy(t, e, c); got.Ahead != 1 {
			t.Errorf("ahead are %d, want 1", got.Ahead)
		}
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		busy(t, e, c)
		granted(t, e, b)
	})
}

// TestOnlyTheWriterWhoComesNextIsTold looks at the channels: a crowd that is woken
// by every release asks as often as it is large.
func TestOnlyTheWriterWhoComesNextIsTold(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	first, second, third := placed(writing(t, bob, "b"), time.Minute), placed(writing(t, cat, "c"), time.Minute), placed(reading(t, somebody(7), "e"), time.Minute)
	held := reading(t, ann, "a")
	granted(t, e, held)
	for _, r := range []engine.Request{first, second, third} {
		busy(t, e, r)
	}
	all := beside(t, "redisson_rwlock:")
	heard, heardFirst, heardSecond := s.Subscribe("SUBSCRIBE", all), s.Subscribe("SUBSCRIBE", all+":"+bob+":write"), s.Subscribe("SUBSCRIBE", all+":"+cat+":write")
	if _, err := e.Release(context.Background(), held); err != nil {
		t.Fatal(err)
	}
	if got := heardFirst(); got != "0" {
		t.Errorf("the first writer is told %q, want 0", got)
	}
	granted(t, e, first)
	if _, err := e.Release(context.Background(), first); err != nil {
		t.Fatal(err)
	}
	if got := heardSecond(); got != "1" {
		t.Errorf("the second writer is told %q, want 1", got)
	}
	granted(t, e, second)
	if _, err := e.Release(context.Background(), second); err != nil {
		t.Fatal(err)
	}
	s.Must("PUBLISH", all, "last")
	if got := heard(); got != "1" { // a reader comes next
		t.Errorf("all are told %q, want 1", got)
	}
	if got := heard(); got != "last" {
		t.Errorf("all are told %q, want nothing before", got)
	}
}

// TestRedissonIsToldBesides looks at the channel that clients of Redisson listen on:
// they hear of every release, and of a writer's twice, since they may lose a 1.
func TestRedissonIsToldBesides(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s, redisengine.Redisson())
	held, next := reading(t, ann, "a"), placed(writing(t, bob, "b"), time.Minute)
	granted(t, e, held)
	busy(t, e, next)
	all := beside(t, "redisson_rwlock:")
	heard, heardNext := s.Subscribe("SUBSCRIBE", all), s.Subscribe("SUBSCRIBE", all+":"+bob+":write")
	released(t, e, held, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
	granted(t, e, next)
	released(t, e, next, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
	s.Must("PUBLISH", all, "last")
	if got := heardNext(); got != "0" {
		t.Errorf("the writer who comes next is told %q, want 0", got)
	}
	for _, want := range []string{"0", "1", "0", "last"} {
		if got := heard(); got != want {
			t.Fatalf("all are told %q, want %q", got, want)
		}
	}
}
