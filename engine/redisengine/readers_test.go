package redisengine_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func TestReadersLeases(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	// readers acquires the read lock for n holders. Those for which dead returns true lose
	// their lease.
	readers := func(t *testing.T, n int, dead func(i int) bool) {
		t.Helper()
		for i := range n {
			granted(t, e, reading(t, numberedHolder(i), strconv.Itoa(i)))
			if dead(i) {
				s.Must("DEL", timeoutOf(t, numberedHolder(i)))
			}
		}
	}

	t.Run("a renewal prolongs the hash and the reader's own key, and no other", func(t *testing.T) {
		t.Parallel()
		a, b := reading(t, ann, "a"), reading(t, bob, "b")
		granted(t, e, a)
		granted(t, e, b)
		renewed(t, e, lasting(b, time.Minute), nil)
		wantTTL(t, s, a.Key, time.Minute)
		wantTTL(t, s, timeoutOf(t, bob), time.Minute)
		wantTTL(t, s, timeoutOf(t, ann), 30*time.Second)
		renewed(t, e, a, nil)
		wantTTL(t, s, a.Key, time.Minute)
	})

	t.Run("a reader that leaves removes expired readers", func(t *testing.T) {
		t.Parallel()
		readers(t, 10, func(i int) bool { return i%3 == 0 })
		released(t, e, reading(t, numberedHolder(1), "1"), engine.ReleaseResult{Outcome: engine.Released})
		if n := number(t, s, "HLEN", key(t)); n != 1+2*5 {
			t.Errorf("%d fields are left, want 11: the mode, and two for each of 5 readers", n)
		}
		for i := range 10 {
			if i > 1 && i%3 != 0 {
				released(t, e, reading(t, numberedHolder(i), strconv.Itoa(i)), engine.ReleaseResult{Outcome: engine.Released})
			}
		}
		wantKeys(t, s)
	})

	t.Run("one live reader of many keeps the lock", func(t *testing.T) {
		t.Parallel()
		readers(t, 60, func(int) bool { return false })
		s.Must("PEXPIRE", key(t), "50000")
		released(t, e, reading(t, numberedHolder(1), "1"), engine.ReleaseResult{Outcome: engine.Released})
		wantTTL(t, s, key(t), 50*time.Second)
		if b := busy(t, e, writing(t, ann, "a")); b.Holder == "" || b.Left < 20*time.Second {
			t.Errorf("refusal = %+v, want a holder and its lease", b)
		}
	})

	t.Run("a writer removes many readers that have all expired", func(t *testing.T) {
		t.Parallel()
		readers(t, 100, func(int) bool { return true })
		grantedWithin(t, e, queued(writing(t, ann, "a"), time.Minute), 40)
		wantKeys(t, s, "$")
	})

	t.Run("one live reader among many expired ones refuses a writer", func(t *testing.T) {
		t.Parallel()
		readers(t, 60, func(i int) bool { return i != 30 })
		for range 40 {
			busy(t, e, writing(t, ann, "a"))
		}
		renewed(t, e, reading(t, numberedHolder(30), "30"), nil)
		if b := busy(t, e, writing(t, ann, "a")); b.Holder != numberedHolder(30) {
			t.Errorf("the holder is %s, want the reader that has not expired", b.Holder)
		}
	})

	t.Run("with the maximum of readers, expired ones are replaced", func(t *testing.T) {
		t.Parallel()
		s.Must("EVAL", `
redis.call('HSET', KEYS[1], 'mode', 'read')
redis.call('PEXPIRE', KEYS[1], 60000)
for i = 1, 1000 do
  local name = string.format('50e00000-0000-4000-8000-%012d:1', i)
  redis.call('HSET', KEYS[1], name, 1, 'fence:' .. name, '#1 a')
  if i ~= 777 then
    redis.call('SET', '{' .. KEYS[1] .. '}:' .. name .. ':rwlock_timeout:1', 1, 'PX', 60000)
  end
end`, "1", key(t))
		granted(t, e, reading(t, ann, "a"))
		_, err := e.Acquire(context.Background(), reading(t, bob, "b"))
		wantError(t, err, engine.ErrFull, "1000")
		granted(t, e, reading(t, ann, "again"))
	})

	t.Run("a reader whose own lease has expired gets a new hold", func(t *testing.T) {
		t.Parallel()
		a, b := reading(t, ann, "a"), reading(t, bob, "b")
		first := granted(t, e, a)
		granted(t, e, b)
		s.Must("DEL", timeoutOf(t, ann))
		renewed(t, e, a, engine.ErrNotHolder)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.NotYours})
		if g := granted(t, e, a); g.Count != 1 || g.Fence <= first.Fence {
			t.Errorf("got %+v after %+v, want one hold with a new fence", g, first)
		}
	})
}
