package prom

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/woven"
)

// A metric describes one family of series.
type metric struct {
	name, kind, help string
	labels           []string
	desc             *prometheus.Desc
}

// metrics lists all of them, in the order of the documentation.
var metrics []*metric

func define(kind, name, help string, labels ...string) *metric {
	m := &metric{name: "interlock_" + name, kind: kind, help: help, labels: labels}
	m.desc = prometheus.NewDesc(m.name, help, labels, nil)
	metrics = append(metrics, m)
	return m
}

func counter(name, help string, labels ...string) *metric {
	return define("counter", name, help, labels...)
}

func gauge(name, help string, labels ...string) *metric {
	return define("gauge", name, help, labels...)
}

func histogram(name, help string, labels ...string) *metric {
	return define("histogram", name, help, labels...)
}

var (
	lockAcquire  = counter("lock_acquire_total", "Attempts to acquire a lock, by result: acquired, busy, timeout, cancelled or error.", "name", "kind", "result")
	lockHandover = counter("lock_handed_over_total", "Locks that another holder of this process handed over, without a request to the engine.", "name", "kind")
	lockWait     = histogram("lock_wait_seconds", "Time that callers waited for locks that they acquired.", "name", "kind")
	lockHold     = histogram("lock_hold_seconds", "Time that locks were held.", "name", "kind")
	lockHeld     = gauge("lock_held", "Locks that this process holds.", "name", "kind")
	lockWaiters  = gauge("lock_waiters", "Goroutines of this process that wait for a lock.", "name", "kind")
	lockRenewal  = counter("lock_renewal_total", "Renewals of leases, by result: ok, or error if it failed and was retried.", "name", "kind", "result")
	lockLost     = counter("lock_lost_total", "Locks lost before their release, by reason: expired, max-hold, revoked, closed, switched or not-holder.", "name", "kind", "reason")
	lockRelease  = counter("lock_release_total", "Releases, by result: ok, or error if the lease had to expire.", "name", "kind", "result")
	lockCleanUp  = counter("lock_clean_up_total", "Acquisitions without an answer that were undone.", "name", "kind")
	lockDropped  = counter("lock_dropped_total", "Holds ended by ReleaseAll or Close.", "name", "kind")

	guardCalls     = counter("guard_calls_total", "Calls of guards, by verdict: granted, replayed, refused, mismatch, unknown, failed, no-result, unguarded, down or gave-up.", "name", "verdict")
	guardCoalesced = counter("guard_coalesced_total", "Calls answered in this process, without a request to the engine.", "name")
	guardClaims    = counter("guard_claims_total", "Claims sent to the engine.", "name")
	guardSettled   = counter("guard_settled_total", "Claims that ended, by ending: completed, tombstoned, kept-error, freed, unknown, late, not-stored or stored-late.", "name", "ending")
	guardExecution = histogram("guard_execution_seconds", "Time from a claim to its settlement.", "name")
	guardWait      = histogram("guard_wait_seconds", "Time that calls waited for their verdict.", "name")
	guardRunning   = gauge("guard_running", "Claims that this process holds.", "name")
	guardWaiters   = gauge("guard_waiters", "Duplicates of this process that wait for the first call.", "name")
	guardRenewal   = counter("guard_renewal_total", "Renewals of claims, by result: ok, or error if it failed and was retried.", "name", "result")
	guardLost      = counter("guard_lost_total", "Claims lost while the work ran.", "name")
	guardCleanUp   = counter("guard_clean_up_total", "Claims without an answer that were undone.", "name")
	guardDegraded  = counter("guard_degraded_total", "Runs with less protection because the engine was down, by mode: unguarded, or local if only this process guarded them.", "name", "mode")

	tokenIssued   = counter("token_issued_total", "Tokens issued, by the name of their form.", "name")
	tokenRedeemed = counter("token_redeemed_total", "Tokens that clients sent, by result: ok, used, expired or unknown.", "name", "result")

	engineRequest = histogram("engine_request_seconds", "Time of requests to a server, by operation, such as the name of a script.", "operation", "node")
	engineErrors  = counter("engine_errors_total", "Requests to a server without a valid answer, by error: unavailable, timeout, overloaded, full, refused or other.", "operation", "node", "error")
	engineUp      = gauge("engine_up", "Whether the server answered the last request or probe.", "node")
	engineSkew    = gauge("engine_clock_skew_seconds", "The server's clock minus ours at the last probe, exact to half a round trip.", "node")

	weaveSites = gauge("weave_sites", "Directives that were called with this client, by verb and state: valid, or invalid if their calls are refused.", "verb", "state")

	buildInfo = gauge("build_info", "Always 1; the labels have the versions.", "version", "goversion")
)

// output writes series.
type output chan<- prometheus.Metric

func (o output) counter(m *metric, value uint64, labels ...string) {
	o <- prometheus.MustNewConstMetric(m.desc, prometheus.CounterValue, float64(value), valid(labels)...)
}

