package standby

import (
	"context"
	"time"
)

// switchOrDegrade runs after each read of side s. With the option Automatic it may switch
// to s. With Degrade it may let this process use Local on its own.
func (e *Engine) switchOrDegrade(ctx context.Context, s *sideState) {
	now := time.Now()
	e.mu.Lock()
	active, other := e.record.Side, e.other(s)
	reached := s.err == nil
	automatic := e.automatic > 0 && reached && active == other.side && longDown(other, now, e.automatic)
	degrade := e.degrade > 0 && !e.alone && active != Local && longDown(s, now, e.degrade) && longDown(other, now, e.degrade)
	if degrade {
		e.degradeAlone(now)
	}
	next, version := e.nextRecord(s.side, e.name+" (automatic)"), s.version
	e.mu.Unlock()

	if !automatic || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.config.view)
	defer cancel()
	if err := s.caps.Notes.WriteNote(ctx, noteName, next.encode(), version); err == nil {
		e.stats.automatic.Add(1)
		e.sync(ctx, s)
	}
}

// longDown reports whether a side has not been reached for d.
func longDown(s *sideState, now time.Time, d time.Duration) bool {
	return !s.downSince.IsZero() && now.Sub(s.downSince) >= d
}

// degradeAlone lets this process grant local locks, after all earlier leases have
// expired.
func (e *Engine) degradeAlone(now time.Time) {
	e.alone = true
	e.local.frozenUntil = now.Add(e.record.freeze())
	e.stats.degraded.Add(1)
	e.announce(switchRecord{Side: Local, Epoch: e.record.Epoch, By: e.name + " (alone)", Longest: e.record.Longest, MaxRecordAge: e.record.MaxRecordAge}, now)
	e.publish()
}

// nextRecord returns the record of a new switch.
func (e *Engine) nextRecord(to Side, by string) switchRecord {
	w := e.withOwnLimits(switchRecord{
		Format: format, Epoch: e.record.Epoch + 1, Side: to, Since: time.Now().UTC().Truncate(time.Millisecond), By: by,
		Longest: e.record.Longest, MaxRecordAge: e.record.MaxRecordAge,
	})
	for _, s := range e.shared { // the record of a side may allow longer leases
		w = w.atLeast(time.Duration(s.record.Longest), time.Duration(s.record.MaxRecordAge))
	}
	return w
}
