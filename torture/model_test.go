package torture

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-go/interlock/engine"
)

// A call is something asked of an engine, as a history has it.
type call struct {
	do      string // acquire, renew or release; to abandon is to release
	key     string
	attempt int // each has a holder of its own, so it stands for both
	kind    engine.Kind
	place   bool // it stands in line when refused
}

// An answer is what the engine said, or that nothing was heard of it.
type answer struct {
	said  string // granted, busy, renewed, not the holder, an engine.Outcome, or unknown
	fence uint64
	ahead int
}

const (
	granted   = "granted"
	busy      = "busy"
	renewed   = "renewed"
	notHolder = "not the holder"
	unknown   = "unknown" // the call had its effect, or will, or never does
)

// A model is what an engine ought to remember of one key, as long as no lease and
// no place runs out: who holds it, and who stands in line.
type model struct {
	holds []entry
	line  []entry
	wrote uint64 // the highest fence of an exclusive grant
	high  uint64 // the highest fence of any grant
}

// An entry is a holder or a waiter.
type entry struct {
	attempt int
	kind    engine.Kind
	fence   uint64 // zero until it is known
}

// judge returns a porcupine model of locks of every kind, by key. The outcome
// of a call without an answer is open until later calls show it.
func judge() porcupine.Model {
	nm := porcupine.NondeterministicModel{
		Partition: byKey,
		Init:      func() []any { return []any{model{}} },
		Step: func(state, input, output any) (next []any) {
			for _, m := range state.(model).step(input.(call), output.(answer)) {
				next = append(next, m)
			}
			return next
		},
		Equal: func(a, b any) bool { return a.(model).equal(b.(model)) },
	}
	return nm.ToModel()
}

func byKey(history []porcupine.Operation) (parts [][]porcupine.Operation) {
	at := make(map[string]int)
	for _, op := range history {
		key := op.Input.(call).key
		if _, ok := at[key]; !ok {
			at[key] = len(parts)
			parts = append(parts, nil)
		}
		parts[at[key]] = append(parts[at[key]], op)
	}
	return parts
}

// step returns what the engine may remember after a call with that answer;
// nothing if it cannot have answered so.
func (m model) step(c call, a answer) []model {
	holds := has(m.holds, c.attempt)
	switch c.do {
	case "acquire":
		return m.acquire(c, a)
	case "renew":
		if a.said == unknown || holds == (a.said == renewed) {
			return []model{m}
		}
	case "release":
		after := m.without(c.attempt)
		switch a.said {
		case unknown:
			return []model{m, after}
		case engine.Released.String():
			if holds {
				return []model{after}
			}
		case engine.AlreadyFree.String():
			if len(m.holds) == 0 {
				return []model{after}
			}
		case engine.NotYours.String():
			if !holds && len(m.holds) > 0 {
				return []model{after}
			}
		}
	}
	return nil
}

func (m model) acquire(c call, a answer) []model {
	holds := has(m.holds, c.attempt)
	free := holds || m.admits(c)
	switch a.said {
	case unknown:
		switch {
		case holds:
			return []model{m}
		case free:
			return []model{m, m.grant(c, 0)}
		}
		return []model{m, m.linedUp(c)}
	case busy:
		if !free && (c.kind == engine.Exclusive || a.ahead == m.ahead(c)) {
			return []model{m.linedUp(c)}
		}
	case granted:
		if free && m.rises(c, a.fence) {
			return []model{m.grant(c, a.fence)}
		}
	}
	return nil
}

// admits reports whether who does not hold the lock may have it now.
func (m model) admits(c call) bool {
	before := m.line[:m.ahead(c)]
	switch c.kind {
	case engine.Exclusive:
		return len(m.holds) == 0
	case engine.Read:
		isWriter := func(e entry) bool { return e.kind == engine.Write }
		return !slices.ContainsFunc(m.holds, isWriter) && !slices.ContainsFunc(before, isWriter)
	}
	return len(m.holds) == 0 && len(before) == 0
}

// ahead returns how many stand in line before who asks.
func (m model) ahead(c call) int {
	if i := slices.IndexFunc(m.line, func(e entry) bool { return e.attempt == c.attempt }); i >= 0 {
		return i
	}
	return len(m.line)
}

// rises reports whether a grant may have that fence: the one that its attempt was
// told before, if it was, and otherwise one above those of others. Readers at a
// time need not be above each other.
func (m model) rises(c call, fence uint64) bool {
	i := slices.IndexFunc(m.holds, func(e entry) bool { return e.attempt == c.attempt })
	switch {
	case i >= 0 && m.holds[i].fence != 0:
		return fence == m.holds[i].fence
	case c.kind == engine.Read:
		return fence > m.wrote
	}
	return fence > m.high
}

func (m model) grant(c call, fence uint64) model {
	m = m.without(c.attempt)
	m.holds = append(m.holds, entry{c.attempt, c.kind, fence}) // in order, so that the same ones are equal
	slices.SortFunc(m.holds, func(a, b entry) int { return cmp.Compare(a.attempt, b.attempt) })
	m.high = max(m.high, fence)
	if c.kind != engine.Read {
		m.wrote = max(m.wrote, fence)
	}
	return m
}

func (m model) linedUp(c call) model {
	if !c.place || c.kind == engine.Exclusive || has(m.line, c.attempt) {
		return m
	}
	m.line = append(slices.Clip(m.line), entry{attempt: c.attempt, kind: c.kind})
	return m
}

// without returns a model of its own in which an attempt has neither the lock nor
// a place.
func (m model) without(attempt int) model {
	is := func(e entry) bool { return e.attempt == attempt }
	m.holds = slices.DeleteFunc(slices.Clone(m.holds), is)
	m.line = slices.DeleteFunc(slices.Clone(m.line), is)
	return m
}

func (m model) equal(other model) bool {
	return m.wrote == other.wrote && m.high == other.high &&
		slices.Equal(m.holds, other.holds) && slices.Equal(m.line, other.line)
}

func has(entries []entry, attempt int) bool {
	return slices.ContainsFunc(entries, func(e entry) bool { return e.attempt == attempt })
}
