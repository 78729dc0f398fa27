package interlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/retry"
)

// A Leader elects one leader per key among all processes. The leader holds the lock named
// key, so a leader that dies is replaced when its lease expires, by default after 30
// seconds; see [Watchdog]. It is safe for concurrent use.
//
// A leader that is paused for longer than its lease learns late that it was replaced.
// Its context ends before the next leader is elected, but work that does not check the
// context continues: pass the fence to the stores that the work changes.
type Leader struct {
	client *Client
	mutex  *Mutex
	value  string // set by Announce
	note   string // the name of the note with the announcement

	mu     sync.Mutex
	resign func() error // ends the latest leadership; nil if there was none
}

const (
	// maxAnnounced is the longest value of Announce in bytes.
	maxAnnounced = 1024

	// leaderNote is the prefix of the names of the notes in which leaders announce
	// themselves.
	leaderNote = "leader:"

	// The pauses of Run after work that ended. Observe never pauses for less than the first.
	minLeaderPause = 50 * time.Millisecond
	maxLeaderPause = 10 * time.Second
)

type (
	announceKey struct{}             // of the value set by Announce
	leaderRun   struct{ key string } // of a channel that Run fills while it runs
)

// Announce sets the value that observers of a [Leader] get, such as the leader's
// address: at most 1,024 bytes. Default: none.
func Announce(value string) Option {
	return func(o *options) {
		if len(value) > maxAnnounced {
			o.reject("Announce: the value has %d bytes, and the limit is %d", len(value), maxAnnounced)
			return
		}
		WithValue(announceKey{}, value)(o)
	}
}

// Leader returns the election named key. Like [Client.Mutex], it sends nothing. The lock
// of the leader is always [Fenced] and never [Reentrant], and owners do not share it.
//
// The engine keeps one small note per key, which does not expire.
func (c *Client) Leader(key string, opts ...Option) *Leader {
	l := &Leader{client: c, mutex: c.lock(engine.Exclusive, key, append(slices.Clip(opts), Fenced()))}
	l.note = leaderNote + l.mutex.key
	o := &l.mutex.opts
	o.reentrant = false
	for v := o.values; v != nil && l.value == ""; v = v.next {
		if v.key == (announceKey{}) {
			l.value, _ = v.value.(string)
		}
	}
	switch {
	case o.err != nil:
	case l.value != "" && c.core.caps.Notes == nil:
		o.err = unsupported(c.core.engine, "announcements of leaders")
	case len(l.note) > maxKey:
		o.err = fmt.Errorf("%w: %q… is too long for a leader; hash the long part", ErrKey, cut(l.mutex.key))
	}
	return l
}

// Key returns the key of the leader's lock, prefix included.
func (l *Leader) Key() string { return l.mutex.key }

// Campaign waits until the caller is the leader, as [Mutex.Lock] waits for a lock. The
// returned context ends when the leadership is lost. Unlock of the hold, or Resign, ends
// the leadership.
//
// A lock that is valid in this process only elects no leader: Campaign then fails with
// [ErrUnavailable]. See [Hold.Local].
func (l *Leader) Campaign(ctx context.Context) (context.Context, *Hold, error) {
	held, hold, err := l.elect(ctx)
	if err == nil {
		l.setResign(hold.Unlock)
	}
	return held, hold, err
}

// elect waits until the caller is the leader.
func (l *Leader) elect(ctx context.Context) (context.Context, *Hold, error) {
	inner := ctx
	if ownerOf(ctx) != "" {
		inner = WithOwner(ctx, "") // an owner may enter in several processes
	}
	held, hold, err := l.mutex.Lock(inner)
	if err != nil {
		return ctx, nil, err
	}
	if err := l.announce(held, hold); err != nil {
		_ = hold.Unlock() // err says why there is no leader
		return ctx, nil, fmt.Errorf("interlock: announce the leader of %q: %w", l.mutex.key, err)
	}
	return held, hold, nil
}

// Resign ends the leadership that Campaign returned last, or asks the function of Run to
// return. The function's leadership ends when it has returned. Without a leadership,
// Resign does nothing.
func (l *Leader) Resign() error {
	l.mu.Lock()
	resign := l.resign
	l.resign = nil
	l.mu.Unlock()
	if resign == nil {
		return nil
	}
	return resign()
}

func (l *Leader) setResign(resign func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resign = resign
}

