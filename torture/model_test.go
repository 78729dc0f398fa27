package torture

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-go/interlock/engine"
)

// A call is a call of an engine in a history.
type call struct {
	op      string // acquire, renew or release; an abandon is a release; see recordModel for others
	key     string
	attempt int // also identifies the holder: each attempt has a different one
	kind    engine.Kind
	queued  bool // a refused call joins the queue
	limit   int  // of permits
}

// An answer is the engine's answer, or unknown if none arrived.
type answer struct {
	result string // granted, busy, renewed, not the holder, an engine.Outcome, or unknown
	fence  uint64
	ahead  int
	by     int // the attempt whose outcome was read
}

const (
	granted   = "granted"
	busy      = "busy"
	renewed   = "renewed"
	notHolder = "not the holder"
	unknown   = "unknown" // the call has taken effect, will take effect, or never does
)

// opJoin is a part of an acquire, of an engine that may put a caller into the queue before it
// grants the same request.
const opJoin = "join"

// A model is the expected state of one key: its holders and its queue. It assumes that
// no lease and no queue position expires.
type model struct {
	holds         []entry
	queue         []entry
	highExclusive uint64 // the highest fence of an exclusive grant
	high          uint64 // the highest fence of any grant
}

// An entry is a holder or a waiter.
type entry struct {
	attempt int
	kind    engine.Kind
	fence   uint64 // zero until known
	after   uint64 // the fence is higher than this
}

// lockModel returns a porcupine model of locks of every kind, partitioned by key. A call
// without an answer has several possible outcomes; later calls exclude some of them.
func lockModel() porcupine.Model {
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

// step returns the possible states after a call with this answer. It returns none if the
// answer is impossible.
func (m model) step(c call, a answer) []model {
	holds := has(m.holds, c.attempt)
	switch c.op {
	case "acquire":
		return m.acquire(c, a)
	case opJoin:
		if holds {
			return []model{m}
		}
		return []model{m, m.enqueue(c)}
	case "renew":
		if a.result == unknown || holds == (a.result == renewed) {
			return []model{m}
		}
	case "release":
		after := m.without(c.attempt)
		switch a.result {
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
	switch a.result {
	case unknown:
		switch {
		case holds:
			return []model{m}
		case free:
			return []model{m, m.grant(c, 0)}
		}
		return []model{m, m.enqueue(c)}
	case busy:
		if !free && (c.kind == engine.Exclusive || a.ahead == m.ahead(c)) {
			return []model{m.enqueue(c)}
		}
	case granted:
		if free && m.allowsFence(c, a.fence) {
			return []model{m.grant(c, a.fence)}
		}
	}
	return nil
}

// admits reports whether a caller that does not hold the lock may get it now.
func (m model) admits(c call) bool {
	before := m.queue[:m.ahead(c)]
	switch c.kind {
	case engine.Exclusive:
		return len(m.holds) == 0
	case engine.Read:
		isWriter := func(e entry) bool { return e.kind == engine.Write }
		return !slices.ContainsFunc(m.holds, isWriter) && !slices.ContainsFunc(before, isWriter)
	}
	return (len(m.holds) == 0 || c.kind == engine.Permit && len(m.holds) < c.limit) && len(before) == 0
}

// ahead returns the number of waiters ahead of the caller.
func (m model) ahead(c call) int {
	if i := slices.IndexFunc(m.queue, func(e entry) bool { return e.attempt == c.attempt }); i >= 0 {
		return i
	}
	return len(m.queue)
}

// allowsFence reports whether a grant may have this fence. A repeated attempt must get the
// same fence again. A new grant must get a higher fence than all earlier grants, except that
// a reader may get a lower fence than another reader.
func (m model) allowsFence(c call, fence uint64) bool {
	i := slices.IndexFunc(m.holds, func(e entry) bool { return e.attempt == c.attempt })
	switch {
	case i >= 0 && m.holds[i].fence != 0:
		return fence == m.holds[i].fence
	case i >= 0: // granted before, and the reply was lost
		return fence > m.holds[i].after
	}
	return fence > m.highFor(c)
}

// highFor returns the fence below that of the next grant to the caller.
func (m model) highFor(c call) uint64 {
	if c.kind == engine.Read {
		return m.highExclusive
	}
	return m.high
}

func (m model) grant(c call, fence uint64) model {
	after := m.highFor(c)
	if i := slices.IndexFunc(m.holds, func(e entry) bool { return e.attempt == c.attempt }); i >= 0 {
		after = m.holds[i].after
	}
	m = m.without(c.attempt)
	m.holds = append(m.holds, entry{c.attempt, c.kind, fence, after}) // sorted, so that equal sets compare as equal
	slices.SortFunc(m.holds, func(a, b entry) int { return cmp.Compare(a.attempt, b.attempt) })
	m.high = max(m.high, fence)
	if c.kind != engine.Read {
		m.highExclusive = max(m.highExclusive, fence)
	}
	return m
}

func (m model) enqueue(c call) model {
	if !c.queued || c.kind == engine.Exclusive || has(m.queue, c.attempt) {
		return m
	}
	m.queue = append(slices.Clip(m.queue), entry{attempt: c.attempt, kind: c.kind})
	return m
}

// without returns a copy of the model in which the attempt neither holds the lock nor
// waits in the queue.
func (m model) without(attempt int) model {
	is := func(e entry) bool { return e.attempt == attempt }
	m.holds = slices.DeleteFunc(slices.Clone(m.holds), is)
	m.queue = slices.DeleteFunc(slices.Clone(m.queue), is)
	return m
}

func (m model) equal(other model) bool {
	return m.highExclusive == other.highExclusive && m.high == other.high &&
		slices.Equal(m.holds, other.holds) && slices.Equal(m.queue, other.queue)
}

func has(entries []entry, attempt int) bool {
	return slices.ContainsFunc(entries, func(e entry) bool { return e.attempt == attempt })
}
