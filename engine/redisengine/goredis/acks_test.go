package goredis_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// A grant that too few replicas acknowledge is undone, on one server and in a cluster.
func TestAcks(t *testing.T) {
	t.Parallel()
	acks := []redisengine.Option{redisengine.Acknowledge(redisengine.AllAcks), redisengine.AckTimeout(200 * time.Millisecond)}

	t.Run("on one server", func(t *testing.T) {
		t.Parallel()
		primary := redistest.Start(t, "--repl-diskless-sync-delay", "0")
		replica := redistest.Start(t)
		_, port, err := net.SplitHostPort(primary.Addr())
		if err != nil {
			t.Fatal(err)
		}
		replica.Must("REPLICAOF", "127.0.0.1", port)
		e, _ := open(t, &redis.Options{Addr: primary.Addr()}, acks...)
		checkAcks(t, e, primary, replica)
	})

	t.Run("in a cluster", func(t *testing.T) {
		t.Parallel()
		c := redistest.StartCluster(t, "--cluster-node-timeout", "60000")
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
		e := goredis.New(client, acks...)
		t.Cleanup(func() {
			_ = e.Close()
			_ = client.Close()
		})
		home := c.Home(request(t, "a").Key)
		checkAcks(t, e, home, c.ReplicaOf(home))
	})
}

// checkAcks checks that a lock is granted while there is a replica, and not afterwards.
func checkAcks(t *testing.T, e *redisengine.Engine, primary, replica *redistest.Server) {
	t.Helper()
	r := request(t, "a")
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) { // until the replica is connected
		_, err := e.Acquire(context.Background(), r)
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	released(t, e, r)
	replica.Kill()
	if _, err := e.Acquire(context.Background(), r); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("acquire without a replica: %v, want %v", err, engine.ErrUnavailable)
	}
	if primary.Must("EXISTS", r.Key) != "0" {
		t.Error("the grant without an acknowledgement was not undone")
	}
}
