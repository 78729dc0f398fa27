package memory

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// settle ends the claim of x's attempt, whose record is r, if there is one. What
// was settled stays as it is: there is no way back from an outcome.
func (s *shard) settle(r *record, x *engine.Settlement, now int64) engine.Outcome {
	switch {
	case r == nil:
		return engine.AlreadyFree
	case string(r.attempt()) != x.Attempt:
		return engine.NotYours
	case r.state != engine.Running:
		return engine.Released
	case now >= r.lease:
		return engine.AlreadyFree
	}
	s.decide(r, x, now)
	return engine.Released
}

// decide writes down what became of the work, in the place of the claim: there is
// always room for it.
func (s *shard) decide(r *record, x *engine.Settlement, now int64) {
	from := now
	if x.FromStart {
		from = r.began
	}
	until := after(from, x.Retain)
	switch {
	case x.Outcome == engine.Absent || until <= now:
		s.erase(r)
	case x.Outcome == engine.Unknown:
		s.conclude(r, engine.Unknown, until, now)
	default:
		r.text = append(r.text[:r.heading()], x.Result...)
		s.kept.records.text = len(r.text)
		s.conclude(r, x.Outcome, until, now)
	}
	s.ears.wake(topic{key: x.Key, record: true})
}

// conclude lets r be what it is until then.
func (s *shard) conclude(r *record, outcome engine.State, until, now int64) {
	r.state, r.kept, r.expires = outcome, until, until
	s.kept.records.wait(r, until-now)
}

// disclaim undoes the claim of x's attempt, or sees to it that it is refused if it
// is still on its way. The tombstone comes first: if there is no room for one,
// nothing has happened.
func (s *shard) disclaim(r *record, x *engine.Settlement, now int64) (engine.Outcome, error) {
	undo := r != nil && string(r.attempt()) == x.Attempt && r.state == engine.Running
	if !s.bury(identity{key: x.Key, attempt: x.Attempt}, after(now, x.Lease), undo && !r.owes(now)) {
		return 0, errFull
	}
	if !undo {
		return s.settle(r, x, now), nil
	}
	if r.owes(now) {
		s.conclude(r, engine.Unknown, r.kept, now)
	} else {
		s.erase(r)
	}
	s.ears.wake(topic{key: x.Key, record: true})
	return engine.Released, nil
}

// bury leaves a tombstone until then, and reports whether there was room for it.
// Something else makes some if replaces says so.
func (s *shard) bury(who identity, until int64, replaces bool) bool {
	if old := s.kept.graves[who]; old != nil {
		s.prolong(old, until)
		return true
	}
	stone := &entry{key: who.key, attempt: who.attempt, expires: until, sort: aGrave}
	if !replaces {
		return s.keep(stone)
	}
	s.room.insist()
	s.put(stone)
	return true
}

// owes reports whether an outcome from before the claim is still unknown.
func (r *record) owes(now int64) bool { return r.took && now < r.kept }

// admitSettlement tells why a settlement is not to be looked at, if it is not.
func admitSettlement(ctx context.Context, x *engine.Settlement) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case x.Key == "":
		return unsettled(x, "has no key: set its Key")
	case x.Attempt == "":
		return unsettled(x, "has no attempt: set its Attempt")
	case x.Outcome == engine.Running || x.Outcome > engine.Unknown:
		return unsettled(x, "is none: set its Outcome to Done, Failed, Unknown or Absent")
	case x.Outcome != engine.Absent && x.Retain <= 0:
		return unsettled(x, "would be forgotten at once: set its Retain above zero")
	case x.Abandon && x.Outcome != engine.Absent:
		return unsettled(x, "says what became of work that was never begun: set its Outcome to Absent")
	case x.Abandon && x.Lease <= 0:
		return unsettled(x, "has no lease: set its Lease above zero")
	}
	return nil
}

func unsettled(x *engine.Settlement, what string) error {
	return fmt.Errorf("memory: the settlement of %q as %s %s", x.Key, x.Outcome, what)
}
