package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/histogram"
)

// Metrics exports the counters of a client, its guards and its engine until stop is called.
// The figures are those of package observe/prom. They are read when they are exported, so
// they cost locks and guards nothing.
//
// OpenTelemetry has no histogram that is read when it is exported, so the histograms of
// locks and guards are exported as two counters each, .sum and .count. The requests to
// servers are a histogram, because an observer of the engine records each of them.
func Metrics(client *interlock.Client, opts ...Option) (stop func(), err error) {
	m := &meter{Meter: newConfig(opts).meters.Meter(scope)}
	m.define()
	if m.err != nil {
		return nil, m.err
	}
	registration, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, s := range client.LockStats() {
			m.observeLock(o, &s)
		}
		for name, s := range guard.StatsOf(client) {
			m.observeGuard(o, name, &s)
		}
		return nil
	}, m.all...)
	if err != nil {
		return nil, err
	}
	unobserve := func() {}
	if observe := client.Engine().Capabilities().Observe; observe != nil {
		unobserve = observe(m.called)
	}
	return func() {
		unobserve()
		_ = registration.Unregister() // fails only for a registration of another meter
	}, nil
}

// A meter has the instruments.
type meter struct {
	metric.Meter
	all []metric.Observable
	err error

	acquire, handedOver, renewal, lost, release, cleanUp, dropped metric.Int64ObservableCounter
	held, waiters                                                 metric.Int64ObservableGauge
	wait, hold                                                    durations

	calls, coalesced, claims, settled, claimRenewal, claimLost, claimCleanUp, degraded metric.Int64ObservableCounter
	running, duplicates                                                                metric.Int64ObservableGauge
	execution, verdict                                                                 durations

	request metric.Float64Histogram
}

// durations are a histogram without its buckets.
type durations struct {
	sum   metric.Float64ObservableCounter
	count metric.Int64ObservableCounter
}

// The attributes that only metrics have.
const (
	reasonKey    = attribute.Key("interlock.reason")
	verdictKey   = attribute.Key("interlock.verdict")
	endingKey    = attribute.Key("interlock.ending")
	modeKey      = attribute.Key("interlock.mode")
	operationKey = attribute.Key("interlock.operation")
	nodeKey      = attribute.Key("interlock.node")
	errorKey     = attribute.Key("error.type")
)

func (m *meter) define() {
	m.acquire = m.counter("lock.acquire", "Attempts to acquire a lock, by result: acquired, busy, timeout, cancelled or error.")
	m.handedOver = m.counter("lock.handed_over", "Locks that another holder of this process handed over, without a request to the engine.")
	m.wait = m.durations("lock.wait", "Time that callers waited for locks that they acquired.")
	m.hold = m.durations("lock.hold", "Time that locks were held.")
	m.held = m.gauge("lock.held", "Locks that this process holds.")
	m.waiters = m.gauge("lock.waiters", "Goroutines of this process that wait for a lock.")
	m.renewal = m.counter("lock.renewal", "Renewals of leases, by result: ok, or error if it failed and was retried.")
	m.lost = m.counter("lock.lost", "Locks lost before their release, by reason: expired, max-hold, revoked, closed, switched or not-holder.")
	m.release = m.counter("lock.release", "Releases, by result: ok, or error if the lease had to expire.")
	m.cleanUp = m.counter("lock.clean_up", "Acquisitions without an answer that were undone.")
	m.dropped = m.counter("lock.dropped", "Holds ended by ReleaseAll or Close.")

	m.calls = m.counter("guard.calls", "Calls of guards, by verdict.")
	m.coalesced = m.counter("guard.coalesced", "Calls answered in this process, without a request to the engine.")
	m.claims = m.counter("guard.claims", "Claims sent to the engine.")
	m.settled = m.counter("guard.settled", "Claims that ended, by ending.")
	m.execution = m.durations("guard.execution", "Time from a claim to its settlement.")
	m.verdict = m.durations("guard.wait", "Time that calls waited for their verdict.")
	m.running = m.gauge("guard.running", "Claims that this process holds.")
	m.duplicates = m.gauge("guard.waiters", "Duplicates of this process that wait for the first call.")
	m.claimRenewal = m.counter("guard.renewal", "Renewals of claims, by result: ok, or error if it failed and was retried.")
	m.claimLost = m.counter("guard.lost", "Claims lost while the work ran.")
	m.claimCleanUp = m.counter("guard.clean_up", "Claims without an answer that were undone.")
	m.degraded = m.counter("guard.degraded", "Runs with less protection because the engine was down, by mode: unguarded, or local if only this process guarded them.")

	var bounds []float64
	for _, b := range histogram.Bounds {
		bounds = append(bounds, b.Seconds())
	}
	var err error
	m.request, err = m.Float64Histogram("interlock.engine.request", metric.WithUnit("s"),
		metric.WithDescription("Time of requests to a server, by operation, such as the name of a script."),
		metric.WithExplicitBucketBoundaries(bounds...))
	m.err = errors.Join(m.err, err)
}

