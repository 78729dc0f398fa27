// Package metrics exports the counters of a gateway to Prometheus.
//
//	http.Handle("/metrics", prom.New(client).Handler(metrics.New(g, nil)))
//
// The counters are those of [gateway.Gateway.Traffic]. A reload does not reset them. The
// label rule is the name of a rule, and the label upstream is the host and port of a server:
// both come from the configuration, never from a request.
package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/observe/prom"
)

var (
	families []prom.Metric      // in the order of the documentation
	descs    []*prometheus.Desc // in the same order
)

func define(kind, name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc("interlock_"+name, help, labels, nil)
	families, descs = append(families, prom.Metric{Name: "interlock_" + name, Type: kind, Help: help, Labels: labels}), append(descs, d)
	return d
}

var (
	requests   = define("counter", "gateway_requests_total", "Requests that a rule handled, by outcome: ran, replayed, refused, waited, unguarded, local, shadowed, unknown or failed. Requests without a rule: unmatched, refused or token.", "rule", "outcome")
	inFlight   = define("gauge", "gateway_in_flight", "Requests that are being answered now.")
	took       = define("histogram", "gateway_upstream_seconds", "Time until a server of the upstream sent the header of its response, or failed.", "upstream")
	failed     = define("counter", "gateway_upstream_errors_total", "Requests to a server of the upstream without a complete response, by error: unreachable, timeout, broken or cancelled.", "upstream", "error")
	successful = define("gauge", "config_last_reload_successful", "Whether the last reload of the configuration succeeded; 1 before the first one.")
	reloadedAt = define("gauge", "config_last_reload_timestamp_seconds", "When the configuration was last loaded, or failed to load.")
)

// Metrics lists all families, in the order of the documentation.
func Metrics() []prom.Metric { return slices.Clone(families) }

// A Collector exports the counters of one gateway.
type Collector struct {
	gateway  *gateway.Gateway
	reloaded func() (at time.Time, ok bool)
	began    time.Time
}

// New returns a collector. reloaded returns when the configuration was last reloaded, and
// whether that succeeded; a zero time means never. It may be nil.
func New(g *gateway.Gateway, reloaded func() (at time.Time, ok bool)) *Collector {
	return &Collector{gateway: g, reloaded: reloaded, began: time.Now()}
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range descs {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	t := c.gateway.Traffic()
	for name, outcomes := range t.Rules {
		for outcome, n := range outcomes {
			out <- prometheus.MustNewConstMetric(requests, prometheus.CounterValue, float64(n), prom.Label(name), outcome)
		}
	}
	out <- gauge(inFlight, float64(t.InFlight))
	for host, s := range t.Upstreams {
		out <- prom.Histogram(took, s.Took, prom.Label(host))
		for word, n := range s.Errors {
			out <- prometheus.MustNewConstMetric(failed, prometheus.CounterValue, float64(n), prom.Label(host), word)
		}
	}
	when, ok := c.lastReload()
	out <- gauge(reloadedAt, float64(when.UnixMilli())/1000)
	if ok {
		out <- gauge(successful, 1)
	} else {
		out <- gauge(successful, 0)
	}
}

// lastReload returns the last reload, or the start.
func (c *Collector) lastReload() (at time.Time, ok bool) {
	if c.reloaded != nil {
		at, ok = c.reloaded()
	}
	if at.IsZero() {
		return c.began, true
	}
	return at, ok
}

func gauge(d *prometheus.Desc, value float64) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value)
}
