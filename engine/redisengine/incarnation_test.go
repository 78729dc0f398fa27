package redisengine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// Requirement T11: a quorum needs the incarnation and the fences of its nodes.
func TestIncarnation(t *testing.T) {
	t.Parallel()
	t.Run("a restart is another incarnation, and another connection", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := open(t, s)
		before, connections := incarnation(t, e), e.Connections()
		s.Restart()
		var after engine.Incarnation
		eventually(t, "the server answers", func() (ok bool) {
			var err error
			after, err = e.Incarnation(context.Background())
			return err == nil
		})
		if after.ID == before.ID || after.Age > 10*time.Second {
			t.Errorf("the incarnation after the restart is %+v, want another than %+v, and a low age", after, before)
		}
		if n := e.Connections(); connections == 0 || n <= connections {
			t.Errorf("%d connections after the restart, want more than %d", n, connections)
		}
	})
	t.Run("an incarnation that syncs every write survives a restart", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
		e, r := open(t, s), request(t, ann, "a")
		before := incarnation(t, e)
		granted(t, e, r)
		s.Restart()
		eventually(t, "the server answers", func() bool { return e.Renew(context.Background(), []engine.Request{r})[0] == nil })
		if after := incarnation(t, e); after != before || after.Age < 1000*time.Hour {
			t.Errorf("the incarnation after the restart is %+v, want %+v", after, before)
		}
	})
	t.Run("an incarnation that syncs every second does not survive a restart", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "everysec")
		if m := incarnation(t, open(t, s)); m.Age > 10*time.Second || m.ID == "" {
			t.Errorf("the incarnation is %+v, want an ID and a low age", m)
		}
	})
}

func TestRaiseFenceScript(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	t.Run("a raise changes the fence and its counter, which expires", func(t *testing.T) {
		t.Parallel()
		r := fenced(request(t, ann, "a"), 8)
		g := granted(t, e, r)
		raised(t, e, r, g.Fence+1000)
		wantHash(t, s, r.Key, map[string]string{ann: "1", "fence:a": fmt.Sprint(g.Fence + 1000)})
		counter := "redisson_lock_token:{" + r.Key + "}"
		if n := number(t, s, "GET", counter); uint64(n) != g.Fence+1008 {
			t.Errorf("the counter is %d, want %d", n, g.Fence+1008)
		}
		wantTTL(t, s, counter, time.Minute)
	})
	t.Run("a higher counter is not lowered", func(t *testing.T) {
		t.Parallel()
		r := fenced(request(t, ann, "a"), 8)
		g := granted(t, e, r)
		counter := "redisson_lock_token:{" + r.Key + "}"
		s.Must("SET", counter, fmt.Sprint(g.Fence+5000))
		raised(t, e, r, g.Fence+1000)
		if n := number(t, s, "GET", counter); uint64(n) != g.Fence+5000 {
			t.Errorf("the counter is %d, want %d", n, g.Fence+5000)
		}
	})
}

func incarnation(t testing.TB, e *redisengine.Engine) engine.Incarnation {
	t.Helper()
	m, err := e.Incarnation(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func raised(t testing.TB, e *redisengine.Engine, r engine.Request, fence uint64) {
	t.Helper()
	if err := e.Raise(context.Background(), r, fence); err != nil {
		t.Fatal(err)
	}
}
