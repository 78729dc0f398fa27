package interlock

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/retry"
)

// A Leadership is a leader as observers see it. If there is no leader, Fence is zero.
type Leadership struct {
	Holder string      // the holder id, as in [Hold.Holder]
	Fence  uint64      // as in [Hold.Fence]
	Value  string      // set by [Announce] in the leader; may be empty
	Client *ClientInfo // the leader's program; nil if unknown
	Self   bool        // the leader is a caller of the observing client
	Since  time.Time   // when it was elected, by the engine's clock; zero if the engine does not know

	// Term counts the leaders of the key: 1 for the first, and one more for each that
	// follows. It is zero on an engine without notes, such as a quorum or a standby.
	Term uint64

	// Gap means that there may have been leaders between this one and the one observed
	// before, or that the engine has lost its data. On an engine without notes it is set with
	// each change.
	Gap bool
}

// Current returns the present leader. A leader that has not announced itself yet does not
// count.
func (l *Leader) Current(ctx context.Context) (Leadership, error) {
	s, err := l.look(ctx)
	if err != nil {
		return Leadership{}, err
	}
	s.identify(ctx, l)
	return s.Leadership, nil
}

// Observe iterates over the leaders: the present one first, and then each change. While
// there is no leader, it yields a Leadership without a fence. The loop ends when ctx is
// done.
//
//	for leader, err := range client.Leader("billing").Observe(ctx) {
//
// It asks the engine once a second, and after a release. A leader that was replaced in
// between is missed; Leadership.Gap reports it. If the engine fails for two seconds,
// Observe yields the error once, and the present leader again when the engine answers.
// Any other error ends the iteration.
func (l *Leader) Observe(ctx context.Context) iter.Seq2[Leadership, error] {
	return func(yield func(Leadership, error) bool) {
		c := l.mutex.core
		var (
			sub     subscription
			last    sighting // yielded last
			began   bool     // last is set
			failing bool     // an error was yielded after last
		)
		defer sub.unsubscribe()
		for vacant := 0; ; {
			sub.drain()
			now, err := l.look(ctx)
			vacant++
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				final := !engine.Temporary(err)
				if (final || !failing) && !yield(Leadership{}, err) || final {
					return
				}
				failing = true
			case !began || failing || now.Fence != last.Fence || now.Term != last.Term:
				now.follow(last, began)
				now.identify(ctx, l)
				if !yield(now.Leadership, nil) {
					return
				}
				last, began, failing = now, true, false
				vacant = 1
			}
			sub.subscribe(c, engine.Request{Key: l.mutex.key, Kind: engine.Exclusive})
			pause := backoff.Pause(minLeaderPause, retry.MaxPoll, vacant)
			if now.Fence > 0 {
				pause = backoff.Jitter(min(retry.MaxPoll, max(minLeaderPause, now.left+time.Millisecond)))
			}
			_, _ = c.sleep(ctx, pause, sub.wake, nil) // look sees why it ended
		}
	}
}

// A sighting is what one look at the engine found.
type sighting struct {
	Leadership

	left  time.Duration // of the leader's lease
	known uint64        // the term of the last known leader, present or not
	seen  uint64        // the fence of the last leader that was observed
}

// follow compares the sighting with the one before.
func (s *sighting) follow(last sighting, began bool) {
	s.seen = s.Fence
	switch {
	case !began:
	case s.Fence == 0:
		s.known, s.seen = last.known, last.seen // a term that was not observed as a leader counts as missed
	case s.Term == 0:
		s.Gap = s.Holder != last.Holder
	case s.Term == last.known:
		s.Gap = last.seen > 0 && s.Fence != last.seen // the engine has lost its data, and counts again
	default:
		s.Gap = s.Term != last.known+1
	}
}

// look asks the engine for the leader. It retries an engine that fails, for 2 seconds at
// most.
func (l *Leader) look(ctx context.Context) (sighting, error) {
	fail := func(err error) (sighting, error) {
		return sighting{}, fmt.Errorf("interlock: observe the leader of %q: %w", l.mutex.key, err)
	}
	c := l.mutex.core
	switch {
	case l.mutex.opts.err != nil:
		return sighting{}, l.mutex.opts.err
	case c.caps.Inspector == nil:
		return sighting{}, unsupported(c.engine, "inspection")
	case c.closed.Load():
		return fail(ErrClosed)
	}
	s, err := persist(ctx, c, retry.BriefOutage, func() (sighting, error) { return l.ask(ctx) })
	if err != nil {
		return fail(err)
	}
	return s, nil
}

// ask looks once.
func (l *Leader) ask(ctx context.Context) (sighting, error) {
	c := l.mutex.core
	lock, err := c.caps.Inspector.Inspect(ctx, l.mutex.key)
	if err != nil {
		return sighting{}, err
	}
	var s sighting
	if len(lock.Holders) == 1 {
		h := lock.Holders[0]
		s.Leadership = Leadership{Holder: h.Name, Fence: h.Fence, Since: grantedAt(h.Fence), Self: clientOf(h.Name) == c.id}
		s.left = h.Left
	}
	if c.caps.Notes == nil {
		return s, nil
	}
	note, err := c.caps.Notes.ReadNote(ctx, l.note)
	if err != nil {
		return sighting{}, err
	}
	a := parseAnnouncement(note.Text)
	if s.Holder == "" || a.holder != engine.ShortHolder(s.Holder) {
		return sighting{known: note.Version}, nil
	}
	// The fence of the note is higher if the leader got the lock from another caller of its
	// process.
	s.Fence, s.Value, s.Term, s.known = max(s.Fence, a.fence), a.value, note.Version, note.Version
	return s, nil
}

// identify finds the leader's program, if the engine knows it.
func (s *sighting) identify(ctx context.Context, l *Leader) {
	if s.Fence == 0 {
		return
	}
	members, err := l.mutex.core.caps.Inspector.Members(ctx, []string{clientOf(s.Holder)})
	if err == nil && len(members) == 1 {
		s.Client = &members[0]
	}
}
