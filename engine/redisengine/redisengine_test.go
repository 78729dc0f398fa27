package redisengine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/redistest"
)

func open(t testing.TB, s *redistest.Server, opts ...redisengine.Option) *redisengine.Engine {
	t.Helper()
	e, err := redisengine.Open(t.Context(), s.URL(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func TestQuick(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	r := engine.Request{Key: "k", Holder: "h:1", Attempt: "a", Lease: 3 * time.Second}
	g, err := e.Acquire(t.Context(), r)
	t.Log(g, err)
	g, err = e.Acquire(t.Context(), r)
	t.Log(g, err)
	t.Log(s.Must("HGETALL", "k"))
	r2 := r
	r2.Holder, r2.Attempt = "h:2", "b"
	_, err = e.Acquire(t.Context(), r2)
	var busy *engine.BusyError
	t.Log(errors.As(err, &busy), err)
	t.Log(e.Renew(context.Background(), []engine.Request{r, r2}))
	wake, stop := e.Capabilities().Notifier.Notify("k")
	<-wake
	t.Log(e.Release(context.Background(), r2))
	t.Log(e.Release(context.Background(), r))
	<-wake
	stop()
	t.Log(e.Release(context.Background(), r))
	t.Log(e.Abandon(context.Background(), r))
	r.Retry = true
	_, err = e.Acquire(t.Context(), r)
	t.Log(err)
	r2.Fenced = true
	r2.Room = 8
	t.Log(e.Acquire(t.Context(), r2))
	t.Log(s.Must("KEYS", "*"))
}
