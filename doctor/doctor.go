// Package doctor reads how an engine is and says what it promises, what is wrong
// with it, and what to change.
//
//	h, err := engine.Capabilities().Prober.Probe(ctx)
//	report := doctor.Examine(h)
//	for _, f := range report.Findings {
//		fmt.Println(f.Severity, f.Node, f.Seen.In(doctor.English), f.Commands)
//	}
//
// It only thinks: it asks nobody, and changes nothing. What an engine does not tell
// it cannot know. So a report without findings says that nothing was found, of what
// was looked at, at that moment.
package doctor

import (
	"cmp"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A Report is what came of an examination.
type Report struct {
	// Health is what was examined.
	Health engine.Health

	// Promises are what the engine promises as it is set up, and for two engines
	// with a switch what each side promises as well.
	Promises []Promise

	// Findings are the worst first.
	Findings []Finding
}

// Examine reads how an engine is.
func Examine(h engine.Health, opts ...Option) Report {
	x := &exam{lease: 30 * time.Second, timeout: 2 * time.Second}
	for _, opt := range opts {
		opt(x)
	}
	x.engine(h, "")
	slices.SortStableFunc(x.findings, func(a, b Finding) int { return cmp.Compare(rank(a.Severity), rank(b.Severity)) })
	return Report{Health: h, Promises: promises(h), Findings: x.findings}
}

// An Option tells [Examine] how the engine is used.
type Option func(*exam)

// Lease is the shortest lease of the locks. Clocks are compared with it. The
// default is 30 s, also for a d that is not above zero.
func Lease(d time.Duration) Option {
	return func(x *exam) {
		if d > 0 {
			x.lease = d
		}
	}
}

// Timeout is how long a call may take, with which the latency is compared, if the
// engine does not tell. The default is 2 s, also for a d that is not above zero.
func Timeout(d time.Duration) Option {
	return func(x *exam) {
		if d > 0 {
			x.timeout = d
		}
	}
}

// Worst returns the severity of the worst finding, or "" if there is none.
func (r Report) Worst() Severity {
	if len(r.Findings) == 0 {
		return ""
	}
	return r.Findings[0].Severity
}

// Count returns how many findings have a severity.
func (r Report) Count(s Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Reached reports whether any server that can grant locks has answered.
func (r Report) Reached() bool { return reached(r.Health) }

func reached(h engine.Health) bool {
	for _, n := range h.Nodes {
		if n.Role != engine.Watcher && n.Err == nil {
			return true
		}
	}
	return slices.ContainsFunc(h.Parts, reached)
}

// An exam is an examination under way.
type exam struct {
	lease, timeout time.Duration
	acks           string
	inQuorum       bool
	findings       []Finding
}

// whole examines an engine, and then its parts.
func (x *exam) engine(h engine.Health, name string) {
	x.acks = h.Acks
	if h.Timeout > 0 {
		x.timeout = h.Timeout
	}
	for _, text := range h.Notices {
		x.find(Notice, name, text)
	}
	if h.Topology == engine.Embedded {
		return // it has no settings
	}
	for _, n := range h.Nodes {
		x.node(h.Topology, n)
	}
	switch h.Topology {
	case engine.Sentinel:
		x.sentinels(h)
	case engine.Cluster:
		x.cluster(h)
	case engine.Quorum:
		x.quorum(h)
	}
	x.clocks(h)
	for _, part := range h.Parts {
		x.inQuorum = h.Topology == engine.Quorum
		x.engine(part, part.Name)
	}
	x.inQuorum = false
}
