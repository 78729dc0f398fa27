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
	r := requestKind(t, engine.Permit, holder, attempt)
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
			t.Errorf("the semaphore holds %s, want both permits", got)
		}
		wantScoreAhead(t, s, strings.TrimSuffix(s.Must("ZSCORE", a.Key, ann+"/a"), "\n")[:13], a.Lease)
		wantHash(t, s, relatedKey(t, "interlock_permits:"), map[string]string{ann + "/a": fmt.Sprint(g.Fence), ann + "/b": fmt.Sprint(h.Fence)})
		wantKeys(t, s, "$", "interlock_permits:{$}")
		wantTTL(t, s, a.Key, time.Minute)
		wantTTL(t, s, relatedKey(t, "interlock_permits:"), time.Minute)
		released(t, e, b, engine.ReleaseResult{Outcome: engine.Released})
		wantTTL(t, s, a.Key, a.Lease)
		wantTTL(t, s, relatedKey(t, "interlock_permits:"), a.Lease)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		wantKeys(t, s)
	})

	t.Run("a renewal prolongs the permit and its keys", func(t *testing.T) {
		t.Parallel()
		a := permit(t, ann, "a", 1)
		granted(t, e, a)
		renewed(t, e, lasting(a, time.Minute), nil)
		wantTTL(t, s, a.Key, time.Minute+time.Millisecond)
		wantTTL(t, s, relatedKey(t, "interlock_permits:"), time.Minute+time.Millisecond)
		wantScoreAhead(t, s, s.Must("ZSCORE", a.Key, ann+"/a")[:13], time.Minute)
		renewed(t, e, lasting(a, time.Second), nil)
		wantScoreAhead(t, s, s.Must("ZSCORE", a.Key, ann+"/a")[:13], time.Minute)
	})

	t.Run("waiters are queued by arrival, and each is notified on its own channel", func(t *testing.T) {
		t.Parallel()
		a, b := permit(t, ann, "a", 1), queued(permit(t, bob, "b", 1), time.Minute)
		granted(t, e, a)
		busy(t, e, b)
		busy(t, e, queued(permit(t, bob, "c", 1), 5*time.Second))
		wantKeys(t, s, "$", "interlock_permits:{$}", "interlock_permit_queue:{$}", "interlock_queue_expiry:{$}", "interlock_queue_lease:{$}")
		wantScoreAhead(t, s, s.Must("ZSCORE", relatedKey(t, "interlock_queue_expiry:"), bob+"/b"), time.Minute)
		wantHash(t, s, relatedKey(t, "interlock_queue_lease:"), map[string]string{bob + "/b": "60000", bob + "/c": "5000"})
		for _, prefix := range []string{"interlock_permit_queue:", "interlock_queue_expiry:", "interlock_queue_lease:"} {
			wantTTL(t, s, relatedKey(t, prefix), 2*time.Minute)
		}
		first := s.Subscribe("SUBSCRIBE", relatedKey(t, "interlock_semaphore:")+":"+bob+"/b")
		second := s.Subscribe("SUBSCRIBE", relatedKey(t, "interlock_semaphore:")+":"+bob+"/c")
		all := s.Subscribe("SUBSCRIBE", relatedKey(t, "interlock_semaphore:"))
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
		if got := first(); got != "0" {
			t.Errorf("the message to the first waiter is %q, want 0", got)
		}
		granted(t, e, b)
		if got := second(); got != "0" {
			t.Errorf("the message to the second waiter is %q, want 0", got)
		}
		released(t, e, permit(t, bob, "c", 1), engine.ReleaseResult{Outcome: engine.NotYours})
		released(t, e, b, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
		if got := all(); got != "0" {
			t.Errorf("the message to all is %q, want 0", got)
		}
		wantKeys(t, s)
	})

	t.Run("a holder whose name is not uuid:number is inspected with its name and fence", func(t *testing.T) {
		t.Parallel()
		const holder = "worker"
		a := permit(t, holder, "a", 2)
		g := granted(t, e, a)
		granted(t, e, permit(t, ann, "b", 2))
		if l := inspected(t, e, a.Key); len(l.Holders) != 2 || l.Holders[0].Name != holder || l.Holders[0].Fence != g.Fence {
			t.Errorf("inspect: %+v, want 2 holders, the first %q with fence %d", l, holder, g.Fence)
		}
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
	})

	t.Run("a permit whose fence was lost gets another", func(t *testing.T) {
		t.Parallel()
		a := permit(t, ann, "a", 1)
		granted(t, e, a)
		s.Must("DEL", relatedKey(t, "interlock_permits:"))
		g := granted(t, e, retry(a))
		if again := granted(t, e, retry(a)); again != g || g.Fence == 0 {
			t.Errorf("repeated attempts got %+v and %+v, want the same fence", g, again)
		}
		wantKeys(t, s, "$", "interlock_permits:{$}")
	})
}