func (o output) gauge(m *metric, value int64, labels ...string) {
	o <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, float64(value), valid(labels)...)
}

func (o output) flag(m *metric, value bool, labels ...string) {
	n := int64(0)
	if value {
		n = 1
	}
	o.gauge(m, n, labels...)
}

func (o output) seconds(m *metric, value time.Duration, labels ...string) {
	o <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, value.Seconds(), valid(labels)...)
}

func (o output) histogram(m *metric, h interlock.Histogram, labels ...string) {
	o <- Histogram(m.desc, h, valid(labels)...)
}

func valid(labels []string) []string {
	for i, l := range labels {
		labels[i] = Label(l)
	}
	return labels
}

// Label returns a name as the value of a label. Prometheus refuses a whole scrape if a
// value is not UTF-8, or if two series are equal, so invalid bytes are escaped: "\xff". In a
// name with invalid bytes, or with the characters \x, each backslash is doubled.
func Label(name string) string {
	if utf8.ValidString(name) && !strings.Contains(name, `\x`) {
		return name
	}
	var b strings.Builder
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, name[0])
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteString(name[:size])
		}
		name = name[size:]
	}
	return b.String()
}

func (o output) lock(s *interlock.LockStats) {
	name, kind := s.Name, s.Kind.String()
	o.counter(lockAcquire, s.Acquired, name, kind, "acquired")
	o.counter(lockAcquire, s.Busy, name, kind, "busy")
	o.counter(lockAcquire, s.TimedOut, name, kind, "timeout")
	o.counter(lockAcquire, s.Contended-min(s.Contended, s.Busy+s.TimedOut), name, kind, "cancelled")
	o.counter(lockAcquire, s.Failed, name, kind, "error")
	o.counter(lockHandover, s.HandedOver, name, kind)
	o.histogram(lockWait, s.Wait, name, kind)
	o.histogram(lockHold, s.Hold, name, kind)
	o.gauge(lockHeld, s.Live, name, kind)
	o.gauge(lockWaiters, s.Waiting, name, kind)
	o.counter(lockRenewal, s.Renewed, name, kind, "ok")
	o.counter(lockRenewal, s.RenewFailed, name, kind, "error")
	for reason, n := range s.LostBy {
		o.counter(lockLost, n, name, kind, reason)
	}
	o.counter(lockRelease, s.Released, name, kind, "ok")
	o.counter(lockRelease, s.ReleaseFailed, name, kind, "error")
	o.counter(lockCleanUp, s.CleanedUp, name, kind)
	o.counter(lockDropped, s.Dropped, name, kind)
}

func (o output) guard(name string, s *guard.Stats) {
	for verdict, n := range s.Verdicts {
		o.counter(guardCalls, n, name, string(verdict))
	}
	o.counter(guardCoalesced, s.Coalesced, name)
	o.counter(guardClaims, s.Asked, name)
	for ending, n := range s.Endings {
		o.counter(guardSettled, n, name, string(ending))
	}
	o.histogram(guardExecution, s.Execution, name)
	o.histogram(guardWait, s.Wait, name)
	o.gauge(guardRunning, s.Running, name)
	o.gauge(guardWaiters, s.Waiting, name)
	o.counter(guardRenewal, s.Renewed, name, "ok")
	o.counter(guardRenewal, s.NotRenewed, name, "error")
	o.counter(guardLost, s.Lost, name)
	o.counter(guardCleanUp, s.CleanedUp, name)
	o.counter(guardDegraded, s.Verdicts[guard.Unguarded], name, "unguarded")
	o.counter(guardDegraded, s.Local, name, "local")
}

func (o output) token(form string, s *guard.TokenStats) {
	o.counter(tokenIssued, s.Issued, form)
	o.counter(tokenRedeemed, s.Redeemed, form, "ok")
	o.counter(tokenRedeemed, s.Used, form, "used")
	o.counter(tokenRedeemed, s.Expired, form, "expired")
	o.counter(tokenRedeemed, s.Unknown, form, "unknown")
}

// sites counts the directives of each verb.
func (o output) sites(all map[*woven.Site]error) {
	type group struct{ verb, state string }
	counts := make(map[group]int64)
	for site, err := range all {
		state := "valid"
		if err != nil {
			state = "invalid"
		}
		counts[group{site.Verb, state}]++
	}
	for g, n := range counts {
		o.gauge(weaveSites, n, g.verb, g.state)
	}
}

// A Metric describes one family of series, for documentation.
type Metric struct {
	Name, Type, Help string
	Labels           []string
}

// Metrics lists all families, in the order of the documentation.
func Metrics() []Metric {
	var all []Metric
	for _, m := range metrics {
		all = append(all, Metric{m.name, m.kind, m.help, slices.Clone(m.labels)})
	}
	return all
}
