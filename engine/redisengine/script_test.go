package redisengine_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// These tests check what each branch of the scripts stores on the server, which the laws
// cannot see.

func TestAcquireScript(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	t.Run("a free lock is a hash of holder and fence, with an expiry", func(t *testing.T) {
		t.Parallel()
		r := request(t, ann, "a")
		g := granted(t, e, r)
		wantHash(t, s, r.Key, map[string]string{ann: "1", "fence:a": fmt.Sprint(g.Fence)})
		wantTTL(t, s, r.Key, r.Lease)
		if n := s.Must("EXISTS", "redisson_lock_token:{"+r.Key+"}"); n != "0" {
			t.Error("a plain fence has a counter")
		}
	})

	t.Run("a plain fence is the server's time in microseconds", func(t *testing.T) {
		t.Parallel()
		g := granted(t, e, request(t, ann, "a"))
		if d := time.Since(time.UnixMicro(int64(g.Fence))); d < -time.Second || d > time.Minute {
			t.Errorf("the fence %d is from %v ago, want about now", g.Fence, d)
		}
	})

	t.Run("a late call is reported and changes nothing", func(t *testing.T) {
		t.Parallel()
		got := s.Must("EVAL", scriptText(t, "clock", "acquire_common", "exclusive", "acquire"), "1", key(t), ann, "a", "30000", "1", "0", "0", "-")
		if code, now := got[:2], got[2:]; code != "2\n" || len(now) != 16 {
			t.Errorf("acquire.lua returns %q, want 2 and the time", got)
		}
		if s.Must("EXISTS", key(t)) != "0" {
			t.Error("the late call acquired the lock")
		}
	})

	t.Run("a refusal reports the holder and the time left, and writes nothing", func(t *testing.T) {
		t.Parallel()
		a := request(t, ann, "a")
		g := granted(t, e, a)
		b := busy(t, e, fenced(request(t, bob, "b"), 8))
		if b.Holder != ann || b.Left > a.Lease || b.Left < a.Lease/2 {
			t.Errorf("refusal = %v, want ann and her lease", b)
		}
		wantHash(t, s, a.Key, map[string]string{ann: "1", "fence:a": fmt.Sprint(g.Fence)})
		if s.Must("EXISTS", "redisson_lock_token:{"+a.Key+"}") != "0" {
			t.Error("a refusal created a fence counter")
		}
	})

	t.Run("a repeated attempt gets the answer of the first, and restarts the lease", func(t *testing.T) {
		t.Parallel()
		a := request(t, ann, "a")
		first := granted(t, e, lasting(a, 5*time.Second))
		if again := granted(t, e, a); again != first {
			t.Errorf("the repeated attempt got %+v, want %+v as before", again, first)
		}
		wantTTL(t, s, a.Key, a.Lease)
		granted(t, e, lasting(a, time.Second))
		wantTTL(t, s, a.Key, a.Lease)
	})

	t.Run("a holder with another attempt is counted and keeps the fence", func(t *testing.T) {
		t.Parallel()
		a, b := fenced(request(t, ann, "a"), 0), fenced(request(t, ann, "b"), 0)
		first := granted(t, e, a)
		token := s.Must("GET", "redisson_lock_token:{"+a.Key+"}")
		second := granted(t, e, lasting(b, time.Minute))
		if second.Count != 2 || second.Fence != first.Fence {
			t.Errorf("the second attempt got %+v, want count 2 and the fence of %+v", second, first)
		}
		fence := fmt.Sprint(first.Fence)
		wantHash(t, s, a.Key, map[string]string{ann: "2", "fence:a": fence, "fence:b": fence})
		wantTTL(t, s, a.Key, time.Minute)
		if now := s.Must("GET", "redisson_lock_token:{"+a.Key+"}"); now != token {
			t.Errorf("entering again changed the counter from %s to %s", token, now)
		}
	})

	t.Run("a holder without a fence gets one", func(t *testing.T) {
		t.Parallel()
		a := request(t, ann, "a")
		s.Must("HSET", a.Key, ann, "1")
		s.Must("PEXPIRE", a.Key, "30000")
		if g := granted(t, e, a); g.Count != 2 || g.Fence == 0 {
			t.Errorf("grant = %+v, want count 2 and a fence", g)
		}
	})

	t.Run("an owner with very many entries is recognised", func(t *testing.T) {
		t.Parallel()
		const many = 1000 // Redis encodes a small hash differently
		var first engine.Grant
		for i := range many {
			g := granted(t, e, request(t, ann, strconv.Itoa(i)))
			if i == 0 {
				first = g
			}
			if g.Count != i+1 || g.Fence != first.Fence {
				t.Fatalf("entry %d got %+v, want the next count and the fence of %+v", i, g, first)
			}
		}
		busy(t, e, request(t, bob, "b"))
		for i := range many {
			released(t, e, request(t, ann, strconv.Itoa(i)), engine.ReleaseResult{Outcome: engine.Released, Count: many - 1 - i})
		}
	})
}