// Run campaigns, and calls fn while it leads. When fn returns or the leadership is lost,
// Run campaigns again. It returns when ctx is done or the client is closed, which also ends
// fn's context, or when a campaign fails with an error that a retry would not change.
//
// In one client, fn does not run twice at once: after a loss, Run waits until fn returns,
// and a second Run of the same key waits for the first. After fn returns, Run pauses for
// 50 ms, so that another process can become the leader. The pause doubles up to 10 seconds
// while fn keeps failing. Run logs the error of fn to the default logger of log/slog.
//
// [Fence] returns the fence in fn.
func (l *Leader) Run(ctx context.Context, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer l.client.OnClose(func(context.Context) error { cancel(ErrClosed); return nil })()
	running := l.client.Shared(leaderRun{l.mutex.key}, func() any { return make(chan struct{}, 1) }).(chan struct{})
	select {
	case running <- struct{}{}:
		defer func() { <-running }()
	case <-ctx.Done():
		return l.ended(ctx, nil)
	}
	for failures := 0; ; {
		began := time.Now()
		led, err := l.term(ctx, fn)
		switch {
		case ctx.Err() != nil:
			return l.ended(ctx, err)
		case !led && !canRetryCampaign(err):
			return err
		case err == nil, errors.Is(err, ErrLost), errors.Is(err, errResigned), time.Since(began) > maxLeaderPause:
			failures = 0
		}
		failures++
		pause := backoff.Pause(minLeaderPause, maxLeaderPause, failures)
		if led && err != nil && err != errResigned { //nolint:errorlint // identity: term set it
			slog.Default().Error("interlock: the work of the leader ended with an error; another process may lead", "key", l.mutex.key, "err", err, "pause", pause)
		}
		if err := retry.Sleep(ctx, pause); err != nil {
			return l.ended(ctx, nil)
		}
	}
}

// errResigned is the cause of the context of a function that Resign has asked to return.
var errResigned = fmt.Errorf("%w: the leader resigns", ErrReleased)

// term campaigns and calls fn once. It reports whether fn was called.
func (l *Leader) term(ctx context.Context, fn func(context.Context) error) (led bool, err error) {
	// The context of the hold checks the clock, so fn gets it and no child of it. Its
	// parent can be cancelled without releasing the lock.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	held, hold, err := l.elect(ctx)
	if err != nil {
		return false, err
	}
	l.setResign(func() error { cancel(errResigned); return nil })
	err = hold.run(held, fn)
	if context.Cause(ctx) == errResigned && (err == nil || errors.Is(err, ctx.Err()) || errors.Is(err, errResigned)) { //nolint:errorlint // identity: Resign set it
		err = errResigned // fn returned because it was asked to
	}
	return true, err
}

// canRetryCampaign reports whether a campaign may succeed later.
func canRetryCampaign(err error) bool {
	var busy *ContendedError
	if errors.As(err, &busy) {
		return !busy.Self
	}
	return engine.Temporary(err) || errors.Is(err, ErrLost) || errors.Is(err, ErrFull)
}

// ended returns the error of Run after ctx has ended, and the error of its last term if
// that is another one.
func (l *Leader) ended(ctx context.Context, last error) error {
	err := fmt.Errorf("interlock: lead %q: %w", l.mutex.key, context.Cause(ctx))
	if last == nil || errors.Is(last, context.Cause(ctx)) || errors.Is(last, ctx.Err()) {
		return err
	}
	return errors.Join(err, last)
}

// announce writes the note that tells observers of the leader.
func (l *Leader) announce(held context.Context, hold *Hold) error {
	if hold.Local() {
		return fmt.Errorf("%w: the engine has degraded to locks of this process", ErrUnavailable)
	}
	notes := l.mutex.core.caps.Notes
	if notes == nil {
		return nil
	}
	text := announcement{engine.ShortHolder(hold.Holder()), hold.Fence(), l.value}.String()
	_, err := persist(held, l.mutex.core, retry.BriefOutage, func() (struct{}, error) {
		for {
			note, err := notes.ReadNote(held, l.note)
			switch {
			case err != nil:
				return struct{}{}, err
			case held.Err() != nil: // a later leader may have written the note
				return struct{}{}, context.Cause(held)
			case note.Text == text: // by a request whose reply was lost
				return struct{}{}, nil
			case parseAnnouncement(note.Text).fence > hold.Fence(): // of a later leader, unless fences fell with the data of the engine
				if err := l.confirm(held, hold); err != nil {
					return struct{}{}, err
				}
			}
			if err := notes.WriteNote(held, l.note, text, note.Version); !errors.Is(err, engine.ErrConflict) {
				return struct{}{}, err
			}
		}
	})
	if held.Err() != nil {
		return context.Cause(held)
	}
	return err
}

// confirm asks the engine whether hold is still valid, and ends it if it is not.
func (l *Leader) confirm(held context.Context, hold *Hold) error {
	c := l.mutex.core
	if c.caps.Inspector == nil {
		return nil
	}
	lock, err := c.caps.Inspector.Inspect(held, l.mutex.key)
	if err != nil || slices.ContainsFunc(lock.Holders, func(h engine.Holder) bool { return h.Name == hold.Holder() }) {
		return err
	}
	hold.lease.lose(c.lossReason(hold.lease.req))
	return context.Cause(held)
}

// An announcement is the text of a leader's note.
type announcement struct {
	holder string // hashed, as a holder id is a secret
	fence  uint64
	value  string
}

func (a announcement) String() string { return fmt.Sprintf("%s %d %s", a.holder, a.fence, a.value) }

// parseAnnouncement returns the zero value for a text that no leader wrote.
func parseAnnouncement(text string) announcement {
	holder, rest, _ := strings.Cut(text, " ")
	digits, value, _ := strings.Cut(rest, " ")
	fence, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return announcement{}
	}
	return announcement{holder, fence, value}
}
