package standby

import (
	"context"
	"time"
)

// help does what this process may do by itself after it has looked at a site: to
// switch to it, or to go on alone.
func (e *Engine) help(ctx context.Context, s *site) {
	now := time.Now()
	e.mu.Lock()
	active, other := e.word.Side, e.other(s)
	reached := s.trouble == nil
	automatic := e.automatic > 0 && reached && active == other.side && longDown(other, now, e.automatic)
	degrade := e.degrade > 0 && !e.alone && active != Local && longDown(s, now, e.degrade) && longDown(other, now, e.degrade)
	if degrade {
		e.goAlone(now)
	}
	next, version := e.nextWord(s.side, e.name+" (automatic)"), s.version
	e.mu.Unlock()

	if !automatic || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.config.view)
	defer cancel()
	if err := s.caps.Notes.WriteNote(ctx, noteName, next.text(), version); err == nil {
		e.stats.automatic.Add(1)
		e.look(ctx, s)
	}
}

// longDown reports whether a site has not been reached for so long.
func longDown(s *site, now time.Time, d time.Duration) bool {
	return !s.down.IsZero() && now.Sub(s.down) >= d
}

// goAlone lets this process grant by itself, once what it and others were granted
// is over.
func (e *Engine) goAlone(now time.Time) {
	e.alone = true
	e.local.quiet = now.Add(e.word.quiet())
	e.stats.degraded.Add(1)
	e.turnTo(word{Side: Local, Epoch: e.word.Epoch, By: e.name + " (alone)", Longest: e.word.Longest, View: e.word.View}, now)
	e.publish()
}

// nextWord is the one that switches.
func (e *Engine) nextWord(to Side, by string) word {
	w := e.agreed(word{
		Format: format, Epoch: e.word.Epoch + 1, Side: to, Since: time.Now().UTC().Truncate(time.Millisecond), By: by,
		Longest: e.word.Longest, View: e.word.View,
	})
	for _, s := range e.shared { // one of them may know of longer leases
		w = w.agreed(time.Duration(s.word.Longest), time.Duration(s.word.View))
	}
	return w
}
