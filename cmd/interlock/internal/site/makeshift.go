package site

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

type makeshift struct{ *http.ServeMux }

func (makeshift) Close(context.Context) error { return nil }

func (s *Site) guarded(Options) (gate, http.Handler, error) {
	to, err := url.Parse(s.Shop)
	if err != nil {
		return nil, nil, err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		if f, ok := guard.Fence(r.In.Context()); ok {
			r.Out.Header.Set("Interlock-Fence", time.Duration(f).String())
		}
	}}
	mux := http.NewServeMux()
	mux.Handle("/", proxy)
	submit := func(path, field string, p guard.Policy) {
		p.Scope = guard.Global
		mux.Handle("POST "+path, interlockhttp.Must(interlockhttp.Submit(s.client, p, interlockhttp.Key(interlockhttp.JSONField(field)))).Wrap(proxy))
	}
	submit("/lock-release-fast", "order", guard.Policy{Name: "fast", After: guard.Free, Lease: 10 * time.Second})
	submit("/lock-release-slow", "order", guard.Policy{Name: "slow", After: guard.Free, Lease: 5 * time.Second})
	submit("/lock-timeout-test", "order", guard.Policy{Name: "timeout", After: guard.Free, Lease: 2 * time.Second})
	submit("/concurrent-test", "order", guard.Policy{Name: "concurrent", After: guard.Window, Window: 2 * time.Second})
	submit("/setnx-test", "order", guard.Policy{Name: "setnx", After: guard.Window, Window: 3 * time.Second})
	submit("/orders", "cart", guard.Click("click"))
	once := func(path string, p guard.Policy, opts ...interlockhttp.Option) {
		p.Scope = guard.Global
		mux.Handle("POST "+path, interlockhttp.Must(interlockhttp.Once(s.client, p, opts...)).Wrap(proxy))
	}
	once("/payments", guard.Charge("payment"))
	imp := guard.Import("import")
	imp.OnDuplicate, imp.Wait = guard.Wait, 10*time.Second
	once("/imports", imp, interlockhttp.Key(interlockhttp.Query("day")))
	lock := func(pattern, name string, src interlockhttp.Source, opts ...interlock.Option) {
		wrap, err := interlockhttp.Lock(s.client, name, src, interlockhttp.Locking(append(opts, interlock.Wait(20*time.Second))...))
		if err != nil {
			panic(err)
		}
		mux.Handle(pattern, wrap(proxy))
	}
	lock("POST /desks/{id}", "desk", interlockhttp.PathValue("id"), interlock.Fair())
	lock("POST /sale/{sku}", "sale", interlockhttp.PathValue("sku"), interlock.Fair())
	lock("POST /stock/{sku}/move", "stock", interlockhttp.PathValue("sku"))
	lock("POST /stock/{sku}/take", "stock", interlockhttp.PathValue("sku"))
	lock("GET /stock/{sku}", "stock", interlockhttp.PathValue("sku"))
	lock("POST /users", "register", interlockhttp.JSONField("phone"))
	lock("POST /accounts/{id}/deduct", "account", interlockhttp.PathValue("id"))
	lock("POST /orders/{id}/pay", "order", interlockhttp.PathValue("id"))
	lock("POST /orders/{id}/cancel", "order", interlockhttp.PathValue("id"))
	return makeshift{mux}, nil, nil
}
