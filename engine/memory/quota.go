package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A quota is the units of one key. It expires when the last of them does.
type quota struct {
	entry
	units []unit // the oldest first
}

// A unit was taken by an attempt.
type unit struct {
	attempt string
	taken   int64
}

// quotas implements [engine.Quotas].
type quotas struct{ *Engine }

// Take implements [engine.Quotas].
func (x quotas) Take(ctx context.Context, q engine.Quota) (engine.Usage, error) {
	if err := checkQuota(ctx, &q); err != nil {
		return engine.Usage{}, err
	}
	u, err := x.take(&q)
	if errors.Is(err, errFull) {
		x.sweepAll()
		u, err = x.take(&q)
	}
	return u, x.explain(err)
}

// take makes one try; see Engine.acquire.
func (x quotas) take(q *engine.Quota) (engine.Usage, error) {
	s, now := x.lockShard(q.Key)
	defer s.mu.Unlock()
	use := engine.Usage{Now: time.Unix(0, now)}
	if use.Outside = outside(q, use.Now); use.Outside {
		return use, nil
	}
	units := s.quota(q, now)
	switch i := slices.IndexFunc(units, func(u unit) bool { return u.attempt == q.Attempt }); {
	case i >= 0:
		use.Granted = true
	case q.Attempt != "" && len(units) < q.Limit:
		if err := s.addUnit(q, now); err != nil {
			return engine.Usage{}, err
		}
		units, use.Granted = s.store.quotas[q.Key].units, true
	}
	use.Used = len(units)
	if use.Used > 0 {
		use.Next = time.Duration(end(q, units[max(0, use.Used-q.Limit)].taken) - now)
	}
	return use, nil
}

// Return implements [engine.Quotas].
func (x quotas) Return(ctx context.Context, q engine.Quota) (bool, error) {
	if err := checkQuota(ctx, &q); err != nil {
		return false, err
	}
	s, now := x.lockShard(q.Key)
	defer s.mu.Unlock()
	units := s.quota(&q, now)
	i := slices.IndexFunc(units, func(u unit) bool { return u.attempt == q.Attempt })
	if i < 0 || outside(&q, time.Unix(0, now)) {
		return false, nil
	}
	s.setUnits(s.store.quotas[q.Key], slices.Delete(units, i, i+1))
	return true, nil
}

// quota returns the units of q's key that count. It first removes the others.
func (s *shard) quota(q *engine.Quota, now int64) []unit {
	x := s.store.quotas[q.Key]
	if x == nil {
		return nil
	}
	units := x.units
	for i := len(units) - 1; i >= 0 && units[i].taken > now; i-- {
		units[i].taken = now // the clock was set back
	}
	first := 0
	for first < len(units) && end(q, units[first].taken) <= now {
		first++
	}
	s.setUnits(x, slices.Delete(units, 0, first))
	return units[:len(units)-first]
}

// setUnits replaces the units of x by fewer ones, and frees the capacity of the others.
func (s *shard) setUnits(x *quota, units []unit) {
	removed := len(x.units) - len(units)
	x.units = units
	if len(units) == 0 {
		s.drop(&x.entry)
	}
	s.capacity.free(removed)
}

// addUnit takes a unit for q's attempt.
func (s *shard) addUnit(q *engine.Quota, now int64) error {
	if !s.capacity.take() {
		return errFull
	}
	x := s.store.quotas[q.Key]
	if x == nil {
		x = &quota{entry: entry{key: q.Key, class: classQuota, expires: end(q, now)}}
		s.store.quotas[q.Key] = x
		s.put(&x.entry)
	}
	x.units = append(x.units, unit{q.Attempt, now})
	s.prolong(&x.entry, end(q, now))
	return nil
}

// end returns when a unit that was taken at a time no longer counts.
func end(q *engine.Quota, taken int64) int64 {
	if !q.Until.IsZero() {
		return q.Until.UnixNano()
	}
	return after(taken, q.Window)
}

// outside reports whether now is not in the window of a request.
func outside(q *engine.Quota, now time.Time) bool {
	return !q.Until.IsZero() && (now.Before(q.From) || !now.Before(q.Until))
}

// checkQuota refuses an invalid request.
func checkQuota(ctx context.Context, q *engine.Quota) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case q.Key == "":
		return badQuota(q, "has no key: set its Key")
	case q.Limit <= 0:
		return badQuota(q, fmt.Sprintf("has a limit of %d: set its Limit to 1 or more", q.Limit))
	case q.Until.IsZero() && q.Window <= 0:
		return badQuota(q, "has no window: set its Window above zero, or From and Until")
	case !q.Until.IsZero() && !q.From.Before(q.Until):
		return badQuota(q, "ends before it begins: set its From before Until")
	}
	return nil
}

// badQuota returns the error of an invalid request. what completes its sentence.
func badQuota(q *engine.Quota, what string) error {
	return fmt.Errorf("memory: the quota %q %s", q.Key, what)
}
