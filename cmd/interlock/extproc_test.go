package main_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/interlock-go/interlock/adapter/extproc/envoytest"
	"github.com/interlock-go/interlock/internal/testing/child"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// startExtProc starts interlock ext-proc, with an Envoy in front of a service.
func startExtProc(t *testing.T, o *service, name string, c envoytest.Config) (*gateway, *envoytest.Envoy) {
	t.Helper()
	g := startGateway(t, "ext-proc", "--config", name, "--listen", "127.0.0.1:0")
	c.Servers, c.Upstream = append(c.Servers, addressOf(t, g)), o.URL
	return g, envoytest.Start(t, c)
}

// addressOf returns the address of the gRPC server.
func addressOf(t *testing.T, g *gateway) string {
	t.Helper()
	u, err := url.Parse(g.url)
	if err != nil || u.Scheme != "grpc" {
		t.Fatalf("the gateway listens on %q, want a grpc:// address", g.url)
	}
	return u.Host
}

// through sends a POST request through Envoy.
func through(t *testing.T, e *envoytest.Envoy, path, key string) answer {
	return ask(t, http.MethodPost, e.URL+path, key, "{}")
}

func TestExtProc(t *testing.T) {
	t.Parallel()
	t.Run("requests that match a rule run once, and the others pass", func(t *testing.T) {
		t.Parallel()
		o := startService(t)
		g, e := startExtProc(t, o, file(t, serviceHead+serviceRules, "http://unused.invalid"), envoytest.Config{})
		first := through(t, e, "/orders", orderKey).want(t, 201, `{"order":1}`)
		again := through(t, e, "/orders", orderKey).want(t, 201)
		if again.text != first.text || again.header.Get("Idempotent-Replayed") != "true" || o.ran(orderKey) != 1 {
			t.Errorf("the second response is %q (%v) after %d runs", again.text, again.header, o.ran(orderKey))
		}
		through(t, e, "/orders", "").want(t, 400, "key_missing")
		before := e.Messages.Load()
		ask(t, http.MethodGet, e.URL+"/", "", "").want(t, 200, "the service")
		if n := e.Messages.Load() - before; n != 1 {
			t.Errorf("a request without a rule cost %d messages, want 1", n)
		}
		through(t, e, "/ORDERS", orderKey).want(t, 400, "request_ambiguous")
		g.get(g.admin+"/api/v1/stats").want(t, 200, `"order"`)
		g.get(g.admin+"/metrics").want(t, 200, `interlock_gateway_requests_total{`, `interlock_gateway_upstream_seconds_count{upstream="envoy"}`)
		g.get(g.health+"/readyz").want(t, 200)
	})
	t.Run("the file is read again", func(t *testing.T) {
		t.Parallel()
		o := startService(t)
		name := file(t, serviceHead+"rules: []\n", o.URL)
		g, e := startExtProc(t, o, name, envoytest.Config{})
		through(t, e, "/orders", "").want(t, 201)
		write(t, name, serviceHead+serviceRules, o.URL)
		await(t, "the rule is in use", func() bool { return through(t, e, "/orders", "").status == 400 })
		write(t, name, strings.Replace(serviceHead, "principal: none", "principal: mtls\ntls: {cert: a, key: b, client-ca: c}", 1)+serviceRules, o.URL)
		await(t, "the reload fails", func() bool { return g.logged(reloadFailed) != nil })
		if why := fmt.Sprint(g.logged(reloadFailed)["err"]); !strings.Contains(why, "mtls") {
			t.Errorf("the reload failed with %q, want the principal as the reason", why)
		}
	})
	t.Run("a principal that needs the client's connection is refused", func(t *testing.T) {
		t.Parallel()
		name := file(t, "engine: memory\nto: http://127.0.0.1:9000\nprincipal: mtls\ntls: {cert: a, key: b, client-ca: c}\nrules: []\n")
		r := start(t, nil, "ext-proc", "--config", name, "--listen", "127.0.0.1:0")
		r.expect(t, 1, "principal: mtls is not possible with ext-proc")
	})
	t.Run("on SIGTERM, running requests are answered and later ones are refused", func(t *testing.T) {
		t.Parallel()
		o := startService(t)
		g, e := startExtProc(t, o, file(t, serviceHead+serviceRules+"shutdown: {delay: 5s}\n", o.URL), envoytest.Config{})
		health := healthOf(t, g)
		if got := health(); got != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("the health service reports %v", got)
		}
		o.slow.Store(int64(7 * time.Second)) // it ends after the delay
		first := make(chan answer, 1)
		go func() { first <- through(t, e, "/orders", orderKey) }()
		await(t, "the request is running", func() bool { return o.ran(orderKey) == 1 })
		g.interrupt(t)
		await(t, "the health service reports the shutdown", func() bool { return health() == healthpb.HealthCheckResponse_NOT_SERVING })
		(<-first).want(t, 201)
		g.expect(t, 0)
		if g.logged("stopped") == nil {
			t.Errorf("the log lacks \"stopped\":\n%s", &g.stderr)
		}
		if a := through(t, e, "/orders", "another-order-0000002"); a.status != 500 || o.ran("another-order-0000002") != 0 {
			t.Errorf("without a server, Envoy got %d %q", a.status, a.text)
		}
	})
	t.Run("an Envoy that has vanished holds no lock", func(t *testing.T) {
		t.Parallel()
		child.SkipIfShort(t, "it waits for keepalive pings")
		o := startService(t)
		name := file(t, serviceHead+"rules:\n  - match: POST /hang\n    lock: hang\n    wait: 1ms\n", o.URL)
		g := startGateway(t, "ext-proc", "--config", name, "--listen", "127.0.0.1:0")
		network := faultnet.New(t, addressOf(t, g))
		lost := envoytest.Start(t, envoytest.Config{Servers: []string{network.Addr()}, Upstream: o.URL})
		next := envoytest.Start(t, envoytest.Config{Servers: []string{addressOf(t, g)}, Upstream: o.URL})
		go func() { _ = through(t, lost, "/hang", orderKey) }()
		await(t, "the lock is held", func() bool { return strings.Contains(g.get(g.admin+"/api/v1/locks").text, "hang") })
		through(t, next, "/hang", orderKey).want(t, 423)
		network.Silence()
		await(t, "the lock is free", func() bool { return !strings.Contains(g.get(g.admin+"/api/v1/locks").text, "hang") })
	})
	t.Run("a killed server leaves the outcome unknown", func(t *testing.T) {
		t.Parallel()
		o := startService(t)
		s := redistest.Start(t)
		head := strings.Replace(serviceHead, "memory", s.URL(), 1)
		name := file(t, head+"rules:\n  - match: POST /hang\n    once: hang:{header.Idempotency-Key}\n    scope: key\n    on-unknown: hold\n    lease: 1s\n", o.URL)
		g, e := startExtProc(t, o, name, envoytest.Config{})
		first := make(chan answer, 1)
		go func() { first <- through(t, e, "/hang", orderKey) }()
		await(t, "the request is running", func() bool { return strings.Contains(g.get(g.admin+"/api/v1/claims").text, "running") })
		if err := g.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		(<-first).want(t, 500)
		_, next := startExtProc(t, o, name, envoytest.Config{})
		await(t, "its lease has expired", func() bool { return strings.Contains(through(t, next, "/hang", orderKey).text, "outcome_unknown") })
	})
}

