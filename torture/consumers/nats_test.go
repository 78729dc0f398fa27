package consumers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	interlocknats "github.com/interlock-go/interlock/adapter/nats"
	"github.com/interlock-go/interlock/internal/testing/child"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

const (
	jetStreamName = "ORDERS"
	jetConsumer   = "workers"
)

// serveNATS is the job of the NATS server: it runs until it is killed.
func serveNATS(j job) error {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: j.Port, JetStream: true, StoreDir: j.Dir, NoLog: true, NoSigs: true})
	if err != nil {
		return err
	}
	s.Start()
	s.WaitForShutdown()
	return errors.New("the NATS server ended")
}

// A jetStream is a stream with a durable consumer, on a server in a process of its own.
type jetStream struct {
	url string
	js  jetstream.JetStream
}

func newJetStream(t *testing.T, _ *redistest.Server) queue {
	t.Helper()
	port, err := child.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	q := &jetStream{url: fmt.Sprintf("nats://127.0.0.1:%d", port)}
	start(t, job{Do: "nats-server", Port: port, Dir: t.TempDir()})
	nc, err := nats.Connect(q.url, nats.RetryOnFailedConnect(true), nats.ReconnectWait(50*time.Millisecond), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if q.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for { // until the server is ready
		_, err = q.js.CreateStream(ctx, jetstream.StreamConfig{Name: jetStreamName, Subjects: []string{"orders"}})
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		<-time.After(50 * time.Millisecond)
	}
	if _, err := q.js.CreateConsumer(ctx, jetStreamName, jetstream.ConsumerConfig{Durable: jetConsumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second}); err != nil {
		t.Fatal(err)
	}
	return q
}

func (q *jetStream) job() job     { return job{Do: "nats", NATS: q.url} }
func (q *jetStream) name() string { return jetStreamName + "/id/" }

func (q *jetStream) publish(t *testing.T, id string) {
	t.Helper()
	if _, err := q.js.Publish(t.Context(), "orders", []byte(id), jetstream.WithMsgID(id)); err != nil {
		t.Fatal(err)
	}
}

func (q *jetStream) unsettled(t *testing.T) int {
	t.Helper()
	c, err := q.js.Consumer(t.Context(), jetStreamName, jetConsumer)
	if err != nil {
		t.Fatal(err)
	}
	info := c.CachedInfo() // Consumer has just read it
	return int(info.NumPending) + info.NumAckPending
}

// consumeNATS is the job of a consumer: it never ends by itself.
func consumeNATS(j job) error {
	a := newAccount(j)
	g, err := newGuard[struct{}](a, jetStreamName+"/id/")
	if err != nil {
		return err
	}
	nc, err := nats.Connect(j.NATS)
	if err != nil {
		return err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	c, err := js.Consumer(context.Background(), jetStreamName, jetConsumer)
	if err != nil {
		return err
	}
	handler, err := interlocknats.Handler(c, g, func(ctx context.Context, m jetstream.Msg) error {
		return a.handle(ctx, string(m.Data()))
	})
	if err != nil {
		return err
	}
	consuming, err := c.Consume(handler, jetstream.PullMaxMessages(2))
	if err != nil {
		return err
	}
	<-consuming.Closed()
	return errors.New("the consumer ended")
}
