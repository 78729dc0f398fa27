package interlockasynq_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/adapter/consume/consumetest"
)

// 1,000 tasks with one ID in their header reach three processes at the same time, and one of
// them runs its handler.
func TestStorm(t *testing.T) {
	consumetest.Storm(t, func(ctx context.Context, url string) (engine.Engine, error) { return redisengine.Open(ctx, url) },
		func(t testing.TB, redis string) consumetest.StormBroker { return stormBroker{open(t, redis)} }, joinStorm)
}

// A stormBroker is a queue that several processes consume.
type stormBroker struct{ *broker }

func (b stormBroker) Address() string { return b.redis.Addr + " " + b.queue }

func joinStorm(t testing.TB, address string) consumetest.StormBroker {
	t.Helper()
	redis, queue, _ := strings.Cut(address, " ")
	b := open(t, redis)
	b.queue = queue
	return stormBroker{b}
}

// Publish keeps completed tasks, so that Settled can count them.
func (b stormBroker) Publish(t testing.TB, m consumetest.Message, n int) {
	t.Helper()
	for range n {
		b.enqueue(t, asynq.NewTaskWithHeaders(taskType, []byte(m.Payload), map[string]string{idHeader: m.ID}), asynq.Retention(time.Hour))
	}
}

// Settled returns how many tasks are completed. Archived tasks do not count.
func (b stormBroker) Settled(t testing.TB) int { t.Helper(); return b.info(t).Completed }
