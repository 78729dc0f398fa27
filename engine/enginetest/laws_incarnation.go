package enginetest

import "github.com/interlock-go/interlock/engine"

// Incarnations (T11): a restarted node must not vote at once.
var memoryLaws = []Law{
	{"incarnation", "an incarnation keeps its id", func(b *bench) {
		first := b.memory()
		b.granted(b.ask(ann))
		b.pass(b.Lease / 10)
		if second := b.memory(); first.ID == "" || second.ID != first.ID {
			b.errorf("the memory was %q and is %q", first.ID, second.ID)
		}
	}},
	{"incarnation", "an incarnation ages no faster than time", func(b *bench) {
		first := b.memory()
		b.passAll()
		second := b.memory()
		if first.Age < 0 || second.Age < first.Age {
			b.errorf("the memory reached back %v, and then %v", first.Age, second.Age)
		}
	}},
	{"incarnation", "an incarnation does not change while the engine does not reconnect", func(b *bench) {
		m := b.rememberer()
		before, id := m.Connections(), b.memory().ID
		a := b.ask(ann)
		b.granted(a)
		b.leaves(a, engine.Released)
		b.pass(b.Lease / 10)
		if after := m.Connections(); before > 0 && before == after && b.memory().ID != id {
			b.errorf("the memory has changed without a new connection")
		}
	}},
	{"incarnation", "asking for an incarnation with a done context fails", func(b *bench) {
		b.cancelled(second(b.rememberer().Incarnation(b.done())))
	}},
}

// rememberer is the engine's. Without one it skips the law.
func (b *bench) rememberer() engine.Incarnations {
	m := b.Capabilities().Incarnations
	if m == nil {
		b.skip("the engine does not tell how far its memory reaches back")
	}
	return m
}

// memory is that of the engine.
func (b *bench) memory() engine.Incarnation {
	m, err := b.rememberer().Incarnation(b.ctx)
	if err != nil {
		b.fatalf("memory: %v", err)
	}
	return m
}
