package standby

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// readsPerMaxRecordAge is how often the record is read within MaxRecordAge.
const readsPerMaxRecordAge = 3

// poll reads the record of one side until ctx is done.
func (e *Engine) poll(ctx context.Context, s *sideState) {
	timer := time.NewTimer(e.config.view / readsPerMaxRecordAge)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		e.sync(ctx, s)
		e.switchOrDegrade(ctx, s)
		timer.Reset(e.config.view / readsPerMaxRecordAge)
	}
}

// syncAll reads both records in parallel.
func (e *Engine) syncAll(ctx context.Context) {
	var both sync.WaitGroup
	for _, s := range e.shared {
		both.Go(func() { e.sync(ctx, s) })
	}
	both.Wait()
	// Write to one side what was read from the other.
	for _, s := range e.shared {
		if e.isBehind(s) {
			e.sync(ctx, s)
		}
	}
}

// isBehind reports whether a side that can be reached has an outdated record.
func (e *Engine) isBehind(s *sideState) bool {
	_, _, behind := e.correction(s)
	return behind
}

// sync reads the record of a side, and writes it if it is outdated. So the first
// process that notices completes a switch that reached one side only, and restores a
// record that an engine has lost.
func (e *Engine) sync(ctx context.Context, s *sideState) {
	ctx, cancel := context.WithTimeout(ctx, e.config.view)
	defer cancel()
	for range 3 { // after more conflicts the next poll continues
		if !e.readNote(ctx, s) {
			return
		}
		text, version, behind := e.correction(s)
		if !behind {
			return
		}
		if err := s.caps.Notes.WriteNote(ctx, noteName, text, version); err != nil && engine.Temporary(err) {
			return // the next poll writes it
		}
	}
}

// readNote reads the record of a side, and reports whether it could. An answer is ignored
// if a read that began later was answered before: it may be older.
func (e *Engine) readNote(ctx context.Context, s *sideState) bool {
	start, read := time.Now(), s.reads.Add(1)
	note, err := s.caps.Notes.ReadNote(ctx, noteName)
	var w switchRecord
	if err == nil {
		w, err = decodeRecord(note.Text)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if read < s.answered {
		return err == nil
	}
	s.answered = read
	if err != nil {
		s.err = err
		if s.downSince.IsZero() {
			s.downSince = start
		}
	} else {
		e.update(s, w, note, start)
	}
	e.publish()
	return err == nil
}

// update stores the record of a read that began at start.
func (e *Engine) update(s *sideState, w switchRecord, note engine.Note, start time.Time) {
	now := time.Now()
	s.err, s.downSince, s.readAt = nil, time.Time{}, start
	if !s.known || note.Version != s.version || w != s.record {
		s.known, s.version, s.record, s.frozenUntil = true, note.Version, w, time.Time{}
		if !w.Thawed {
			// The note was written at least note.Age ago.
			s.frozenUntil = now.Add(w.freeze() - note.Age)
		}
	}
	if w.supersedes(e.record) {
		previous := e.record
		e.record = w
		if !w.sameSwitch(previous) {
			e.announce(w, now)
			e.local.frozenUntil = s.frozenUntil
		}
	}
	if e.alone && s.side == e.record.Side {
		e.alone = false
		s.frozenUntil = later(s.frozenUntil, now.Add(e.withOwnLimits(w).freeze()))
		e.announce(e.record, now)
	}
}

// announce makes a switch known in this process, unless it happened before New.
func (e *Engine) announce(w switchRecord, now time.Time) {
	if !e.started {
		return
	}
	e.switchedAt = now
	e.stats.switches.Add(1)
	close(e.switched)
	e.switched = make(chan struct{})
	e.logger.Warn("standby: switched", "to", w.Side, "epoch", w.Epoch, "by", w.By, "freeze", w.freeze())
}

// withOwnLimits returns w, raised to the MaxRecordAge of this process and to the longest lease that
// it has requested.
func (e *Engine) withOwnLimits(w switchRecord) switchRecord {
	if e.operator {
		return w
	}
	return w.atLeast(time.Duration(e.requested.Load()), e.config.view)
}

// correction returns the record to write on a side whose record is outdated: the latest
// one. After the freeze, it also raises the record of the active side to the MaxRecordAge and
// lease of this process.
func (e *Engine) correction(s *sideState) (text string, version uint64, behind bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !s.known || s.err != nil || e.unverified(s) {
		return "", 0, false
	}
	w := e.record
	if wanted := e.withOwnLimits(w); wanted != w && e.thawed(s, w) {
		w, w.Thawed = wanted, true
	}
	if w.supersedes(s.record) {
		return w.encode(), s.version, true
	}
	return "", 0, false
}

// thawed reports whether the freeze after w has passed, as far as side s can tell. It
// reports false if w makes the other side active, or makes s active and s lacks w.
func (e *Engine) thawed(s *sideState, w switchRecord) bool {
	switch w.Side {
	case Local:
	case s.side:
		if !s.record.sameSwitch(w) {
			return false
		}
	default:
		return false
	}
	return !time.Now().Before(e.at(w.Side).frozenUntil)
}

// unverified reports whether s has no record and the other side has not been read. Then s
// may have lost its record, or may never have had one.
func (e *Engine) unverified(s *sideState) bool { return s.version == 0 && !e.other(s).known }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
