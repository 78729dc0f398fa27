package enginetest

import (
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Laws of health reports (requirements S8 and T7).
var healthLaws = []Law{
	{"health", "a healthy engine reports its topology", func(b *testbed) {
		for _, h := range b.allHealth() {
			if h.Topology == "" || len(h.Nodes)+len(h.Parts) == 0 {
				b.errorf("the topology is %q with %d nodes and %d parts, want a topology and at least one of them", h.Topology, len(h.Nodes), len(h.Parts))
			}
		}
	}},
	{"health", "every node that answers has an address, a role, a version and a run", func(b *testbed) {
		for _, n := range b.nodes() {
			if n.Err == nil && (n.Addr == "" || n.Role == "" || n.Version == "" || n.ID == "") {
				b.errorf("a node has address %q, role %q, version %q and run %q, want none of them empty", n.Addr, n.Role, n.Version, n.ID)
			}
		}
	}},
	{"health", "an engine that grants locks has a primary that answers", func(b *testbed) {
		b.granted(b.ask(ann))
		for _, n := range b.nodes() {
			if n.Role == engine.Primary && n.Err == nil {
				return
			}
		}
		b.errorf("no node is a primary that answers: %+v", b.nodes())
	}},
	{"health", "a probe leaves locks as they are", func(b *testbed) {
		a := b.ask(ann)
		g := b.granted(a)
		b.nodes()
		b.heldBy(a)
		if after := b.granted(asRetry(a)); after.Fence != g.Fence {
			b.errorf("the fence was %d and is %d", g.Fence, after.Fence)
		}
	}},
	{"health", "repeated probes report the same run of a server", func(b *testbed) {
		type run struct{ addr, id string }
		seen := make(map[run]bool)
		for _, n := range b.nodes() {
			seen[run{n.Addr, n.ID}] = true
		}
		for _, n := range b.nodes() {
			if n.Err == nil && !seen[run{n.Addr, n.ID}] && !seen[run{n.Addr, ""}] {
				b.errorf("run %q at %s was not reported before: %v", n.ID, n.Addr, seen)
			}
		}
	}},
	{"health", "a probe whose context is done fails", func(b *testbed) {
		b.wantCanceled(errOf(b.prober().Probe(b.doneContext())))
	}},
	{"health", "a probe reports the offset of a moved clock", func(b *testbed) {
		before, moved := b.offsets(), false
		clock := b.clock()
		clock.Step(time.Hour)
		for addr, d := range b.offsets() {
			more := d - before[addr]
			moved = moved || more > time.Hour-time.Minute && more < time.Hour+time.Minute
		}
		if !moved {
			b.errorf("after the clock was moved by 1h the offsets are %v; before they were %v", b.offsets(), before)
		}
	}},
}

// prober returns the prober of the engine. Without one it skips the law.
func (b *testbed) prober() engine.Prober {
	p := b.Capabilities().Prober
	if p == nil {
		b.skip("the engine has no prober")
	}
	return p
}

// allHealth returns the health of the engine and of all its parts.
func (b *testbed) allHealth() []engine.Health {
	h, err := b.prober().Probe(b.ctx)
	if err != nil {
		b.fatalf("probe: %v", err)
	}
	all := []engine.Health{h}
	for i := 0; i < len(all); i++ {
		all = append(all, all[i].Parts...)
	}
	return all
}

// nodes returns the nodes of the engine and of all its parts.
func (b *testbed) nodes() (all []engine.Node) {
	for _, h := range b.allHealth() {
		all = append(all, h.Nodes...)
	}
	return all
}

// offsets returns the clock offset of each primary, by address.
func (b *testbed) offsets() map[string]time.Duration {
	off := make(map[string]time.Duration)
	for _, n := range b.nodes() {
		if n.Role == engine.Primary && n.Err == nil {
			off[n.Addr] = n.Offset
		}
	}
	return off
}
