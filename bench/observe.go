package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/observe/logs"
	"github.com/interlock-go/interlock/observe/otel"
	"github.com/interlock-go/interlock/observe/prom"
)

// The targets: the cost of an observed lock, divided by that of a lock without observation.
const (
	mostObservedEmbedded = 1.15
	mostObservedRedis    = 1.03
)

const (
	observedRow = "metrics, logs, traces of 1 % of the requests"
	tracedRow   = "metrics, logs, traces of all requests"
)

// observed returns the rows of a table: a lock without observation, and two with it.
func observed(open func(ctx context.Context, addr string) (engine.Engine, error)) []contender {
	return []contender{
		observedContender(plainRow, open, nil),
		observedContender(observedRow, open, &observation{every: 100}),
		observedContender(tracedRow, open, &observation{every: 1}),
	}
}

// An observation is everything that a program can switch on: metrics that are scraped once
// a second, logs of level info, and spans of one request in N, where N is the field every.
type observation struct {
	every    uint64
	requests atomic.Uint64

	provider                      *sdk.TracerProvider
	sampled, dropped              context.Context
	stopScraping, scrapingStopped chan struct{}
	metrics                       *prom.Collector
}

func (o *observation) options() []interlock.Option {
	o.provider = sdk.NewTracerProvider(sdk.WithBatcher(tracetest.NewNoopExporter()))
	logger := slog.New(logs.NewHandler(slog.NewJSONHandler(new(sink), nil), logs.NewLevels(slog.LevelInfo)))
	return []interlock.Option{
		interlock.WithName("pay"), logs.To(logger), otel.Spans(otel.WithTracerProvider(o.provider)), interlock.WithExemplars(otel.TraceID),
	}
}

// A sink discards log lines that the handler has formatted.
type sink struct{}

func (*sink) Write(p []byte) (int, error) { return len(p), nil }

// start makes the contexts of requests, and scrapes the metrics until stop.
func (o *observation) start(c *interlock.Client) {
	ctx := context.Background()
	o.sampled, _ = o.provider.Tracer("bench").Start(ctx, "request")
	o.dropped = trace.ContextWithSpanContext(ctx, trace.SpanContextFromContext(o.sampled).WithTraceFlags(0))
	o.metrics = prom.New(c)
	o.stopScraping, o.scrapingStopped = make(chan struct{}), make(chan struct{})
	go func() { // until stop
		defer close(o.scrapingStopped)
		for {
			select {
			case <-o.stopScraping:
				return
			case <-time.After(time.Second):
				o.metrics.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil))
			}
		}
	}()
}

func (o *observation) stop() {
	close(o.stopScraping)
	<-o.scrapingStopped
	o.metrics.Close()
	_ = o.provider.Shutdown(context.Background())
}

// request returns the context of the next request.
func (o *observation) request() context.Context {
	if o.requests.Add(1)%o.every == 0 {
		return o.sampled
	}
	return o.dropped
}

func observedContender(name string, open func(ctx context.Context, addr string) (engine.Engine, error), o *observation) contender {
	return contender{name: name, sends: scriptCalls, open: func(ctx context.Context, addr string) (locks, error) {
		e, err := open(ctx, addr)
		if err != nil {
			return locks{}, err
		}
		var opts []interlock.Option
		if o != nil {
			opts = o.options()
		}
		c := interlock.New(e, opts...)
		if o != nil {
			o.start(c)
		}
		return locks{
			cycle: func(ctx context.Context, key string) error {
				if o != nil {
					ctx = o.request()
				}
				_, hold, err := c.Mutex(key).Lock(ctx)
				if err != nil {
					return err
				}
				return hold.Unlock()
			},
			close: func() {
				if o != nil {
					o.stop()
				}
				_ = c.Close(context.Background())
				if closer, ok := e.(io.Closer); ok {
					_ = closer.Close()
				}
			},
		}, nil
	}}
}

// measureObserved compares fully observed locks with locks without observation, on the
// embedded engine and on Redis.
func (p plan) measureObserved(ctx context.Context, out io.Writer, s *server, b *targets) error {
	p.rounds, p.slice = 3*p.rounds, p.slice/2 // the difference is small
	for _, x := range []struct {
		engine     string
		goroutines int
		most       float64
		open       func(ctx context.Context, addr string) (engine.Engine, error)
	}{
		{"embedded", 1, mostObservedEmbedded, func(context.Context, string) (engine.Engine, error) { return memory.New(), nil }},
		{"Redis", 16, mostObservedRedis, func(ctx context.Context, addr string) (engine.Engine, error) {
			return redisengine.Open(ctx, "redis://"+addr)
		}},
	} {
		f, err := openAll(ctx, s, observed(x.open))
		if err != nil {
			return err
		}
		f.base = plainRow
		err = p.rotate(ctx, f, x.goroutines)
		f.closeAll()
		if err != nil {
			return err
		}
		if r := f.find(observedRow); r != nil && len(r.ratio) > 0 {
			cost := 1 / median(r.ratio)
			b.check(cost <= x.most, "on the %s engine an observed lock costs at most %.2f× a lock without observation: %.2f×", x.engine, x.most, cost)
		}
		t := comparingTable(f, x.goroutines, p)
		t.title = fmt.Sprintf("Observed, uncontended, %s engine: %d goroutines", x.engine, x.goroutines)
		t.print(out)
	}
	return nil
}
