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

func permit(t testing.TB, holder, attempt string, limit int) engine.Request {
	t.Helper()
	r := as(t, engine.Permit, holder, attempt)
	r.Limit = limit
	return r
}

func TestPermitFormat(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	t.Run("a semaphore is a sorted set of permits, with their fences beside it", func(t *testing.T) {
		t.Parallel()
		a, b := permit(t, ann, "a", 2), lasting(permit(t, ann, "b", 2), time.Minute)
		g, h := granted(t, e, a), granted(t, e, b)
		if got := strings.ReplaceAll(s.Must("ZRANGE", a.Key, "0", "-1"), "\n", " "); got != ann+"/a "+ann+"/b" {
			t.Errorf("it holds %s", got)
		}
		until(t, s, strings.TrimSuffix(s.Must("ZSCORE", a.Key, ann+"/a"), "\n")[:13], a.Lease)
		hash(t, s, beside(t, "interlock_permits:"), map[string]string{ann + "/a": fmt.Sprint(g.Fence), ann + "/b": fmt.Sprint(h.Fence)})
		kept(t, s, "$", "interlock_permits:{$}")
		left(t, s, a.Key, time.Minute)
		left(t, s, beside(t, "interlock_permits:"), time.Minute)
		released(t, e, b, engine.ReleaseResult{Outcome: engine.Released})
		left(t, s, a.Key, a.Lease)
		left(t, s, beside(t, "interlock_permits:"), a.Lease)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		kept(t, s)
	})

	t.Run("a renewal prolongs the permit and its keys", func(t *testing.T) {
		t.Parallel()
		a := permit(t, ann, "a", 1)
		granted(t, e, a)
		renewed(t, e, lasting(a, time.Minute), nil)
		left(t, s, a.Key, time.Minute+time.Millisecond)
		left(t, s, beside(t, "interlock_permits:"), time.Minute+time.Millisecond)
		until(t, s, s.Must("ZSCORE", a.Key, ann+"/a")[:13], time.Minute)
		renewed(t, e, lasting(a, time.Second), nil)
		until(t, s, s.Must("ZSCORE", a.Key, ann+"/a")[:13], time.Minute)
	})

	t.Run("who waits is in a line by arrival, told on a channel of its own", func(t *testing.T) {
		t.Parallel()
		a, b := permit(t, ann, "a", 1), placed(permit(t, bob, "b", 1), time.Minute)
		granted(t, e, a)
		busy(t, e, b)
		busy(t, e, placed(permit(t, bob, "c", 1), 5*time.Second))
		kept(t, s, "$", "interlock_permits:{$}", "interlock_line:{$}", "interlock_places:{$}", "interlock_lengths:{$}")
		until(t, s, s.Must("ZSCORE", beside(t, "interlock_places:"), bob+"/b"), time.Minute)
		hash(t, s, beside(t, "interlock_lengths:"), map[string]string{bob + "/b": "60000", bob + "/c": "5000"})
		for _, prefix := range []string{"interlock_line:", "interlock_places:", "interlock_lengths:"} {
			left(t, s, beside(t, prefix), 2*time.Minute)
		}
		first := s.Subscribe("SUBSCRIBE", beside(t, "interlock_semaphore:")+":"+bob+"/b")
		second := s.Subscribe("SUBSCRIBE", beside(t, "interlock_semaphore:")+":"+bob+"/c")
		all := s.Subscribe("SUBSCRIBE", beside(t, "interlock_semaphore:"))
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
		if got := first(); got != "0" {
			t.Errorf("the first is told %q", got)
		}
		granted(t, e, b)
		if got := second(); got != "0" {
			t.Errorf("the second is told %q", got)
		}
		released(t, e, permit(t, bob, "c", 1), engine.ReleaseResult{Outcome: engine.NotYours})
		released(t, e, b, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
		if got := all(); got != "0" {
			t.Errorf("all are told %q", got)
		}
		kept(t, s)
	})

	t.Run("a holder that was named otherwise is known by its fence", func(t *testing.T) {
		t.Parallel()
		a := permit(t, "named", "a", 2)
		g := granted(t, e, a)
		granted(t, e, permit(t, ann, "b", 2))
		if l := inspected(t, e, a.Key); len(l.Holders) != 2 || l.Holders[0].Name != "named" || l.Holders[0].Fence != g.Fence {
			t.Errorf("seen is %+v", l)
		}
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
	})

	t.Run("a permit whose fence was lost gets another", func(t *testing.T) {
		t.Parallel()
		a := permit(t, ann, "a", 1)
		granted(t, e, a)
		s.Must("DEL", beside(t, "interlock_permits:"))
		g := granted(t, e, retry(a))
		if again := granted(t, e, retry(a)); again != g || g.Fence == 0 {
			t.Errorf("got %+v and %+v", g, again)
		}
		kept(t, s, "$", "interlock_permits:{$}")
	})
}

func TestPermitsInDisorder(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	t.Run("permits that are over are not in the way, and are cleared away bit by bit", func(t *testing.T) {
		t.Parallel()
		for i := range 100 {
			s.Must("ZADD", key(t), strconv.Itoa(1000+i), somebody(i)+"/a")
			s.Must("HSET", beside(t, "interlock_permits:"), somebody(i)+"/a", "7")
		}
		s.Must("PEXPIRE", key(t), "60000")
		granted(t, e, permit(t, ann, "a", 1))
		busy(t, e, permit(t, bob, "b", 1))
		if n := number(t, s, "ZCARD", key(t)); n != 100+1-2*16 {
			t.Errorf("%d are left after two calls, want 16 fewer for each", n)
		}
		if n := number(t, s, "HLEN", beside(t, "interlock_permits:")); n != 100+1-2*16 {
			t.Errorf("%d fences are left", n)
		}
	})

	for _, lost := range []string{"interlock_line:", "interlock_places:"} {
		t.Run("who waited in a line without "+lost+" stands in line again", func(t *testing.T) {
			t.Parallel()
			a, b, c := permit(t, ann, "a", 1), placed(permit(t, bob, "b", 1), time.Minute), placed(permit(t, cat, "c", 1), time.Minute)
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
		})
	}

	t.Run("a hundred in line whose time has come hold up nobody for long", func(t *testing.T) {
		t.Parallel()
		for i := range 100 {
			s.Must("ZADD", beside(t, "interlock_line:"), strconv.Itoa(i), somebody(i)+"/a")
			s.Must("ZADD", beside(t, "interlock_places:"), "1000", somebody(i)+"/a")
		}
		getsIn(t, e, placed(permit(t, ann, "a", 1), time.Minute), 7)
		kept(t, s, "$", "interlock_permits:{$}")
	})

	for _, prefix := range []string{"interlock_permits:", "interlock_line:", "interlock_places:", "interlock_lengths:"} {
		t.Run("a string in the place of "+prefix+" is refused, and nothing is half done", func(t *testing.T) {
			t.Parallel()
			a := permit(t, ann, "a", 1)
			granted(t, e, a)
			s.Must("DEL", beside(t, prefix))
			s.Must("SET", beside(t, prefix), "v", "PX", "60000")
			if _, err := e.Acquire(context.Background(), placed(permit(t, bob, "b", 1), time.Minute)); !errors.Is(err, engine.ErrKind) {
				t.Errorf("acquire: %v", err)
			}
			if _, err := e.Release(context.Background(), a); err != nil && !errors.Is(err, engine.ErrKind) {
				t.Errorf("release: %v", err)
			} else if held := s.Must("EXISTS", a.Key) == "1"; held != (err != nil) {
				t.Errorf("release: %v, and it is held: %v", err, held)
			}
		})
	}
}