func (m *meter) counter(name, help string) metric.Int64ObservableCounter {
	c, err := m.Int64ObservableCounter("interlock."+name, metric.WithDescription(help))
	m.add(c, err)
	return c
}

func (m *meter) gauge(name, help string) metric.Int64ObservableGauge {
	g, err := m.Int64ObservableGauge("interlock."+name, metric.WithDescription(help))
	m.add(g, err)
	return g
}

func (m *meter) durations(name, help string) durations {
	sum, err := m.Float64ObservableCounter("interlock."+name+".sum", metric.WithUnit("s"), metric.WithDescription(help))
	m.add(sum, err)
	return durations{sum, m.counter(name+".count", help)}
}

func (m *meter) add(o metric.Observable, err error) {
	m.all, m.err = append(m.all, o), errors.Join(m.err, err)
}

func (m *meter) observeLock(o metric.Observer, s *interlock.LockStats) {
	about := []attribute.KeyValue{nameKey.String(valid(s.Name)), kindKey.String(s.Kind.String())}
	count(o, m.acquire, s.Acquired, about, resultKey.String("acquired"))
	count(o, m.acquire, s.Busy, about, resultKey.String("busy"))
	count(o, m.acquire, s.TimedOut, about, resultKey.String("timeout"))
	count(o, m.acquire, s.Contended-min(s.Contended, s.Busy+s.TimedOut), about, resultKey.String("cancelled"))
	count(o, m.acquire, s.Failed, about, resultKey.String("error"))
	count(o, m.handedOver, s.HandedOver, about)
	m.wait.observe(o, s.Wait, about)
	m.hold.observe(o, s.Hold, about)
	o.ObserveInt64(m.held, s.Live, metric.WithAttributes(about...))
	o.ObserveInt64(m.waiters, s.Waiting, metric.WithAttributes(about...))
	count(o, m.renewal, s.Renewed, about, resultKey.String("ok"))
	count(o, m.renewal, s.RenewFailed, about, resultKey.String("error"))
	for reason, n := range s.LostBy {
		count(o, m.lost, n, about, reasonKey.String(reason))
	}
	count(o, m.release, s.Released, about, resultKey.String("ok"))
	count(o, m.release, s.ReleaseFailed, about, resultKey.String("error"))
	count(o, m.cleanUp, s.CleanedUp, about)
	count(o, m.dropped, s.Dropped, about)
}

func (m *meter) observeGuard(o metric.Observer, name string, s *guard.Stats) {
	about := []attribute.KeyValue{nameKey.String(valid(name))}
	for verdict, n := range s.Verdicts {
		count(o, m.calls, n, about, verdictKey.String(string(verdict)))
	}
	count(o, m.coalesced, s.Coalesced, about)
	count(o, m.claims, s.Asked, about)
	for ending, n := range s.Endings {
		count(o, m.settled, n, about, endingKey.String(string(ending)))
	}
	m.execution.observe(o, s.Execution, about)
	m.verdict.observe(o, s.Wait, about)
	o.ObserveInt64(m.running, s.Running, metric.WithAttributes(about...))
	o.ObserveInt64(m.duplicates, s.Waiting, metric.WithAttributes(about...))
	count(o, m.claimRenewal, s.Renewed, about, resultKey.String("ok"))
	count(o, m.claimRenewal, s.NotRenewed, about, resultKey.String("error"))
	count(o, m.claimLost, s.Lost, about)
	count(o, m.claimCleanUp, s.CleanedUp, about)
	count(o, m.degraded, s.Verdicts[guard.Unguarded], about, modeKey.String("unguarded"))
	count(o, m.degraded, s.Local, about, modeKey.String("local"))
}

func count(o metric.Observer, c metric.Int64Observable, n uint64, about []attribute.KeyValue, more ...attribute.KeyValue) {
	o.ObserveInt64(c, int64(n), metric.WithAttributes(about...), metric.WithAttributes(more...)) //nolint:gosec // 2^63 events are out of reach
}

func (d durations) observe(o metric.Observer, h interlock.Histogram, about []attribute.KeyValue) {
	o.ObserveFloat64(d.sum, h.Sum.Seconds(), metric.WithAttributes(about...))
	count(o, d.count, h.Count, about)
}

// called records a request to a server.
func (m *meter) called(c engine.ServerCall) {
	about := []attribute.KeyValue{operationKey.String(c.Operation), nodeKey.String(c.Node)}
	if problem := c.Problem(); problem != "" {
		about = append(about, errorKey.String(problem))
	}
	m.request.Record(context.Background(), c.Took.Seconds(), metric.WithAttributes(about...))
}
