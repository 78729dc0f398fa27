// Package prom exports the counters of a client, its guards and its engine to Prometheus.
//
//	client := interlock.New(engine)
//	http.Handle("/metrics", prom.New(client).Handler())
//
// The client keeps most of the counters anyway: [interlock.Client.LockStats],
// [guard.StatsOf] and [guard.TokenStatsOf] return them. The collector itself measures only
// requests to servers.
//
// The label name is the name of a directive, rule or policy, or that of
// [interlock.WithName]. For tokens, it is the name of the form. No key of a lock, and no
// idempotency key, is ever a label.
package prom

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/woven"
)

// A Collector exports the metrics of one client. Register it, or serve its Handler. To
// export several clients of a process, register each with a label of its own:
//
//	prometheus.WrapRegistererWith(prometheus.Labels{"client": "orders"}, registry).MustRegister(prom.New(orders))
type Collector struct {
	client  *interlock.Client
	servers servers
	prober  *prober
	stop    func()
}

// New returns a collector for a client, and for the clients made from it by With. It
// observes the engine until Close. A scrape never waits for a server: it begins a probe of
// the engine in the background, at most every 15 seconds, and shows the last result.
func New(client *interlock.Client) *Collector {
	caps := client.Engine().Capabilities()
	c := &Collector{client: client, prober: newProber(caps.Prober), stop: func() {}}
	c.servers.calls, c.servers.nodes = make(map[call]*requests), make(map[string]*atomic.Bool)
	if caps.Observe != nil {
		c.stop = caps.Observe(c.servers.called)
	}
	return c
}

// Close ends the observation of the engine. The counters stay.
func (c *Collector) Close() {
	c.stop()
	c.prober.close()
}

// Handler serves the metrics of the collector, of more collectors, of the Go runtime and
// of the process, in the text format or as OpenMetrics.
func (c *Collector) Handler(more ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(more...)
	registry.MustRegister(c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, m := range metrics {
		descs <- m.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	o := output(out)
	o.gauge(buildInfo, 1, version(), runtime.Version())
	for _, s := range c.client.LockStats() {
		o.lock(&s)
	}
	for name, s := range guard.StatsOf(c.client) {
		o.guard(name, &s)
	}
	for form, s := range guard.TokenStatsOf(c.client) {
		o.token(form, &s)
	}
	o.sites(woven.SitesOf(c.client))
	c.servers.collect(o, c.prober.nodes(c.servers.probed))
}

// version returns the version of Interlock in this program.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	const path = "github.com/interlock-go/interlock"
	if info.Main.Path == path {
		return info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return "unknown"
}
