package redisengine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func TestALazyEngine(t *testing.T) {
	t.Parallel()

	t.Run("opens before its server starts", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Kill()
		e := openURL(t, s.URL()+"?lazy=true")
		wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: key(t)})
		defer stop()
		r := request(t, ann, "a")
		refused(t, e, r, engine.ErrUnavailable)
		s.Restart()
		eventually(t, "the lock is granted", func() bool {
			_, err := e.Acquire(context.Background(), r)
			return err == nil
		})
		awaitWake(t, wake)
	})

	t.Run("opens before its cluster starts", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartNode(t, "--cluster-config-file", "kept.conf")
		s.Kill()
		e := openURL(t, "redis+cluster://"+s.Addr(), redisengine.Lazy())
		wake, stop := e.Notify(request(t, bob, "b"))
		defer stop()
		refused(t, e, request(t, ann, "a"), engine.ErrUnavailable)
		if _, _, err := e.List(context.Background(), "*", ""); err == nil {
			t.Error("List succeeded without a server")
		}
		s.Restart()
		eventually(t, "the lock is granted and listed", func() bool {
			_, err := e.Acquire(context.Background(), request(t, ann, "a"))
			locks, _, errList := e.List(context.Background(), "*", "")
			return err == nil && errList == nil && len(locks) == 1
		})
		awaitWake(t, wake) // a new subscription also wakes: a release may have been missed
		released(t, e, request(t, ann, "a"), engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
		awaitWake(t, wake)
	})

	t.Run("uses SPUBLISH from the first release on, if its cluster supports it", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartNode(t, "--cluster-config-file", "kept.conf")
		eager := openURL(t, "redis+cluster://"+s.Addr())
		s.Kill()
		e := openURL(t, "redis+cluster://"+s.Addr(), redisengine.Lazy())
		s.Restart()
		r := request(t, ann, "a")
		eventually(t, "the cluster is up", func() bool {
			_, err := eager.Acquire(context.Background(), r)
			return err == nil
		})
		wake := listen(t, eager, r.Key)
		eventually(t, "the lock is released", func() bool {
			result, err := e.Release(context.Background(), r)
			if err != nil && !errors.Is(err, engine.ErrUnavailable) {
				t.Fatal(err)
			}
			return err == nil && result.Listeners == 1
		})
		awaitWake(t, wake)
	})

	t.Run("refuses an unusable server", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Must("CONFIG", "SET", "requirepass", "x")
		if _, err := redisengine.Open(context.Background(), s.URL()+"?lazy=true"); err == nil {
			t.Error("Open succeeded without a password")
		}
	})

	t.Run("closes without ever connecting", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Kill()
		e := openURL(t, s.URL(), redisengine.Lazy())
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		refused(t, e, request(t, ann, "a"), engine.ErrClosed)
	})
}
