package memory

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// settle ends the claim of x's attempt, whose record is r or nil. A settled outcome
// does not change.
func (s *shard) settle(r *record, x *engine.Settlement, now int64) engine.Outcome {
	switch {
	case r == nil:
		return engine.AlreadyFree
	case string(r.attempt()) != x.Attempt:
		return engine.NotYours
	case r.state != engine.Running: // a repeated settlement, whose first reply was lost
		return engine.Released
	case now >= r.lease: // readers may have seen the outcome as unknown already
		return engine.AlreadyFree
	}
	s.recordOutcome(r, x, now)
	return engine.Released
}

// recordOutcome replaces the claim by its outcome, which needs no free capacity.
func (s *shard) recordOutcome(r *record, x *engine.Settlement, now int64) {
	from := now
	if x.FromStart {
		from = r.began
	}
	until := after(from, x.Retain)
	switch {
	// With FromStart, the retention may have passed before the work ended.
	case x.Outcome == engine.Absent || until <= now:
		s.erase(r)
	case x.Outcome == engine.Unknown:
		s.setOutcome(r, engine.Unknown, until, now)
	default:
		// The result may overwrite the buffer: snapshot returns copies, so no caller
		// shares it.
		s.capacity.bytes.Add(int64(len(x.Result) - len(r.result())))
		r.text = append(r.text[:r.headerLen()], x.Result...)
		s.store.records.textHint = len(r.text)
		s.setOutcome(r, x.Outcome, until, now)
	}
	s.subscribers.wake(topic{key: x.Key, record: true})
}

// setOutcome sets the state of r, which expires at until.
func (s *shard) setOutcome(r *record, outcome engine.State, until, now int64) {
	r.state, r.retained, r.expires = outcome, until, until
	s.store.records.schedule(r, until-now)
}

// abandonClaim undoes the claim of x's attempt. The tombstone refuses a claim that arrives
// later. It comes first: without capacity for it, nothing changes.
func (s *shard) abandonClaim(r *record, x *engine.Settlement, now int64) (engine.Outcome, error) {
	undo := r != nil && string(r.attempt()) == x.Attempt && r.state == engine.Running
	// A record that masks an unknown outcome stays, so the tombstone needs capacity of
	// its own.
	if !s.addTombstone(attemptKey{key: x.Key, attempt: x.Attempt}, after(now, x.Lease), undo && !r.maskedUnknown(now)) {
		return 0, errFull
	}
	if !undo {
		// settle changes nothing here: the claim is another attempt's, or has its
		// outcome.
		return s.settle(r, x, now), nil
	}
	if r.maskedUnknown(now) {
		s.setOutcome(r, engine.Unknown, r.retained, now)
	} else {
		s.erase(r)
	}
	s.subscribers.wake(topic{key: x.Key, record: true})
	return engine.Released, nil
}

// addTombstone adds a tombstone that expires at until, and reports whether there was
// capacity. With replaces, it uses the capacity of the record it replaces.
func (s *shard) addTombstone(k attemptKey, until int64, replaces bool) bool {
	if old := s.store.tombstones[k]; old != nil {
		s.prolong(old, until)
		return true
	}
	stone := &entry{key: k.key, attempt: k.attempt, expires: until, class: classTombstone}
	if !replaces {
		return s.tryPut(stone)
	}
	s.capacity.force()
	s.put(stone)
	return true
}

// maskedUnknown reports whether the claim took over an outcome that is still unknown.
func (r *record) maskedUnknown(now int64) bool { return r.tookOver && now < r.retained }

// checkSettlement refuses an invalid settlement.
func checkSettlement(ctx context.Context, x *engine.Settlement) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case x.Key == "":
		return badSettlement(x, "has no key: set its Key")
	case x.Attempt == "":
		return badSettlement(x, "has no attempt: set its Attempt")
	case x.Outcome == engine.Running || x.Outcome > engine.Unknown:
		return badSettlement(x, "is not an outcome: set its Outcome to Done, Failed, Unknown or Absent")
	case x.Outcome != engine.Absent && x.Retain <= 0:
		return badSettlement(x, "would expire at once: set its Retain above zero")
	case x.Abandon && x.Outcome != engine.Absent:
		return badSettlement(x, "abandons a claim, which has no outcome: set its Outcome to Absent")
	case x.Abandon && x.Lease <= 0:
		return badSettlement(x, "has no lease: set its Lease above zero")
	}
	return nil
}

// badSettlement returns the error of an invalid settlement. what completes its sentence.
func badSettlement(x *engine.Settlement, what string) error {
	return fmt.Errorf("memory: the settlement of %q as %s %s", x.Key, x.Outcome, what)
}
