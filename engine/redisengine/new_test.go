package redisengine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/rueidis"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func TestNew(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	e := redisengine.New(client)
	r := request(t, ann, "a")
	wake, stop := e.Capabilities().Notifier.Notify(r)
	defer stop()
	awaitWake(t, wake)
	granted(t, e, r)
	renewed(t, e, r, nil)
	released(t, e, r, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
	awaitWake(t, wake)
	if err := e.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := e.Acquire(context.Background(), r); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("after Close: %v, want %v", err, engine.ErrClosed)
	}
	if err := client.Do(context.Background(), client.B().Ping().Build()).Error(); err != nil {
		t.Errorf("the client was closed, too: %v", err)
	}
}

func TestNewOnACluster(t *testing.T) {
	t.Parallel()
	node := redistest.StartNode(t)
	eventually(t, "the cluster is up", func() bool {
		_, err := node.Do("SET", "k", "v")
		return err == nil
	})
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{node.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	e := redisengine.New(client)
	defer e.Close()
	wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: key(t)})
	defer stop()
	awaitWake(t, wake)
	r := request(t, ann, "a")
	granted(t, e, r)
	released(t, e, r, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
	awaitWake(t, wake)
}