func TestDamagedSemaphore(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	t.Run("expired permits do not count, and are removed in steps", func(t *testing.T) {
		t.Parallel()
		for i := range 100 {
			s.Must("ZADD", key(t), strconv.Itoa(1000+i), numberedHolder(i)+"/a")
			s.Must("HSET", relatedKey(t, "interlock_permits:"), numberedHolder(i)+"/a", "7")
		}
		s.Must("PEXPIRE", key(t), "60000")
		granted(t, e, permit(t, ann, "a", 1))
		busy(t, e, permit(t, bob, "b", 1))
		if n := number(t, s, "ZCARD", key(t)); n != 100+1-2*16 {
			t.Errorf("%d permits are left after two calls, want %d", n, 100+1-2*16)
		}
		if n := number(t, s, "HLEN", relatedKey(t, "interlock_permits:")); n != 100+1-2*16 {
			t.Errorf("%d fences are left, want %d", n, 100+1-2*16)
		}
	})

	for _, lost := range []string{"interlock_permit_queue:", "interlock_queue_expiry:"} {
		t.Run("after the loss of "+lost+" waiters are queued again in the order of their next calls", func(t *testing.T) {
			t.Parallel()
			a, b, c := permit(t, ann, "a", 1), queued(permit(t, bob, "b", 1), time.Minute), queued(permit(t, cat, "c", 1), time.Minute)
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
		})
	}

	t.Run("a hundred expired waiters delay no caller for long", func(t *testing.T) {
		t.Parallel()
		for i := range 100 {
			s.Must("ZADD", relatedKey(t, "interlock_permit_queue:"), strconv.Itoa(i), numberedHolder(i)+"/a")
			s.Must("ZADD", relatedKey(t, "interlock_queue_expiry:"), "1000", numberedHolder(i)+"/a")
		}
		grantedWithin(t, e, queued(permit(t, ann, "a", 1), time.Minute), 7)
		wantKeys(t, s, "$", "interlock_permits:{$}")
	})

	for _, prefix := range []string{"interlock_permits:", "interlock_permit_queue:", "interlock_queue_expiry:", "interlock_queue_lease:"} {
		t.Run("a string at "+prefix+" is refused, and nothing is written", func(t *testing.T) {
			t.Parallel()
			a := permit(t, ann, "a", 1)
			granted(t, e, a)
			s.Must("DEL", relatedKey(t, prefix))
			s.Must("SET", relatedKey(t, prefix), "v", "PX", "60000")
			if _, err := e.Acquire(context.Background(), queued(permit(t, bob, "b", 1), time.Minute)); !errors.Is(err, engine.ErrKind) {
				t.Errorf("acquire: %v, want %v", err, engine.ErrKind)
			}
			if _, err := e.Release(context.Background(), a); err != nil && !errors.Is(err, engine.ErrKind) {
				t.Errorf("release: %v, want nil or %v", err, engine.ErrKind)
			} else if held := s.Must("EXISTS", a.Key) == "1"; held != (err != nil) {
				t.Errorf("after a release with the error %v: held = %v, want %v", err, held, err != nil)
			}
		})
	}
}
