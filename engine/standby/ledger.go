package standby

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A ledger stores records on the active side, and looks up earlier records on the
// other sides.
type ledger struct{ *Engine }

var _ engine.Ledger = ledger{}

// Claim implements [engine.Ledger]. After a switch another side may have an earlier
// record: a claim that is granted here is settled with that outcome.
func (l ledger) Claim(ctx context.Context, c engine.Claim) (engine.Record, error) {
	v, err := l.check(ctx, c.Lease)
	if err != nil {
		return engine.Record{}, err
	}
	rec, err := v.caps.Ledger.Claim(ctx, c)
	if err != nil {
		return rec, err
	}
	rec.Local = v.side == Local
	if !rec.Granted && rec.State != engine.Unknown {
		return rec, nil
	}
	for _, s := range v.ledger {
		earlier, err := l.lookupOn(ctx, s, c.Key)
		switch {
		case rec.Granted && unanswered(err):
			// The work may be done. A repeated attempt gets the same grant, and asks again.
			return engine.Record{}, fmt.Errorf("standby: %q: the %v did not answer whether the work was done before the switch: %w: %w",
				c.Key, s.side, engine.ErrUnknown, err)
		case err != nil:
			l.stats.unverified.Add(1)
		case earlier.State == engine.Unknown && c.TakeOver:
			rec.TookOver = rec.Granted
		case earlier.State == engine.Done, earlier.State == engine.Failed, earlier.State != engine.Absent && rec.Granted:
			return l.adopt(ctx, v, c, rec, earlier)
		}
	}
	return rec, nil
}

// unanswered reports whether a lookup may succeed if it is repeated. A side that is known to
// be down, or refuses the lookup, does not count: otherwise nothing could run after a
// switch away from it.
func unanswered(err error) bool {
	return engine.Temporary(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

var errDown = errors.New("the side could not be reached at the last read")

// lookupOn looks up a record on an inactive side, with a short timeout.
func (l ledger) lookupOn(ctx context.Context, s *sideState, key string) (engine.Record, error) {
	l.mu.Lock()
	down := s.err != nil
	l.mu.Unlock()
	if down {
		return engine.Record{}, errDown
	}
	ctx, cancel := context.WithTimeout(ctx, l.config.view/readsPerMaxRecordAge)
	defer cancel()
	return s.caps.Ledger.Lookup(ctx, key)
}

// adopt answers a claim with the record of another side. A claim that was granted is
// settled with that outcome, so that the active side has it, too.
func (l ledger) adopt(ctx context.Context, v *view, c engine.Claim, rec, earlier engine.Record) (engine.Record, error) {
	mismatch := c.Fingerprint != "" && earlier.Fingerprint != "" && c.Fingerprint != earlier.Fingerprint
	if rec.Granted {
		x := engine.Settlement{Key: c.Key, Attempt: c.Attempt, Abandon: true, Lease: c.Lease}
		if known := earlier.State != engine.Running && earlier.Left > 0; known && c.Fingerprint == earlier.Fingerprint {
			x = engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: earlier.State, Result: earlier.Result, Retain: earlier.Left}
		}
		if _, err := v.caps.Ledger.Settle(ctx, x); err != nil {
			return engine.Record{}, fmt.Errorf("standby: %q is %v on the other side, and the claim could not be undone: %w: %w",
				c.Key, earlier.State, engine.ErrUnknown, err)
		}
	}
	if mismatch {
		return engine.Record{}, fmt.Errorf("standby: %q: %w", c.Key, engine.ErrMismatch)
	}
	earlier.Granted = false
	return earlier, nil
}

// Renew implements [engine.Ledger].
func (l ledger) Renew(ctx context.Context, cs []engine.Claim) []error {
	v := l.view.Load()
	return renew(ctx, l.Engine, v, cs, func(c engine.Claim) time.Duration { return c.Lease },
		func(cs []engine.Claim) []error { return v.caps.Ledger.Renew(ctx, cs) })
}

// Settle implements [engine.Ledger]. Like Release, it tries the sides that may have the
// claim. Like Abandon, it abandons a claim on all of them.
func (l ledger) Settle(ctx context.Context, x engine.Settlement) (engine.Outcome, error) {
	settle := func(s *sideState) (engine.ReleaseResult, error) {
		o, err := s.caps.Ledger.Settle(ctx, x)
		return engine.ReleaseResult{Outcome: o}, err
	}
	callSides := untilReleased
	if x.Abandon {
		callSides = everywhere
	}
	p, err := callSides(l.view.Load().order(time.Now()), settle)
	return p.Outcome, err
}

// Lookup implements [engine.Ledger].
func (l ledger) Lookup(ctx context.Context, key string) (engine.Record, error) {
	v := l.view.Load()
	rec, err := v.caps.Ledger.Lookup(ctx, key)
	rec.Local = v.side == Local
	if err != nil || rec.State != engine.Absent && rec.State != engine.Unknown {
		return rec, err
	}
	for _, s := range v.ledger {
		earlier, err := l.lookupOn(ctx, s, key)
		if rec.State == engine.Absent && unanswered(err) {
			return engine.Record{}, unavailable("%q has no record on the %v, and the %v did not answer: %w", key, v.side, s.side, err)
		}
		if err == nil && earlier.State != engine.Absent && (rec.State == engine.Absent || earlier.State != engine.Unknown) {
			return earlier, nil
		}
	}
	return rec, nil
}

// List implements [engine.Ledger]. After a switch it also lists the other sides that
// can be reached. The cursor holds the side and its own cursor.
func (l ledger) List(ctx context.Context, pattern, cursor string) (records []engine.Record, next string, err error) {
	v := l.view.Load()
	sides := append([]*sideState{v.sideState}, v.others...)
	name, inner, _ := strings.Cut(cursor, ":")
	at := slices.IndexFunc(sides, func(s *sideState) bool { return s.side.String() == name })
	if cursor == "" {
		at = 0
	}
	if at < 0 {
		return nil, "", fmt.Errorf("standby: unknown or outdated cursor %q: begin with an empty one", cursor)
	}
	records, next, err = sides[at].caps.Ledger.List(ctx, pattern, inner)
	switch {
	case err != nil:
		return nil, "", err
	case next != "":
		return records, sides[at].side.String() + ":" + next, nil
	case at+1 < len(sides):
		return records, sides[at+1].side.String() + ":", nil
	}
	return records, "", nil
}

// Watch implements [engine.Ledger].
func (l ledger) Watch(key string) (wake <-chan struct{}, stop func()) {
	return l.merge(nil, func(s *sideState) (<-chan struct{}, func()) { return s.caps.Ledger.Watch(key) })
}
