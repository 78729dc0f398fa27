package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/config"
)

// The targets: the rate of a saturated gateway, divided by that of a bare reverse proxy.
const (
	leastPassed  = 0.8 // for requests that match no rule
	leastGuarded = 0.5 // for requests that match the rule once
)

// The rows of the table about the gateway.
const (
	noProxyRow       = "the service itself"
	bareProxyRow     = "httputil.ReverseProxy"
	pooledProxyRow   = "httputil.ReverseProxy, with a pool of buffers"
	passedRow        = "Interlock, no rule matches"
	onceInProcessRow = "Interlock, once, embedded engine"
	onceOnRedisRow   = "Interlock, once, Redis"
)

const gatewayFile = `engine: memory
to: %s
principal: none
limits: {conns: 100000}
rules:
  - match: POST /orders
    once: order:{header.Idempotency-Key}
    scope: key
    retain: 10s
`

// gateways returns the rows: the same client sends the same request to the same service,
// directly and through each proxy.
func gateways() []contender {
	return []contender{
		proxyContender(noProxyRow, "/plain", func(context.Context, string, *url.URL) (http.Handler, func(), error) { return nil, nil, nil }),
		proxyContender(bareProxyRow, "/plain", func(_ context.Context, _ string, to *url.URL) (http.Handler, func(), error) {
			return bareProxy(to, nil)
		}),
		proxyContender(pooledProxyRow, "/plain", func(_ context.Context, _ string, to *url.URL) (http.Handler, func(), error) {
			return bareProxy(to, new(bufferPool))
		}),
		proxyContender(passedRow, "/plain", func(_ context.Context, _ string, to *url.URL) (http.Handler, func(), error) {
			return gatewayOn(memory.New(), to)
		}),
		proxyContender(onceInProcessRow, "/orders", func(_ context.Context, _ string, to *url.URL) (http.Handler, func(), error) {
			return gatewayOn(memory.New(), to)
		}),
		proxyContender(onceOnRedisRow, "/orders", func(ctx context.Context, addr string, to *url.URL) (http.Handler, func(), error) {
			e, err := redisengine.Open(ctx, "redis://"+addr)
			if err != nil {
				return nil, nil, err
			}
			h, end, err := gatewayOn(e, to)
			return h, func() { end(); _ = e.Close() }, err
		}),
	}
}

// bareProxy returns the usual proxy on the standard library.
func bareProxy(to *url.URL, pool httputil.BufferPool) (http.Handler, func(), error) {
	t := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	p := &httputil.ReverseProxy{Transport: t, BufferPool: pool, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.SetXForwarded()
	}}
	return p, t.CloseIdleConnections, nil
}

// bufferPool is a pool of copy buffers.
type bufferPool struct{ sync.Pool }

// Get implements [httputil.BufferPool].
func (c *bufferPool) Get() []byte {
	if b, ok := c.Pool.Get().(*[32 << 10]byte); ok {
		return b[:]
	}
	return new([32 << 10]byte)[:]
}

// Put implements [httputil.BufferPool].
func (c *bufferPool) Put(b []byte) { c.Pool.Put((*[32 << 10]byte)(b)) }

// gatewayOn returns a gateway in front of a service, as interlock serve opens it.
func gatewayOn(e engine.Engine, to *url.URL) (http.Handler, func(), error) {
	cfg, errs := config.Parse("bench.yaml", fmt.Appendf(nil, gatewayFile, to))
	if len(errs) > 0 {
		return nil, nil, errs
	}
	client := interlock.New(e)
	g, err := gateway.New(cfg, gateway.Options{Client: client, Log: slog.New(slog.DiscardHandler), Events: func(gateway.Event) {}})
	if err != nil {
		return nil, nil, err
	}
	return g, func() {
		_ = g.Close(context.Background())
		_ = client.Close(context.Background())
	}, nil
}

// proxyContender returns a contender that starts a service and a proxy in front of it, each with
// its own server. A cycle is a request with a new key. The client does little, because its
// CPU time is measured as well.
func proxyContender(name, path string, open func(ctx context.Context, addr string, to *url.URL) (http.Handler, func(), error)) contender {
	return contender{name: name, sends: scriptCalls, open: func(ctx context.Context, addr string) (locks, error) {
		service, at, err := serve(ctx, http.HandlerFunc(receive))
		if err != nil {
			return locks{}, err
		}
		h, end, err := open(ctx, addr, &url.URL{Scheme: "http", Host: at})
		if err != nil {
			_ = service.Close()
			return locks{}, err
		}
		all := []*http.Server{service}
		if h != nil {
			front, addr, err := serve(ctx, h)
			if err != nil {
				return locks{}, err
			}
			all, at = append(all, front), addr
		}
		c := &clientPool{at: at, path: path, idle: make(chan *clientConn, 4096), next: uniqueNames()}
		return locks{cycle: c.cycle, close: func() {
			c.closeIdle()
			for _, s := range all {
				_ = s.Close()
			}
			if end != nil {
				end()
			}
		}}, nil
	}}
}

