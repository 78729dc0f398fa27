package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// The targets: the most that a middleware on the embedded engine may add to a handler.
const (
	mostAddedMicros = 5.0
	mostAddedAllocs = 15.0
)

// The rows of the tables about HTTP.
const (
	bareRow      = "net/http, bare handler"
	onceRow      = "net/http, Interlock Once, embedded engine"
	fiberBareRow = "fiber, bare handler"
	fiberRow     = "fiber, its idempotency, in memory"
	onceRedisRow = "Interlock Once"
	setnxRow     = "by hand on go-redis: SETNX, then SET"
)

// inProcess returns the rows of the table about the cost of a middleware. Handlers are
// called as a server calls them, without a network.
func inProcess() []contender {
	return []contender{
		handlerContender(bareRow, nil, func(context.Context, string) (http.Handler, func(), error) {
			return http.HandlerFunc(sell), func() {}, nil
		}),
		handlerContender(onceRow, nil, func(context.Context, string) (http.Handler, func(), error) { return once(memory.New()) }),
		fiberContender(fiberBareRow, bareFiber),
		fiberContender(fiberRow, idempotentFiber),
	}
}

// onRedis returns the rows of the table about middleware on Redis.
func onRedis() []contender {
	return []contender{
		handlerContender(onceRedisRow, scriptCalls, func(ctx context.Context, addr string) (http.Handler, func(), error) {
			e, err := redisengine.Open(ctx, "redis://"+addr)
			if err != nil {
				return nil, nil, err
			}
			h, end, err := once(e)
			return h, func() { end(); _ = e.Close() }, err
		}),
		handlerContender(setnxRow, []string{"set", "setnx", "get"}, setnx),
	}
}

const (
	responseBody = `{"order":"2026-0001","cents":4200,"placed":"2026-11-15T12:00:00Z"}`
	requestBody  = `{"sku":"shoe","n":2}`
)

// sell is the handler. It does no work, so that the cost of the middleware shows.
func sell(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, responseBody)
}

var jsonType = []string{"application/json"}

// once returns the handler behind our middleware.
func once(e engine.Engine) (http.Handler, func(), error) {
	m, err := interlockhttp.Once(interlock.New(e), guard.Policy{Name: "bench", Retain: resultRetention},
		interlockhttp.User(func(*http.Request) string { return "ann" }))
	if err != nil {
		return nil, nil, err
	}
	return m.Wrap(http.HandlerFunc(sell)), func() { _ = m.Close(context.Background()) }, nil
}

// setnx returns the handler behind the usual hand-written middleware: SETNX claims the
// key, SET stores the response, and a duplicate reads the stored value. It has no user,
// fingerprint, owner, renewal or unknown outcome.
func setnx(_ context.Context, addr string) (http.Handler, func(), error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := "bench:http:" + r.Header.Get("Idempotency-Key")
		first, err := client.SetNX(r.Context(), key, "running", lockLease).Result()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		if !first {
			text, err := client.Get(r.Context(), key).Result()
			if err != nil || text == "running" {
				w.WriteHeader(http.StatusConflict)
				return
			}
			_, _ = io.WriteString(w, text)
			return
		}
		c := &recorder{ResponseWriter: w}
		sell(c, r)
		_ = client.Set(r.Context(), key, c.body, resultRetention).Err()
	})
	return h, func() { _ = client.Close() }, nil
}

// A recorder copies the response body.
type recorder struct {
	http.ResponseWriter
	body []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.body = append(r.body, p...)
	return r.ResponseWriter.Write(p)
}

// handlerContender returns a contender that calls a handler as a server does, with a new key each
// time.
func handlerContender(name string, sends []string, open func(ctx context.Context, addr string) (http.Handler, func(), error)) contender {
	return contender{name: name, sends: sends, open: func(ctx context.Context, addr string) (locks, error) {
		h, end, err := open(ctx, addr)
		if err != nil {
			return locks{}, err
		}
		next := uniqueNames()
		callers := sync.Pool{New: func() any { return newCaller() }}
		return locks{close: end, cycle: func(context.Context, string) error {
			c := callers.Get().(*caller)
			defer callers.Put(c)
			return c.call(h, next(1))
		}}, nil
	}}
}

