package gateway_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway"
)

// BenchmarkProxies compares the gateway with a bare proxy, on the memory engine.
func BenchmarkProxies(b *testing.B) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "done")
	}))
	b.Cleanup(service.Close)
	to, err := url.Parse(service.URL)
	if err != nil {
		b.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	bare := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to); p.SetXForwarded() }, Transport: transport}
	cfg := withRules(orders())
	cfg.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	cfg.Upstream.To = []*url.URL{to}
	g, err := gateway.New(cfg, gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	var n atomic.Int64
	for _, c := range []struct {
		name string
		h    http.Handler
		path string
	}{{"bare", bare, "/free"}, {"unguarded", g, "/free"}, {"guarded", g, "/orders"}} {
		b.Run(c.name, func(b *testing.B) {
			front := httptest.NewServer(c.h)
			defer front.Close()
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, front.URL+c.path, strings.NewReader("x"))
					if err != nil {
						b.Fatal(err)
					}
					r.Header.Set("X-User", "ann")
					r.Header.Set("Idempotency-Key", fmt.Sprint("k-", n.Add(1)))
					resp, err := client.Do(r)
					if err != nil {
						b.Fatal(err)
					}
					if io.Copy(io.Discard, resp.Body); resp.StatusCode != http.StatusOK {
						b.Fatalf("the status is %s, want 200", resp.Status)
					}
					resp.Body.Close()
				}
			})
		})
	}
}
