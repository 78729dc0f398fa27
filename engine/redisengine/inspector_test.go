package redisengine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// listed returns the listed keys, sorted and without duplicates.
func listed(t testing.TB, e *redisengine.Engine, pattern string) (keys []string) {
	t.Helper()
	for cursor := ""; ; {
		locks, next, err := e.List(context.Background(), pattern, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range locks {
			keys = append(keys, l.Key)
		}
		if cursor = next; cursor == "" {
			slices.Sort(keys)
			return slices.Compact(keys)
		}
	}
}

func inspected(t testing.TB, e *redisengine.Engine, key string) engine.Lock {
	t.Helper()
	l, err := e.Inspect(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func forceReleased(t testing.TB, e *redisengine.Engine, key string) engine.Lock {
	t.Helper()
	l, err := e.ForceRelease(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestList(t *testing.T) {
	t.Parallel()

	t.Run("locks are listed, and no other data", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := open(t, s)
		for _, k := range []engine.Kind{engine.Exclusive, engine.Fair, engine.Read, engine.Write, engine.Permit} {
			r := fenced(requestKind(t, k, ann, "a"), 0)
			r.Key = k.String()
			granted(t, e, r)
			r.Holder, r.Attempt = bob, "b"
			if k == engine.Read {
				r.Kind = engine.Write
			}
			busy(t, e, queued(r, time.Minute))
		}
		countedDown(t, e, requestKind(t, engine.Latch, ann, "a"), 0)
		s.Must("SET", "a string", "v")
		s.Must("HSET", "a hash", "name", "Ann")
		s.Must("HSET", "a cart", ann, "1", bob, "2")
		s.Must("HSET", "a form", ann, "1", "name", "Ann")
		s.Must("ZADD", "a set", "1", "x")
		s.Must("ZADD", "a set that stays", "9e15", ann+"/a")
		s.Must("HSET", "a{b", ann, "1")
		if err := e.Register(context.Background(), engine.Member{ID: "c", Since: time.Now()}, time.Minute); err != nil {
			t.Fatal(err)
		}
		forceReleased(t, e, "write")
		if got, want := listed(t, e, "*"), []string{"exclusive", "fair", "permit", "read"}; !slices.Equal(got, want) {
			t.Errorf("the list has %q, want %q", got, want)
		}
		for name := range strings.SplitSeq(s.Must("KEYS", "*{*"), "\n") {
			if _, err := e.Inspect(context.Background(), name); !errors.Is(err, engine.ErrKind) && !strings.Contains(fmt.Sprint(err), "braces") {
				t.Errorf("inspect %s, which only belongs to a lock: %v, want %v", name, err, engine.ErrKind)
			}
		}
	})

	t.Run("listed keys do not have the prefix, which is not a pattern", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e, otherEngine := open(t, s, redisengine.Prefix(`s[h]*\:`)), open(t, s)
		granted(t, e, engine.Request{Key: "order", Holder: ann, Attempt: "a", Lease: time.Minute})
		granted(t, otherEngine, engine.Request{Key: `sh\:order`, Holder: ann, Attempt: "a", Lease: time.Minute})
		granted(t, otherEngine, engine.Request{Key: `shxx:order`, Holder: ann, Attempt: "a", Lease: time.Minute})
		if got := listed(t, e, "*"); !slices.Equal(got, []string{"order"}) {
			t.Errorf("the list has %q, want only order", got)
		}
		if l := inspected(t, e, "order"); l.Key != "order" || len(l.Holders) != 1 {
			t.Errorf("inspect: %+v, want order with 1 holder", l)
		}
		if l := forceReleased(t, e, "order"); l.Key != "order" || s.Must("EXISTS", `s[h]*\:order`) != "0" {
			t.Errorf("force release: %+v, want order deleted", l)
		}
	})

	t.Run("patterns match what Redis matches", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := open(t, s)
		names := []string{"a", "ab", "a*", "a?", "a[b]", "a[", "a]", `a\`, `a\b`, "a^b", "a-z", "[a-z]", "[^b]", "订单"}
		for _, name := range names {
			granted(t, e, engine.Request{Key: name, Holder: ann, Attempt: "a", Lease: time.Minute})
		}
		for _, pattern := range []string{
			"*", "a*", "a?", `a\*`, `a\?`, "a[b]", "[a-z]", "[^b]", `a\[b]`, `a\`, `a\\`, `a\\b`, `\a`, "a]", "a[", "a^b", "?*", "订?????", "**", "*b*",
		} {
			var want []string
			for _, name := range names {
				if engine.Match(pattern, name) {
					want = append(want, name)
				}
			}
			slices.Sort(want)
			if got := listed(t, e, pattern); !slices.Equal(got, want) {
				t.Errorf("%q lists %q, want %q", pattern, got, want)
			}
		}
	})

	t.Run("an invalid cursor is an error", func(t *testing.T) {
		t.Parallel()
		_, _, err := open(t, redistest.Start(t)).List(context.Background(), "*", "x")
		wantError(t, err, nil, "cursor")
	})
}

func TestInspect(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	t.Run("Java's holders and waiters are reported, without a fence", func(t *testing.T) {
		t.Parallel()
		s.Must("EVAL", redissonLock, "1", key(t), "30000", java)
		s.Must("RPUSH", relatedKey(t, "redisson_lock_queue:"), ann)
		s.Must("ZADD", relatedKey(t, "redisson_lock_timeout:"), fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()), ann)
		l := inspected(t, e, key(t))
		if len(l.Holders) != 1 || l.Holders[0].Name != java || l.Holders[0].Fence != 0 || l.Holders[0].Count != 1 {
			t.Errorf("the holders are %+v, want Java without a fence", l.Holders)
		}
		if l.Kind != engine.Fair || len(l.Waiters) != 1 || l.Waiters[0].Name != ann || l.Waiters[0].Left < 50*time.Second {
			t.Errorf("the %s lock has waiters %+v, want a fair lock with one", l.Kind, l.Waiters)
		}
	})

	t.Run("Java's readers and writers are reported", func(t *testing.T) {
		t.Parallel()
		s.Must("EVAL", redissonRead, "2", key(t), relatedKey(t, "")+":"+java+":rwlock_timeout", "30000", java, java+":write")
		if l := inspected(t, e, key(t)); l.Kind != engine.Read || len(l.Holders) != 1 || l.Holders[0].Name != java || l.Holders[0].Left < 20*time.Second {
			t.Errorf("inspect: %+v, want Java as the only reader", l)
		}
		if l := forceReleased(t, e, key(t)); len(l.Holders) != 1 {
			t.Errorf("force release: %+v, want 1 holder", l)
		}
		wantKeys(t, s)
		s.Must("EVAL", redissonWrite, "1", key(t), "30000", java+":write")
		if l := inspected(t, e, key(t)); l.Kind != engine.Write || len(l.Holders) != 1 || l.Holders[0].Name != java {
			t.Errorf("inspect: %+v, want Java as the writer", l)
		}
	})

	t.Run("a lock without an expiry is reported as such", func(t *testing.T) {
		t.Parallel()
		s.Must("HSET", key(t), java, "1")
		if l := inspected(t, e, key(t)); len(l.Holders) != 1 || l.Holders[0].Left != 0 {
			t.Errorf("inspect: %+v, want 1 holder with 0 left", l)
		}
	})

	t.Run("a thousand waiters are reported in order", func(t *testing.T) {
		t.Parallel()
		granted(t, e, fair(t, ann, "a"))
		s.Must("EVAL", `
for i = 1, 1200 do
  local name = string.format('50e00000-0000-4000-8000-%012d:1', i)
  redis.call('RPUSH', KEYS[1], name)
  redis.call('ZADD', KEYS[2], ARGV[1], name)
end`, "2", relatedKey(t, "redisson_lock_queue:"), relatedKey(t, "redisson_lock_timeout:"), fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
		l := inspected(t, e, key(t))
		if len(l.Waiters) != 1000 {
			t.Fatalf("inspect reports %d waiters, want the first 1000", len(l.Waiters))
		}
		for i, w := range l.Waiters {
			if want := fmt.Sprintf("50e00000-0000-4000-8000-%012d:1", i+1); w.Name != want {
				t.Fatalf("waiter %d is %s, want %s", i, w.Name, want)
			}
		}
	})

	t.Run("a hash that is too large is not taken for a lock", func(t *testing.T) {
		t.Parallel()
		s.Must("EVAL", "for i = 1, 11000 do redis.call('HSET', KEYS[1], 'fence:' .. i, i) end", "1", key(t))
		if _, err := e.Inspect(context.Background(), key(t)); !errors.Is(err, engine.ErrKind) {
			t.Errorf("Inspect: err = %v, want %v", err, engine.ErrKind)
		}
	})

	t.Run("subscribers are counted for PUBLISH and SPUBLISH", func(t *testing.T) {
		t.Parallel()
		redistest.Needs7(t)
		for _, m := range []redisengine.PublishMode{redisengine.Plain, redisengine.Sharded} {
			e := open(t, s, redisengine.Publish(m))
			wake, stop := e.Notify(request(t, bob, "b"))
			defer stop()
			awaitWake(t, wake)
			if l := inspected(t, e, key(t)); l.Listeners != 1 {
				t.Errorf("%s: %d listeners, want 1", m, l.Listeners)
			}
		}
	})

	t.Run("an invalid name is refused", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"", "a{b"} {
			if _, err := e.Inspect(context.Background(), name); err == nil {
				t.Errorf("Inspect accepts the invalid name %q", name)
			}
			if _, err := e.ForceRelease(context.Background(), name); err == nil {
				t.Errorf("ForceRelease accepts the invalid name %q", name)
			}
		}
	})
}

func TestForceRelease(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	t.Run("a forced release leaves only the set of revoked attempts", func(t *testing.T) {
		t.Parallel()
		granted(t, e, reading(t, ann, "a"))
		granted(t, e, reading(t, ann, "b"))
		granted(t, e, reading(t, bob, "b"))
		forceReleased(t, e, key(t))
		wantKeys(t, s, "interlock_revoked:{$}")
		wantTTL(t, s, relatedKey(t, "interlock_revoked:"), 2*time.Minute)
		got := strings.Split(s.Must("SMEMBERS", relatedKey(t, "interlock_revoked:")), "\n")
		slices.Sort(got)
		if want := []string{ann + "/a", ann + "/b", bob + "/b"}; !slices.Equal(got, want) {
			t.Errorf("the revoked attempts are %q, want %q", got, want)
		}
		r := lasting(permit(t, ann, "p", 1), time.Hour)
		granted(t, e, r)
		forceReleased(t, e, key(t))
		wantKeys(t, s, "interlock_revoked:{$}")
		wantTTL(t, s, relatedKey(t, "interlock_revoked:"), 3*time.Hour)
		renewed(t, e, r, engine.ErrRevoked)
		renewed(t, e, reading(t, ann, "b"), engine.ErrRevoked)
		renewed(t, e, reading(t, ann, "c"), engine.ErrNotHolder)
	})

	t.Run("all waiters of a read/write lock are notified, also those of Redisson that do not sleep yet", func(t *testing.T) {
		t.Parallel()
		for _, r := range []engine.Request{reading(t, ann, "a"), writing(t, ann, "b")} {
			granted(t, e, r)
			message := s.Subscribe("SUBSCRIBE", relatedKey(t, "redisson_rwlock:"))
			forceReleased(t, e, key(t))
			if got := message() + message(); got != "10" {
				t.Errorf("the messages are %q, want 1 for all that sleep and 0 for one that does not", got)
			}
		}
	})

	t.Run("all waiters of an exclusive lock are notified, and the first of the queue", func(t *testing.T) {
		t.Parallel()
		all, first := s.Subscribe("SUBSCRIBE", channelOf(key(t))), s.Subscribe("SUBSCRIBE", channelOf(key(t))+":"+bob)
		granted(t, e, request(t, ann, "a"))
		busy(t, e, queued(fair(t, bob, "b"), time.Minute))
		forceReleased(t, e, key(t))
		if a, f := all(), first(); a != "0" || f != "0" {
			t.Errorf("the messages are %q to all and %q to the first waiter, want 0", a, f)
		}
	})

	t.Run("the queue of a free lock is removed, and all its waiters are notified", func(t *testing.T) {
		t.Parallel()
		for _, k := range otherKinds {
			a, b, c := requestKind(t, k, ann, "a"), queued(requestKind(t, k, bob, "b"), time.Minute), queued(requestKind(t, k, cat, "c"), time.Minute)
			if k == engine.Read {
				b.Kind = engine.Write
			}
			granted(t, e, a)
			busy(t, e, b)
			busy(t, e, c)
			if p, err := e.Release(context.Background(), a); err != nil || p.Outcome != engine.Released {
				t.Errorf("release %s: %+v, %v; want %v", k, p, err, engine.Released)
			}
			all, one, two := relatedKey(t, "redisson_rwlock:"), "", ""
			switch k {
			case engine.Fair:
				all = channelOf(a.Key)
				one, two = all+":"+bob, all+":"+cat
			case engine.Permit:
				all = relatedKey(t, "interlock_semaphore:")
				one, two = all+":"+bob+"/b", all+":"+cat+"/c"
			}
			messages := []func() string{s.Subscribe("SUBSCRIBE", all)}
			if one != "" {
				messages = append(messages, s.Subscribe("SUBSCRIBE", one), s.Subscribe("SUBSCRIBE", two))
			}
			if l := forceReleased(t, e, a.Key); len(l.Holders) != 0 || len(l.Waiters) != 2 {
				t.Errorf("%s: force release: %+v, want no holder and 2 waiters", k, l)
			}
			for _, next := range messages {
				if got := next(); got != "0" && got != "1" {
					t.Errorf("%s: the message is %q, want 0 or 1", k, got)
				}
			}
			wantKeys(t, s)
		}
	})

	t.Run("the client of an attempt is notified, whatever the holder's name", func(t *testing.T) {
		t.Parallel()
		clientID, named := "11111111-0000-4000-8000-000000000001", "22222222-0000-4000-8000-000000000002"
		for _, k := range []engine.Kind{engine.Exclusive, engine.Read, engine.Permit} {
			r := requestKind(t, k, named+":0", clientID+":17")
			r.Key += k.String()
			clientMessages := s.Subscribe("SUBSCRIBE", "interlock_client:"+clientID)
			ownerMessages := s.Subscribe("SUBSCRIBE", "interlock_client:"+named)
			granted(t, e, r)
			forceReleased(t, e, r.Key)
			if a, b := clientMessages(), ownerMessages(); a != "0" || b != "0" {
				t.Errorf("%s: the messages are %q to the attempt's client and %q to the holder's, want 0", k, a, b)
			}
		}
	})

	t.Run("a forced release is published with the chosen command", func(t *testing.T) {
		t.Parallel()
		redistest.Needs7(t)
		e := open(t, s, redisengine.Publish(redisengine.Sharded))
		id, _, _ := strings.Cut(ann, ":")
		wake, stop := e.Watch(id)
		defer stop()
		awaitWake(t, wake)
		granted(t, e, request(t, ann, "a"))
		forceReleased(t, e, key(t))
		awaitWake(t, wake)
	})

	t.Run("a user who may not publish releases nothing, and the error says why", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Must("ACL", "SETUSER", "shop", "on", ">pw", "~*", "+@all", "resetchannels")
		e := openURL(t, "redis://shop:pw@"+s.Addr())
		r := request(t, ann, "a")
		granted(t, e, r)
		_, err := e.ForceRelease(context.Background(), r.Key)
		wantError(t, err, nil, "docs/redis.md")
		renewed(t, e, r, nil)
		wantKeys(t, s, "$")
	})

	t.Run("a string at the key of revoked attempts prevents a forced release", func(t *testing.T) {
		t.Parallel()
		s.Must("SET", relatedKey(t, "interlock_revoked:"), "v", "PX", "60000")
		r := request(t, ann, "a")
		renewed(t, e, r, engine.ErrNotHolder)
		granted(t, e, r)
		if _, err := e.ForceRelease(context.Background(), r.Key); !errors.Is(err, engine.ErrKind) {
			t.Errorf("force release: %v, want %v", err, engine.ErrKind)
		}
		renewed(t, e, r, nil)
	})
}

func TestMemberFormat(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	m := engine.Member{ID: "id", Name: "shop", Host: "h", PID: 7, Since: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)}
	if err := e.Register(context.Background(), m, time.Minute); err != nil {
		t.Fatal(err)
	}
	wantHash(t, s, "interlock_client:id", map[string]string{"name": "shop", "host": "h", "pid": "7", "since": "2026-01-02T03:04:05.000006Z"})
	wantTTL(t, s, "interlock_client:id", time.Minute)
	s.Must("SET", "interlock_client:string", "v")
	s.Must("HSET", "interlock_client:hash", "name", "x")
	ids := []string{"string", "hash", "", "id"}
	for i := range 300 {
		ids = append(ids, fmt.Sprint(i))
	}
	if got, err := e.Members(context.Background(), ids); err != nil || len(got) != 1 || got[0] != m {
		t.Errorf("Members = %+v, %v; want %+v", got, err, m)
	}
	for _, bad := range []engine.Member{{}, {ID: "x"}} {
		wantError(t, e.Register(context.Background(), bad, 0), nil, "life")
	}
}

func TestALockNamedLikeThePrefixIsNotListed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	plain, shop := open(t, s), open(t, s, redisengine.Prefix("shop:"))
	for _, k := range []string{"shop:", "shop:1"} {
		r := request(t, ann, "a")
		r.Key = k
		granted(t, plain, r)
	}
	if got := listed(t, shop, "*"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("the list has %q, want only the lock with a name after the prefix", got)
	}
}