// A caller is a reusable request and its response writer.
type caller struct {
	request *http.Request
	body    strings.Reader
	key     []string
	header  http.Header
	status  int
}

func newCaller() *caller {
	c := &caller{key: make([]string, 1), header: make(http.Header)}
	c.request, _ = http.NewRequest(http.MethodPost, "/orders", &c.body) //nolint:noctx // never cancelled
	c.request.Header = http.Header{"Content-Type": jsonType, "Idempotency-Key": c.key}
	return c
}

var errStatus = errors.New("the handler returned an unexpected response")

func (c *caller) call(h http.Handler, key string) error {
	c.key[0] = key
	c.body.Reset(requestBody)
	c.request.Body, c.request.ContentLength = c, int64(len(requestBody))
	clear(c.header)
	h.ServeHTTP(c, c.request)
	if c.status != http.StatusCreated {
		return errStatus
	}
	return nil
}

func (c *caller) Read(p []byte) (int, error)  { return c.body.Read(p) }
func (c *caller) Close() error                { return nil }
func (c *caller) Header() http.Header         { return c.header }
func (c *caller) WriteHeader(status int)      { c.status = status }
func (c *caller) Write(p []byte) (int, error) { return len(p), nil }

// measureHTTP measures middleware.
func (p plan) measureHTTP(ctx context.Context, out io.Writer, s *server, g int, b *targets) error {
	rows, base := onRedis(), setnxRow
	if g == 1 {
		rows, base = append(inProcess(), rows...), bareRow
	}
	f, err := openAll(ctx, s, selected(rows, p.only))
	if err != nil {
		return err
	}
	defer f.closeAll()
	f.base = base
	if err := p.rotate(ctx, f, g); err != nil {
		return err
	}
	if g == 1 {
		b.checkAdded(f)
	}
	requestingTable(f, g, p).print(out)
	return nil
}

// checkAdded checks how much our middleware adds to a handler.
func (b *targets) checkAdded(f *group) {
	bare, ours := f.find(bareRow), f.find(onceRow)
	if bare == nil || ours == nil || bare.cycles == 0 || ours.cycles == 0 {
		return
	}
	took := micro(ours.latency.at(0.5)) - micro(bare.latency.at(0.5))
	allocs := float64(ours.mallocs)/float64(ours.cycles) - float64(bare.mallocs)/float64(bare.cycles)
	b.check(took < mostAddedMicros, "Once on the embedded engine adds under %.0f µs to a handler: %.1f µs", mostAddedMicros, took)
	b.check(allocs <= mostAddedAllocs, "and at most %.0f allocations: %.2f", mostAddedAllocs, allocs)
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func requestingTable(f *group, g int, p plan) *table {
	t := &table{
		title: fmt.Sprintf("Requests, each with a new key, without a network: %d goroutines", g),
		columns: []string{"", "requests/s", "× " + f.base, "p50 µs", "added µs", "p99 µs", "allocs", "added allocs",
			"commands sent", "Redis CPU µs"},
	}
	var foreign []float64
	for _, r := range f.rows {
		foreign = append(foreign, r.foreign...)
		bare := f.find(bareRow)
		if strings.HasPrefix(r.name, "fiber") {
			bare = f.find(fiberBareRow)
		}
		took, allocs := "–", "–"
		if bare != nil && bare != r && bare.cycles > 0 && r.cycles > 0 {
			took = fmt.Sprintf("%.1f", micro(r.latency.at(0.5))-micro(bare.latency.at(0.5)))
			allocs = fmt.Sprintf("%.1f", float64(r.mallocs)/float64(r.cycles)-float64(bare.mallocs)/float64(bare.cycles))
		}
		t.add(r.name, thousands(median(r.rate)), ratio(r.ratio), micros(r.latency.at(0.5)), took, micros(r.latency.at(0.99)),
			per(float64(r.mallocs), r.cycles), allocs, per(float64(r.sent), r.cycles), microsPer(r.redisCPU, r.cycles))
	}
	t.remark = fmt.Sprintf("%d rounds; each contender runs for %v per round. %s%s", p.rounds, p.slice, otherLoad(foreign), f.failureText())
	return t
}
