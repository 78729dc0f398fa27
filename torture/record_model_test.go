package torture

import (
	"github.com/anishathalye/porcupine"

	"github.com/interlock-go/interlock/engine"
)

// The calls of a history of records. The answers granted, busy and unknown are those of
// locks; a claim of work that is done gets done.
const (
	opClaim  = "claim"
	opSettle = "settle"  // with the outcome Done
	opGiveUp = "give-up" // settle with the outcome Absent, so that the work may run again
	opUndo   = "undo"    // abandon a claim whose reply was lost
	opLook   = "look"

	done   = "done"
	absent = "absent"
)

// A recordState is the expected state of one record. It assumes that no lease and no
// retention expires.
type recordState struct {
	state string // absent, busy while a claim is held, or done
	by    int    // the attempt that claimed it
	fence uint64 // of the last claim; zero until known
	high  uint64 // the highest known fence
}

// recordModel returns a porcupine model of the records of guards, partitioned by key. While
// it holds, the work of a key is done once.
func recordModel() porcupine.Model {
	nm := porcupine.NondeterministicModel{
		Partition: byKey,
		Init:      func() []any { return []any{recordState{state: absent}} },
		Step: func(state, input, output any) (next []any) {
			for _, s := range state.(recordState).step(input.(call), output.(answer)) {
				next = append(next, s)
			}
			return next
		},
		Equal: func(a, b any) bool { return a == b },
	}
	return nm.ToModel()
}

// step returns the possible states after a call with this answer. It returns none if the
// answer is impossible.
func (s recordState) step(c call, a answer) []recordState {
	switch c.op {
	case opClaim:
		return s.claim(c, a)
	case opLook:
		if a.result == unknown {
			return []recordState{s}
		}
		return s.seen(a)
	case opSettle:
		return s.end(c, a, recordState{done, c.attempt, s.fence, s.high})
	default:
		return s.end(c, a, recordState{state: absent, high: s.high})
	}
}

func (s recordState) claim(c call, a answer) []recordState {
	mine := s.state == busy && s.by == c.attempt
	switch {
	case a.result == unknown && s.state == absent:
		return []recordState{s, {busy, c.attempt, 0, s.high}}
	case a.result == unknown:
		return []recordState{s}
	case a.result != granted && !mine:
		return s.seen(a)
	case a.result == granted && mine && (s.fence == a.fence || s.fence == 0 && a.fence > s.high), a.result == granted && s.state == absent && a.fence > s.high:
		return []recordState{{busy, c.attempt, a.fence, max(s.high, a.fence)}}
	}
	return nil
}

// seen returns the state after its record was read, which tells the fence.
func (s recordState) seen(a answer) []recordState {
	switch {
	case a.result != s.state || a.result == done && a.by != s.by:
		return nil
	case s.state == absent:
		return []recordState{s}
	case s.fence != 0 && s.fence != a.fence || s.fence == 0 && a.fence <= s.high:
		return nil
	}
	return []recordState{{s.state, s.by, a.fence, max(s.high, a.fence)}}
}

// end returns the states after the end of a claim, which leaves the record in the state
// after.
func (s recordState) end(c call, a answer, after recordState) []recordState {
	holds := s.state == busy && s.by == c.attempt
	switch a.result {
	case unknown:
		if holds {
			return []recordState{s, after}
		}
		return []recordState{s}
	case engine.Released.String():
		if holds {
			return []recordState{after}
		}
		if s.state == done && s.by == c.attempt { // it was settled before
			return []recordState{s}
		}
	case engine.AlreadyFree.String():
		if s.state == absent {
			return []recordState{s}
		}
	case engine.NotYours.String():
		if s.state != absent && s.by != c.attempt {
			return []recordState{s}
		}
	}
	return nil
}