// receive is the service: it reads the request and answers.
func receive(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	sell(w, r)
}

// serve serves on a free port until the server is closed.
func serve(ctx context.Context, h http.Handler) (*http.Server, string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }() // until Close
	return s, l.Addr().String(), nil
}

// A clientPool is a pool of client connections.
type clientPool struct {
	at, path string
	idle     chan *clientConn
	next     func(int64) string
}

// A clientConn is a connection and its buffers.
type clientConn struct {
	net.Conn
	in  *bufio.Reader
	out []byte
}

// cycle sends a request and reads the response.
func (c *clientPool) cycle(ctx context.Context, _ string) error {
	var v *clientConn
	select {
	case v = <-c.idle:
	default:
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.at)
		if err != nil {
			return err
		}
		v = &clientConn{Conn: conn, in: bufio.NewReader(conn)}
	}
	if err := v.send(c.path, c.next(1)); err != nil {
		_ = v.Close()
		return err
	}
	c.idle <- v
	return nil
}

func (c *clientPool) closeIdle() {
	for {
		select {
		case v := <-c.idle:
			_ = v.Close()
		default:
			return
		}
	}
}

func (v *clientConn) send(path, key string) error {
	v.out = append(v.out[:0], "POST "...)
	v.out = append(v.out, path...)
	v.out = append(v.out, " HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nIdempotency-Key: benchmark-order-number-"...)
	v.out = append(v.out, key...)
	v.out = append(v.out, "\r\nContent-Length: "...)
	v.out = strconv.AppendInt(v.out, int64(len(requestBody)), 10)
	v.out = append(v.out, "\r\n\r\n"+requestBody...)
	if _, err := v.Write(v.out); err != nil {
		return err
	}
	line, err := v.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(line), "HTTP/1.1 201 ") {
		return fmt.Errorf("%w: %s", errStatus, line)
	}
	return v.rest()
}

// rest reads the rest of the response.
func (v *clientConn) rest() error {
	length := 0
	for {
		line, err := v.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
		if value, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return err
			}
		}
	}
	if length != len(responseBody) {
		return fmt.Errorf("%w: %d bytes", errStatus, length)
	}
	_, err := v.in.Discard(length)
	return err
}

// measureGateway measures the gateway under full load.
func (p plan) measureGateway(ctx context.Context, out io.Writer, s *server, g int, b *targets) error {
	f, err := openAll(ctx, s, selected(gateways(), p.only))
	if err != nil {
		return err
	}
	defer f.closeAll()
	f.base = bareProxyRow
	if err := p.rotate(ctx, f, g); err != nil {
		return err
	}
	for _, x := range []struct {
		row   string
		least float64
	}{{passedRow, leastPassed}, {onceInProcessRow, leastGuarded}, {onceOnRedisRow, leastGuarded}} {
		if r := f.find(x.row); r != nil && len(r.ratio) > 0 {
			got := f.cpuRatio(r)
			b.check(got >= x.least, "%s: at least %.1f× as many requests per second of CPU time as a bare reverse proxy: %.2f× (per second: %.2f×)", x.row, x.least, got, median(r.ratio))
		}
	}
	proxyingTable(f, g, p).print(out)
	return nil
}

// cpuRatio returns the row's requests per second of CPU time, divided by those of the
// baseline. If no other program uses the processors, it equals the ratio of requests per
// second.
func (f *group) cpuRatio(r *row) float64 {
	base := f.find(f.base)
	if base == nil || base.cycles == 0 || r.cycles == 0 {
		return 0
	}
	each := func(r *row) float64 { return float64(r.clientCPU+r.redisCPU) / float64(r.cycles) }
	return each(base) / each(r)
}

func proxyingTable(f *group, g int, p plan) *table {
	t := &table{
		title:   fmt.Sprintf("The gateway: %d clients; clients, gateway and service run on this machine", g),
		columns: []string{"", "requests/s", "× " + f.base, "× by CPU", "p50 µs", "p99 µs", "CPU µs", "allocs", "commands sent", "Redis CPU µs"},
	}
	var foreign []float64
	for _, r := range f.rows {
		foreign = append(foreign, r.foreign...)
		t.add(r.name, thousands(median(r.rate)), ratio(r.ratio), fmt.Sprintf("%.2f", f.cpuRatio(r)), micros(r.latency.at(0.5)), micros(r.latency.at(0.99)),
			microsPer(r.clientCPU, r.cycles), per(float64(r.mallocs), r.cycles), per(float64(r.sent), r.cycles), microsPer(r.redisCPU, r.cycles))
	}
	t.remark = fmt.Sprintf("%d rounds; each contender runs for %v per round. %s%s", p.rounds, p.slice, otherLoad(foreign), f.failureText())
	return t
}