func TestFenceCounter(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	counter := func(t *testing.T) string { return "redisson_lock_token:{" + key(t) + "}" }

	t.Run("a missing counter starts at the current time", func(t *testing.T) {
		t.Parallel()
		g := granted(t, e, lasting(fenced(request(t, ann, "a"), 7), 5*time.Second))
		if got := number(t, s, "GET", counter(t)); got != int64(g.Fence)+7 {
			t.Errorf("the counter is %d, want %d", got, g.Fence+7)
		}
		wantTTL(t, s, counter(t), time.Minute)
	})

	t.Run("a counter that is behind moves to the current time", func(t *testing.T) {
		t.Parallel()
		s.Must("SET", counter(t), "41") // a value that Redisson has made with INCR
		if g := granted(t, e, fenced(request(t, ann, "a"), 0)); g.Fence < 1e15 {
			t.Errorf("the fence is %d, want the time in µs", g.Fence)
		}
	})

	t.Run("a counter that is ahead of the clock rises by one", func(t *testing.T) {
		t.Parallel()
		const ahead = 9_000_000_000_000_000
		s.Must("SET", counter(t), strconv.Itoa(ahead))
		if g := granted(t, e, fenced(request(t, ann, "a"), 3)); g != (engine.Grant{Fence: ahead + 1, Count: 1}) {
			t.Errorf("grant = %+v, want fence %d", g, int64(ahead+1))
		}
		if got := number(t, s, "GET", counter(t)); got != ahead+4 {
			t.Errorf("the counter is %d, want %d", got, int64(ahead+4))
		}
	})

	t.Run("a counter lasts for two leases if that is more than a minute", func(t *testing.T) {
		t.Parallel()
		granted(t, e, lasting(fenced(request(t, ann, "a"), 0), time.Hour))
		wantTTL(t, s, counter(t), 2*time.Hour)
	})

	t.Run("a counter lasts as long as its lock is renewed", func(t *testing.T) {
		t.Parallel()
		r := fenced(request(t, ann, "a"), 0)
		granted(t, e, r)
		s.Must("PEXPIRE", counter(t), "500")
		renewed(t, e, r, nil)
		wantTTL(t, s, counter(t), time.Minute)
	})

	t.Run("a counter shared with Redisson does not expire", func(t *testing.T) {
		t.Parallel()
		shared := open(t, s, redisengine.Redisson())
		r := fenced(request(t, ann, "a"), 0)
		g := granted(t, shared, r)
		renewed(t, shared, r, nil)
		if ms := number(t, s, "PTTL", counter(t)); ms != -1 {
			t.Errorf("the counter expires in %d ms, want no expiry", ms)
		}
		if next := number(t, s, "INCR", counter(t)); next != int64(g.Fence)+1 {
			t.Errorf("Redisson's next token is %d, want %d", next, g.Fence+1)
		}
	})

	t.Run("a renewal sets no expiry on a counter without one", func(t *testing.T) {
		t.Parallel()
		r := fenced(request(t, ann, "a"), 0)
		granted(t, e, r)
		s.Must("PERSIST", counter(t))
		renewed(t, e, r, nil)
		if ms := number(t, s, "PTTL", counter(t)); ms != -1 {
			t.Errorf("the counter expires in %d ms, want no expiry", ms)
		}
	})
}