// healthOf returns a function that asks the health service.
func healthOf(t *testing.T, g *gateway) func() healthpb.HealthCheckResponse_ServingStatus {
	conn, err := grpc.NewClient(addressOf(t, g), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return func() healthpb.HealthCheckResponse_ServingStatus {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		res, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
		if err != nil {
			t.Error(err)
		}
		return res.GetStatus()
	}
}

// 1,000 duplicates meet in three processes that share one engine.
func TestExtProcStorm(t *testing.T) {
	t.Parallel()
	child.SkipIfShort(t, "1,000 requests over three processes")
	o := startService(t)
	s := redistest.Start(t)
	head := strings.Replace(strings.Replace(serviceHead, "memory", s.URL(), 1), "admin: 127.0.0.1:0\n", "", 1)
	name := file(t, head+serviceRules+"    on-duplicate: wait\n    wait: 1m\n", o.URL)
	var c envoytest.Config
	for range 2 {
		c.Servers = append(c.Servers, addressOf(t, startGateway(t, "ext-proc", "--config", name, "--listen", "127.0.0.1:0")))
	}
	_, e := startExtProc(t, o, name, c)
	o.slow.Store(int64(100 * time.Millisecond))
	began := time.Now()
	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() {
			if a := through(t, e, "/orders", orderKey); a.err != nil || a.status != 201 || a.text != `{"order":1}` {
				t.Errorf("got %d %q %v", a.status, a.text, a.err)
			}
		})
	}
	all.Wait()
	if n := o.ran(orderKey); n != 1 {
		t.Errorf("the order ran %d times", n)
	}
	t.Logf("1,000 duplicates over 3 processes ran once; all were answered after %v", time.Since(began).Round(time.Millisecond))
}
