package enginetest

import "github.com/interlock-go/interlock/engine"

// Incarnations (requirement T11): a restarted node must not vote at once.
var incarnationLaws = []Law{
	{"incarnation", "an incarnation keeps its id", func(b *testbed) {
		first := b.incarnation()
		b.granted(b.ask(ann))
		b.sleep(b.Lease / 10)
		if second := b.incarnation(); first.ID == "" || second.ID != first.ID {
			b.errorf("the id went from %q to %q", first.ID, second.ID)
		}
	}},
	{"incarnation", "the age of an incarnation never falls", func(b *testbed) {
		first := b.incarnation()
		b.sleepPastLease()
		second := b.incarnation()
		if first.Age < 0 || second.Age < first.Age {
			b.errorf("the age went from %v to %v", first.Age, second.Age)
		}
	}},
	{"incarnation", "an incarnation does not change while the engine does not reconnect", func(b *testbed) {
		m := b.incarnations()
		before, id := m.Connections(), b.incarnation().ID
		a := b.ask(ann)
		b.granted(a)
		b.releases(a, engine.Released)
		b.sleep(b.Lease / 10)
		if after := m.Connections(); before > 0 && before == after && b.incarnation().ID != id {
			b.errorf("the incarnation changed without a new connection")
		}
	}},
	{"incarnation", "asking for an incarnation with a done context fails", func(b *testbed) {
		b.wantCanceled(errOf(b.incarnations().Incarnation(b.doneContext())))
	}},
}

// incarnations returns the Incarnations of the engine. Without them it skips the law.
func (b *testbed) incarnations() engine.Incarnations {
	m := b.Capabilities().Incarnations
	if m == nil {
		b.skip("the engine does not report incarnations")
	}
	return m
}

// incarnation returns the current incarnation of the engine.
func (b *testbed) incarnation() engine.Incarnation {
	m, err := b.incarnations().Incarnation(b.ctx)
	if err != nil {
		b.fatalf("incarnation: %v", err)
	}
	return m
}