func TestOtherKinds(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	for name, fill := range map[string][]string{
		"a string":                      {"SET", "", "v"},
		"a list":                        {"RPUSH", "", "v"},
		"a read lock of Java":           {"HSET", "", "mode", "read", java, "1"},
		"a read lock of Go":             {"HSET", "", "mode", "read", ann, "1", "fence:a", "5"},
		"a hash of texts":               {"HSET", "", "name", "Ann"},
		"a hash without an expiry":      {"HSET", "", "visits", "3"},
		"a hash with a count below one": {"HSET", "", java, "0"},
	} {
		t.Run(name+" cannot be acquired as an exclusive lock", func(t *testing.T) {
			t.Parallel()
			r := request(t, ann, "a")
			fill := append([]string(nil), fill...)
			fill[1] = r.Key
			s.Must(fill...)
			before := s.Must("DUMP", r.Key)
			refused(t, e, r, engine.ErrKind)
			refused(t, e, fenced(retry(r), 1), engine.ErrKind)
			if s.Must("DUMP", r.Key) != before {
				t.Error("a refused call changed the data")
			}
		})
	}

	t.Run("a read/write lock is recognised with any number of readers", func(t *testing.T) {
		t.Parallel()
		r := request(t, ann, "a")
		s.Must("EVAL", "redis.call('HSET', KEYS[1], 'mode', 'read') for i = 1, 1000 do redis.call('HSET', KEYS[1], 'uuid:' .. i, 1) end", "1", r.Key)
		refused(t, e, r, engine.ErrKind)
	})

	t.Run("other data is not renewed, and does not fail other renewals", func(t *testing.T) {
		t.Parallel()
		good, bad := request(t, ann, "a"), request(t, ann, "b")
		bad.Key += " 2"
		granted(t, e, good)
		s.Must("SET", bad.Key, "v")
		errs := e.Renew(context.Background(), []engine.Request{bad, good})
		if !errors.Is(errs[0], engine.ErrNotHolder) || errs[1] != nil {
			t.Errorf("renewals: %v, want %v and nil", errs, engine.ErrNotHolder)
		}
	})

	t.Run("other data is not released", func(t *testing.T) {
		t.Parallel()
		r := request(t, ann, "a")
		s.Must("SET", r.Key, "v")
		if _, err := e.Release(context.Background(), r); !errors.Is(err, engine.ErrKind) {
			t.Errorf("Release: err = %v, want %v", err, engine.ErrKind)
		}
	})

	t.Run("a lock without an expiry is busy for an unknown time", func(t *testing.T) {
		t.Parallel()
		r := request(t, ann, "a")
		s.Must("HSET", r.Key, java, "2")
		if b := busy(t, e, r); b.Holder != java || b.Left != 0 {
			t.Errorf("refusal = %v, want Java with an unknown lease", b)
		}
	})
}

func TestReleaseScript(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	t.Run("a release without a lock reports a free lock", func(t *testing.T) {
		t.Parallel()
		released(t, e, request(t, ann, "a"), engine.ReleaseResult{Outcome: engine.AlreadyFree})
		if s.Must("EXISTS", key(t)) != "0" {
			t.Error("a release created a key")
		}
	})

	t.Run("a release of Java's lock is refused", func(t *testing.T) {
		t.Parallel()
		s.Must("HSET", key(t), java, "1")
		released(t, e, request(t, ann, "a"), engine.ReleaseResult{Outcome: engine.NotYours})
		wantHash(t, s, key(t), map[string]string{java: "1"})
	})

	t.Run("a release of one of two holds leaves the other, and its lease", func(t *testing.T) {
		t.Parallel()
		a, b := request(t, ann, "a"), request(t, ann, "b")
		g := granted(t, e, a)
		granted(t, e, b)
		released(t, e, lasting(a, time.Second), engine.ReleaseResult{Outcome: engine.Released, Count: 1})
		wantHash(t, s, a.Key, map[string]string{ann: "1", "fence:b": fmt.Sprint(g.Fence)})
		wantTTL(t, s, a.Key, a.Lease)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.NotYours})
		released(t, e, b, engine.ReleaseResult{Outcome: engine.Released})
		if s.Must("EXISTS", a.Key) != "0" {
			t.Error("the lock exists after its last release")
		}
	})
}

