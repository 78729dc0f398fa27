package standby

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// readPart is how many times the note is read before what was read is too old.
const readPart = 3

// keepLooking reads the note of one side again and again.
func (e *Engine) keepLooking(ctx context.Context, s *site) {
	timer := time.NewTimer(e.config.view / readPart)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		e.look(ctx, s)
		e.help(ctx, s)
		timer.Reset(e.config.view / readPart)
	}
}

// lookAll reads both notes at once.
func (e *Engine) lookAll(ctx context.Context) {
	var both sync.WaitGroup
	for _, s := range e.shared {
		both.Go(func() { e.look(ctx, s) })
	}
	both.Wait()
	// What was learned last from one is yet to be told to the other.
	for _, s := range e.shared {
		if _, _, behind := e.correction(s); behind {
			e.look(ctx, s)
		}
	}
}

// look reads the note of a site, and writes it if it is behind: a switch that
// reached one side only, or an engine that has forgotten, is made good by the first
// process that sees it.
func (e *Engine) look(ctx context.Context, s *site) {
	ctx, cancel := context.WithTimeout(ctx, e.config.view)
	defer cancel()
	for range 3 { // more often others have written, too, and the next look will do
		if !e.readNote(ctx, s) {
			return
		}
		text, version, behind := e.correction(s)
		if !behind {
			return
		}
		if err := s.caps.Notes.WriteNote(ctx, noteName, text, version); err != nil && engine.Temporary(err) {
			return // what it says is known all the same
		}
	}
}

// readNote reads the note of a site, and reports whether it could.
func (e *Engine) readNote(ctx context.Context, s *site) bool {
	start := time.Now()
	note, err := s.caps.Notes.ReadNote(ctx, noteName)
	var w word
	if err == nil {
		w, err = read(note.Text)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		s.trouble = err
		if s.down.IsZero() {
			s.down = start
		}
	} else {
		e.learn(s, w, note, start)
	}
	e.publish()
	return err == nil
}

// learn takes down what a note says that was asked for at start.
func (e *Engine) learn(s *site, w word, note engine.Note, start time.Time) {
	now := time.Now()
	s.trouble, s.down, s.read = nil, time.Time{}, start
	if !s.known || note.Version != s.version || w != s.word {
		s.known, s.version, s.word, s.quiet = true, note.Version, w, time.Time{}
		if !w.Over {
			// It was written before the answer came, by that much at least.
			s.quiet = now.Add(w.quiet() - note.Age)
		}
	}
	if w.after(e.word) {
		was := e.word
		e.word = w
		if !w.same(was) {
			e.turnTo(w, now)
			e.local.quiet = s.quiet
		}
	}
	if e.alone && s.side == e.word.Side {
		e.alone = false
		s.quiet = later(s.quiet, now.Add(e.agreed(w).quiet()))
		e.turnTo(e.word, now)
	}
}

// turnTo makes a switch known in this process, unless it was made before that began.
func (e *Engine) turnTo(w word, now time.Time) {
	if !e.begun {
		return
	}
	e.seen = now
	e.stats.switches.Add(1)
	close(e.turned)
	e.turned = make(chan struct{})
	e.logger.Warn("standby: switched", "to", w.Side, "epoch", w.Epoch, "by", w.By, "quiet", w.quiet())
}

// agreed is w, with what this process needs.
func (e *Engine) agreed(w word) word {
	if e.operator {
		return w
	}
	return w.agreed(e.longest, e.config.view)
}

// correction tells what is to be written on a site, if something is: the word that
// counts, if that is another; and on the side that counts what this process needs,
// once nothing is to be waited for there.
func (e *Engine) correction(s *site) (text string, version uint64, behind bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !s.known || s.trouble != nil || e.blank(s) {
		return "", 0, false
	}
	w := e.word
	if wanted := e.agreed(w); wanted != w && e.settled(s, w) {
		w, w.Over = wanted, true
	}
	if w.after(s.word) {
		return w.text(), s.version, true
	}
	return "", 0, false
}

// settled reports whether w counts on s, and nothing is waited for there any more. A
// side that was not told of w yet has not begun to wait.
func (e *Engine) settled(s *site, w word) bool {
	switch w.Side {
	case Local:
	case s.side:
		if !s.word.same(w) {
			return false
		}
	default:
		return false
	}
	return !time.Now().Before(e.at(w.Side).quiet)
}

// blank reports whether s has no note, and nobody knows why: it may never have had
// one, or have forgotten it. The other side would know, and has not been read yet.
func (e *Engine) blank(s *site) bool { return s.version == 0 && !e.other(s).known }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
