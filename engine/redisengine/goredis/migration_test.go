package goredis_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// A call that waits for replicas follows a slot to its new primary, and returns while the
// slot is being migrated.
func TestAcksOfAMigratingSlot(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	e := goredis.New(client, redisengine.Acknowledge(redisengine.AnyAck))
	t.Cleanup(func() {
		_ = e.Close()
		_ = client.Close()
	})
	lock := func(i int) engine.Request {
		r := request(t, fmt.Sprint(i))
		r.Key = fmt.Sprintf("{%s}:%d", t.Name(), i)
		return r
	}
	tag, to := "{"+t.Name()+"}", c.Servers[0]
	if c.Home(tag) == to {
		to = c.Servers[1]
	}
	granted(t, e, lock(1))
	m := c.Begin(tag, to)
	if _, err := e.Acquire(context.Background(), lock(2)); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("acquire: %v, want %v", err, engine.ErrUnavailable)
	}
	m.End()
	granted(t, e, lock(3))
}
