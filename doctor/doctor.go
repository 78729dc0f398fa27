// Package doctor examines the health of an engine and reports its guarantees, its
// problems, and how to fix them.
//
//	h, err := engine.Capabilities().Prober.Probe(ctx)
//	report := doctor.Examine(h)
//	for _, f := range report.Findings {
//		fmt.Println(f.Severity, f.Node, f.Seen.In(doctor.English), f.Commands)
//	}
//
// It contacts no server and changes nothing: it only interprets the engine's health. A
// report without findings means that the examined settings had no problems at that time.
package doctor

import (
	"cmp"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A Report is the result of an examination.
type Report struct {
	// Health is the examined health.
	Health engine.Health

	// Guarantees are the guarantees of the engine. For a standby, the guarantees of its
	// two sides follow.
	Guarantees []Guarantee

	// Findings are sorted by severity, the worst first.
	Findings []Finding
}

// Examine examines the health of an engine.
func Examine(h engine.Health, opts ...Option) Report {
	x := &exam{lease: 30 * time.Second, timeout: 2 * time.Second}
	for _, opt := range opts {
		opt(x)
	}
	x.engine(h, "")
	// The sort is stable, so findings of one severity stay in the order of the servers.
	slices.SortStableFunc(x.findings, func(a, b Finding) int { return cmp.Compare(rank(a.Severity), rank(b.Severity)) })
	return Report{Health: h, Guarantees: guarantees(h), Findings: x.findings}
}

// An Option describes to [Examine] how the engine is used.
type Option func(*exam)

// Lease is the shortest lease of the locks; clock differences are compared with it.
// Default: 30s, also if d is not positive.
func Lease(d time.Duration) Option {
	return func(x *exam) {
		if d > 0 {
			x.lease = d
		}
	}
}

// Timeout is the timeout of calls; latencies are compared with it. It applies only if
// the engine does not report its timeout. Default: 2s, also if d is not positive.
func Timeout(d time.Duration) Option {
	return func(x *exam) {
		if d > 0 {
			x.timeout = d
		}
	}
}

// Worst returns the severity of the worst finding, or "" without findings.
func (r Report) Worst() Severity {
	if len(r.Findings) == 0 {
		return ""
	}
	return r.Findings[0].Severity
}

// Count returns the number of findings with a severity.
func (r Report) Count(s Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Reached reports whether at least one server that can grant locks was reachable.
func (r Report) Reached() bool { return reached(r.Health) }

// reached ignores sentinels, which cannot grant locks.
func reached(h engine.Health) bool {
	for _, n := range h.Nodes {
		if n.Role != engine.Watcher && n.Err == nil {
			return true
		}
	}
	return slices.ContainsFunc(h.Parts, reached)
}

// An exam is the state of an examination.
type exam struct {
	lease, timeout time.Duration // limits of clock differences and latencies are fractions of them
	acks           string        // the acks setting of the engine being examined
	product        engine.Product
	mayFail        bool // the engine being examined has a majority without each single server
	inQuorum       bool // the engine being examined is a node of a quorum, so it may fail alone
	findings       []Finding
}

// engine examines an engine and then its parts. The name is that of a part, or "" for the
// whole engine.
func (x *exam) engine(h engine.Health, name string) {
	// Each part sets its own values before its servers are examined.
	x.acks = h.Acks
	if h.Timeout > 0 {
		x.timeout = h.Timeout
	}
	x.product = productOf(h)
	x.mayFail = consensus(x.product) && len(h.Nodes) > 1
	for _, text := range h.Notices {
		x.find(Notice, name, text)
	}
	if h.Topology == engine.Embedded {
		return // the embedded engine has no settings
	}
	for _, n := range h.Nodes {
		x.node(h.Topology, n)
	}
	switch {
	case consensus(x.product):
		x.ensemble(h)
	case h.Topology == engine.Sentinel:
		x.sentinels(h)
	case h.Topology == engine.Cluster:
		x.cluster(h)
	case h.Topology == engine.Quorum:
		x.quorum(h)
	}
	// Each server has been examined by itself. This compares them with each other.
	x.clocks(h)
	for _, part := range h.Parts {
		// inQuorum is set for each part, because the recursive call resets it.
		x.inQuorum = h.Topology == engine.Quorum
		x.engine(part, part.Name)
	}
	x.inQuorum = false
}