func TestAbandonScript(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	t.Run("abandoning leaves a tombstone for a lease", func(t *testing.T) {
		t.Parallel()
		r := request(t, ann, "a")
		granted(t, e, r)
		abandoned(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
		stone := "interlock_abandoned:{" + r.Key + "}:" + ann + ":a"
		wantTTL(t, s, stone, r.Lease)
		if s.Must("EXISTS", r.Key) != "0" {
			t.Error("the lock exists after it was abandoned")
		}
		refused(t, e, retry(r), engine.ErrAbandoned)
	})

	t.Run("a tombstone lasts for two timeouts if that is more than a lease", func(t *testing.T) {
		t.Parallel()
		r := lasting(request(t, ann, "a"), time.Second)
		abandoned(t, e, r, engine.ReleaseResult{Outcome: engine.AlreadyFree})
		wantTTL(t, s, "interlock_abandoned:{"+r.Key+"}:"+ann+":a", 2*testTimeout)
	})

	t.Run("abandoning one of two holds leaves the other", func(t *testing.T) {
		t.Parallel()
		a, b := request(t, ann, "a"), request(t, ann, "b")
		g := granted(t, e, a)
		granted(t, e, b)
		abandoned(t, e, a, engine.ReleaseResult{Outcome: engine.Released, Count: 1})
		wantHash(t, s, a.Key, map[string]string{ann: "1", "fence:b": fmt.Sprint(g.Fence)})
		refused(t, e, retry(a), engine.ErrAbandoned)
	})

	t.Run("abandoning does not affect another holder", func(t *testing.T) {
		t.Parallel()
		s.Must("HSET", key(t), java, "1")
		abandoned(t, e, request(t, ann, "a"), engine.ReleaseResult{Outcome: engine.NotYours})
		wantHash(t, s, key(t), map[string]string{java: "1"})
	})
}

func TestRenewScript(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	t.Run("a renewal restarts the lease and never shortens it", func(t *testing.T) {
		t.Parallel()
		r := request(t, ann, "a")
		granted(t, e, lasting(r, 5*time.Second))
		renewed(t, e, r, nil)
		wantTTL(t, s, r.Key, r.Lease)
		renewed(t, e, lasting(r, time.Second), nil)
		wantTTL(t, s, r.Key, r.Lease)
	})

	t.Run("a renewal sets no expiry on a lock without one", func(t *testing.T) {
		t.Parallel()
		r := request(t, ann, "a")
		granted(t, e, r)
		s.Must("PERSIST", r.Key)
		renewed(t, e, r, nil)
		if ms := number(t, s, "PTTL", r.Key); ms != -1 {
			t.Errorf("the lock expires in %d ms, want no expiry", ms)
		}
	})

	t.Run("plain and fenced holds may be mixed in any number", func(t *testing.T) {
		t.Parallel()
		rs := make([]engine.Request, 250)
		for i := range rs {
			rs[i] = request(t, ann, strconv.Itoa(i))
			rs[i].Key += strconv.Itoa(i)
			rs[i].Fenced = i%3 == 0
			if i%7 != 0 {
				granted(t, e, lasting(rs[i], 10*time.Second))
			}
		}
		for i, err := range e.Renew(context.Background(), rs) {
			if held := i%7 != 0; held && err != nil || !held && !errors.Is(err, engine.ErrNotHolder) {
				t.Errorf("renewal %d: %v; want %v for every seventh lock only", i, err, engine.ErrNotHolder)
			}
			if i%7 != 0 {
				wantTTL(t, s, rs[i].Key, rs[i].Lease)
			}
		}
	})
}
