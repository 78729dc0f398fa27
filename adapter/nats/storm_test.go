package interlocknats_test

import (
	"context"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/adapter/consume/consumetest"
)

// 1,000 duplicates reach three processes at the same time, and one of them runs the handler.
func TestStorm(t *testing.T) {
	consumetest.Storm(t, func(ctx context.Context, url string) (engine.Engine, error) { return redisengine.Open(ctx, url) },
		openStorm, joinStorm)
}

// A stormBroker is a stream that several processes consume.
type stormBroker struct {
	*broker
	terminated *nats.Subscription // to the advisories about terminated messages; nil in these processes
}

func openStorm(t testing.TB, _ string) consumetest.StormBroker {
	t.Helper()
	b := open(t, start(t), nil)
	nc, _ := connect(t, b.url)
	advisories, err := nc.SubscribeSync("$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.>")
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return stormBroker{b, advisories}
}

func (b stormBroker) Address() string { return b.url + " " + b.stream }

func joinStorm(t testing.TB, address string) consumetest.StormBroker {
	t.Helper()
	url, stream, _ := strings.Cut(address, " ")
	_, js := connect(t, url)
	return stormBroker{broker: &broker{url, js, stream}}
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
	terminated, _, err := b.terminated.Pending()
	if err != nil {
		t.Fatal(err)
	}
	return int(info.AckFloor.Stream) - terminated //nolint:gosec // at most 1,000
}
