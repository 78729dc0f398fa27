package interlocknats_test

import (
	"context"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/adapter/consume/consumetest"
)

// 1,000 duplicates reach three processes at the same time, and one of them runs the handler.
func TestStorm(t *testing.T) {
	consumetest.Storm(t, func(ctx context.Context, url string) (engine.Engine, error) { return redisengine.Open(ctx, url) },
		func(t testing.TB, _ string) consumetest.StormBroker { return stormBroker{open(t, start(t), nil)} }, joinStorm)
}

// A stormBroker is a stream that several processes consume.
type stormBroker struct{ *broker }

func (b stormBroker) Address() string { return b.url + " " + b.stream }

func joinStorm(t testing.TB, address string) consumetest.StormBroker {
	t.Helper()
	url, stream, _ := strings.Cut(address, " ")
	_, js := connect(t, url)
	return stormBroker{&broker{url, js, stream}}
}

func (b stormBroker) Publish(t testing.TB, m consumetest.Message, n int) {
	t.Helper()
	for range n {
		b.Send(t, m)
	}
}

// Settled returns how many messages are acknowledged, up to the first that is not.
func (b stormBroker) Settled(t testing.TB) int {
	t.Helper()
	info, err := b.consumer(t, b.js).Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return int(info.AckFloor.Stream) //nolint:gosec // at most 1,000
}
