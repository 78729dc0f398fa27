package redisengine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func countedDown(t testing.TB, e *redisengine.Engine, r engine.Request, want int) {
	t.Helper()
	if left, err := e.CountDown(context.Background(), r); err != nil || left != want {
		t.Errorf("CountDown = %d, %v; want %d", left, err, want)
	}
}

func TestLatchFormat(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	t.Run("a latch is a hash of its counts, and publishes 0 when it opens", func(t *testing.T) {
		t.Parallel()
		a, b := requestKind(t, engine.Latch, ann, "a"), requestKind(t, engine.Latch, bob, "a")
		a.Limit, b.Limit = 2, 2
		opened := s.Subscribe("SUBSCRIBE", relatedKey(t, "interlock_latch:"))
		countedDown(t, e, a, 1)
		countedDown(t, e, a, 1)
		wantHash(t, s, a.Key, map[string]string{"mode": "latch", "total": "2", "counted:" + ann + "/a": "1"})
		wantTTL(t, s, a.Key, a.Lease)
		countedDown(t, e, lasting(b, time.Minute), 0)
		if got := opened(); got != "0" {
			t.Errorf("the message is %q, want 0", got)
		}
		wantTTL(t, s, a.Key, time.Minute)
		c := requestKind(t, engine.Latch, cat, "c")
		countedDown(t, e, c, 0)
		wantHash(t, s, a.Key, map[string]string{"mode": "latch", "total": "2", "counted:" + ann + "/a": "1", "counted:" + bob + "/a": "1"})
		wantTTL(t, s, a.Key, time.Minute)
		wantKeys(t, s, "$")
	})

	t.Run("CountDown without an attempt counts nothing, and creates a latch that expires", func(t *testing.T) {
		t.Parallel()
		countedDown(t, e, requestKind(t, engine.Latch, "", ""), 1)
		wantHash(t, s, key(t), map[string]string{"mode": "latch", "total": "1"})
		wantKeys(t, s, "$")
	})

	t.Run("a latch can be counted down but not held", func(t *testing.T) {
		t.Parallel()
		r := requestKind(t, engine.Latch, ann, "a")
		_, err := e.Acquire(context.Background(), r)
		wantError(t, err, nil, "CountDown")
		_, err = e.Release(context.Background(), r)
		wantError(t, err, nil, "CountDown")
		r.Limit = 0
		_, err = e.CountDown(context.Background(), r)
		wantError(t, err, nil, "Limit")
		if _, err = e.CountDown(context.Background(), engine.Request{Limit: 1, Lease: time.Second}); err == nil {
			t.Error("CountDown accepts a latch without a key")
		}
	})

	t.Run("a user who may not publish leaves the latch closed, and the error says why", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Must("ACL", "SETUSER", "shop", "on", ">pw", "~*", "+@all", "resetchannels")
		e := openURL(t, "redis://shop:pw@"+s.Addr())
		r := requestKind(t, engine.Latch, ann, "a")
		_, err := e.CountDown(context.Background(), r)
		wantError(t, err, nil, "docs/redis.md")
		if s.Must("EXISTS", r.Key) != "0" {
			t.Error("a refused count changed the latch")
		}
	})
}

func TestEveryKindRefusesOtherData(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	for name, fill := range map[string][]string{
		"a string":                       {"SET", "", "v"},
		"a list":                         {"RPUSH", "", "v"},
		"a set":                          {"SADD", "", ann},
		"a stream":                       {"XADD", "", "*", "a", "b"},
		"a sorted set without an expiry": {"ZADD", "", "1", ann + "/a"},
		"a sorted set of other things":   {"ZADD", "", "1", "order/42"},
		"a hash of texts":                {"HSET", "", "name", "Ann"},
		"a hash with a mode of its own":  {"HSET", "", "mode", "dark", java, "1"},
		"a hash with a mode and texts":   {"HSET", "", "mode", "read", "name", "Ann"},
		"a hash with a mode and a fence without #": {"HSET", "", "mode", "write", "fence:" + ann, "17"},
	} {
		for _, k := range []engine.Kind{engine.Exclusive, engine.Fair, engine.Read, engine.Write, engine.Permit, engine.Latch} {
			t.Run(name+" is not a "+k.String()+" lock", func(t *testing.T) {
				t.Parallel()
				r := requestKind(t, k, ann, "a")
				fill := append([]string(nil), fill...)
				fill[1] = r.Key
				s.Must(fill...)
				if fill[2] == "1" && fill[3] == "order/42" {
					s.Must("PEXPIRE", r.Key, "60000")
				}
				before := s.Must("DUMP", r.Key)
				if k == engine.Latch {
					if _, err := e.CountDown(context.Background(), r); !errors.Is(err, engine.ErrKind) {
						t.Errorf("CountDown: err = %v, want %v", err, engine.ErrKind)
					}
				} else {
					refused(t, e, r, engine.ErrKind)
					refused(t, e, queued(fenced(retry(r), 1), time.Minute), engine.ErrKind)
					renewed(t, e, r, engine.ErrNotHolder)
				}
				if _, err := e.Inspect(context.Background(), r.Key); !errors.Is(err, engine.ErrKind) {
					t.Errorf("inspect: %v, want %v", err, engine.ErrKind)
				}
				if _, err := e.ForceRelease(context.Background(), r.Key); !errors.Is(err, engine.ErrKind) {
					t.Errorf("force release: %v, want %v", err, engine.ErrKind)
				}
				if s.Must("DUMP", r.Key) != before {
					t.Error("the other data was changed")
				}
				if k != engine.Latch && k != engine.Permit {
					if p, err := e.Release(context.Background(), r); err == nil && p.Outcome != engine.NotYours {
						t.Errorf("release: %v, want %v", p.Outcome, engine.NotYours)
					}
				}
				if s.Must("DUMP", r.Key) != before {
					t.Error("a release changed the other data")
				}
			})
		}
	}
}
