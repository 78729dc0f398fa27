package guard

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A call is somebody who wants work to happen once.
type call struct {
	core    *core
	key     Key
	hash    string // what the engine calls it
	print   string // what it is told of the fingerprint
	attempt string // a name for its first claim; "" once that is used
	start   time.Time
	looked  time.Time   // when it last saw that it is to ask; zero once it has
	asked   bool        // it asked the engine
	timer   *time.Timer // for the end of its wait; nil until it waits
	answer  answer      // the last one: it is large, so it stays where it is
}

// An answer is what a call may go on with: a claim, or a record to return.
type answer struct {
	seat      *seat
	rec       engine.Record
	req       engine.Claim   // if granted
	sent      time.Time      // when it was asked for
	got       time.Time      // and when it came
	ledger    engine.Ledger  // that granted it
	local     bool           // which is that of this process
	unknown   *engine.Record // it was granted in order to find out what became of that
	unguarded error          // why nobody granted it
}

// name works out what the engine calls the key of a call, and its first attempt:
// as one string, since there is one of each in every call.
func (k *call) name() {
	c := k.core
	var room [256]byte
	b := append(append(room[:0], c.escaped...), ':')
	sum := k.key.digest(c.policy.Name, c.policy.Scope, c.secret)
	b = base64.RawURLEncoding.AppendEncode(b, sum[:])
	n := len(b)
	both := string(c.appendAttempt(b))
	k.hash, k.attempt = both[:n], both[n:]
	if k.key.Fingerprint != "" {
		k.print = k.fingerprint()
	}
}

// fingerprint returns what the engine is told of a fingerprint: of two records it
// differs although their payloads are the same, and it cannot be looked up.
func (k *call) fingerprint() string {
	var room [256]byte
	b := part(part(room[:0], k.hash), k.key.Fingerprint)
	sum := sha256.Sum256(b)
	if k.core.secret != nil {
		sum = keyed(k.core.secret, string(b))
	}
	return string(base64.RawURLEncoding.AppendEncode(room[:0], sum[:]))
}

// begin finds out what a call may do.
func (k *call) begin(ctx context.Context) (*answer, error) {
	c, now := k.core, k.start
	if k.key.expired {
		if a, err := k.recall(ctx); c.policy.OnUnknown != Resolve || !errors.Is(err, ErrUnknown) {
			return a, err
		}
		now = time.Now() // the engine was asked
	}
	for ; ; now = time.Now() {
		if c.closed.Load() {
			return nil, ErrClosed
		}
		if c.near {
			if a, ok, err := k.knock(ctx, now); ok {
				return a, err
			}
			now = time.Now() // that may have taken its time
		}
		v := c.desk.sit(k.hash, now)
		if v.mine {
			k.looked = now
			return k.stand(ctx, v.seat)
		}
		if !matches(v.rec.Fingerprint, k.print) { // while it is asked for, it has none
			return nil, k.mismatch()
		}
		switch v.phase {
		case asking:
			if err := k.rest(ctx, v.changed); err != nil {
				return nil, err
			}
			if err := c.desk.why(v.seat); err != nil && k.shares(err) {
				return k.refused(err)
			}
		case running, scouting:
			if c.policy.OnDuplicate != Wait {
				return nil, k.duplicate(v.rec)
			}
			if err := k.queue(ctx, v); err != nil {
				return nil, err
			}
		case told, elsewhere:
			k.answer.rec = v.rec
			return k.judge()
		}
	}
}

// knock asks an engine that is in this process: nobody is spared a way by being told
// here what it said. It reports whether that is an answer. To wait is for the desk.
func (k *call) knock(ctx context.Context, now time.Time) (a *answer, ok bool, err error) {
	k.looked = now
	a, err = k.claim(ctx, false)
	switch {
	case err == nil && a.rec.Granted:
		return a, true, nil
	case err == nil && taken(a) && k.core.policy.OnDuplicate == Wait:
		return nil, false, nil
	case err != nil:
		a, err = k.refused(k.explain(ctx, err))
	default:
		a, err = k.judge()
	}
	return a, true, err
}

// recall finds what a token was spent on that has expired since. It begins nothing.
func (k *call) recall(ctx context.Context) (*answer, error) {
	k.asked = true
	rec, err := k.lookup(ctx)
	switch {
	case err != nil:
		return nil, k.explain(ctx, err)
	case rec.State == engine.Absent:
		return nil, ErrTokenExpired
	case !matches(rec.Fingerprint, k.print):
		return nil, k.mismatch()
	}
	k.answer.rec = rec
	return k.judge()
}

// lookup returns what is known of the key: by this process, if it has decided
// about it or the engine is down, and otherwise by the engine.
func (k *call) lookup(ctx context.Context) (engine.Record, error) {
	c := k.core
	if c.local.decided(k.hash) != engine.Absent {
		return recordIn(c.local.own, k.hash), nil
	}
	rec, err := c.ledger.Lookup(ctx, k.hash)
	if c.policy.OnDown == Local && isDown(err) && ctx.Err() == nil {
		if rec := c.local.remembers(k.hash); rec.State != engine.Absent {
			return rec, nil
		}
	}
	return rec, err
}

// shares tells whether what kept another call from an answer concerns this one.
func (k *call) shares(err error) bool { return !errors.Is(err, ErrMismatch) }

// refused handles that the engine could not be asked.
func (k *call) refused(err error) (*answer, error) {
	var down *DownError
	if errors.As(err, &down) && k.core.policy.OnDown == Open {
		k.answer = answer{unguarded: down.Err}
		return &k.answer, nil
	}
	return nil, err
}

// judge says what the record of an answer means for a call that has no claim.
func (k *call) judge() (*answer, error) {
	p, rec := &k.core.policy, &k.answer.rec
	switch rec.State {
	case engine.Done:
		if p.After == Keep && p.OnDuplicate != Refuse {
			return &k.answer, nil
		}
		return nil, k.duplicate(*rec)
	case engine.Failed:
		return nil, k.failedBefore(*rec)
	case engine.Unknown:
		return nil, k.unknown(*rec, nil)
	}
	return nil, k.duplicate(*rec)
}

// queue waits until what is known of a key changes.
func (k *call) queue(ctx context.Context, v view) error {
	c := k.core
	if !c.desk.queue(v.seat) {
		return k.crowded(v.rec)
	}
	defer c.desk.unqueue(v.seat)
	c.stats.waiting.Add(1)
	defer c.stats.waiting.Add(-1)
	if k.timer == nil {
		k.timer = time.NewTimer(c.policy.Wait - time.Since(k.start))
	}
	select {
	case <-v.changed:
		return nil
	case <-k.timer.C:
		k.timer.Reset(0) // it is over for whoever looks next, too
		return k.duplicate(v.rec)
	case <-ctx.Done():
		return k.gaveUp(context.Cause(ctx))
	case <-c.closing:
		return ErrClosed
	}
}

// rest waits for an answer that somebody else has asked for.
func (k *call) rest(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return k.gaveUp(context.Cause(ctx))
	case <-k.core.closing:
		return ErrClosed
	}
}

// matches tells whether two fingerprints may stand for the same.
func matches(a, b string) bool { return a == "" || b == "" || a == b }

func (k *call) duplicate(rec engine.Record) *DuplicateError {
	p := &k.core.policy
	if rec.State == engine.Running && p.After == Window {
		// The lease says nothing of when a repeat is accepted, but the window does.
		if left := p.Window - rec.Age; left > 0 {
			rec.Left = left
		}
	}
	return &DuplicateError{Guard: p.Name, Key: k.hash, Running: rec.State == engine.Running,
		RetryAfter: rec.Left, Message: p.Message, Status: p.Status}
}

func (k *call) crowded(rec engine.Record) *DuplicateError {
	err := k.duplicate(rec)
	err.TooManyWaiters = true
	return err
}

func (k *call) mismatch() error { return &MismatchError{Guard: k.core.policy.Name, Key: k.hash} }

func (k *call) unknown(rec engine.Record, why error) error {
	return &UnknownError{Guard: k.core.policy.Name, Key: k.hash, Fence: rec.Fence, Began: rec.Began, Left: rec.Left, Err: why}
}

func (k *call) noResult(why error) error {
	return &NoResultError{Guard: k.core.policy.Name, Key: k.hash, Err: why}
}

func (k *call) gaveUp(cause error) error {
	return fmt.Errorf("guard: %q: gave up before there was an answer: %w", k.hash, cause)
}

// failedBefore returns the error of an earlier call.
func (k *call) failedBefore(rec engine.Record) error {
	what, text, err := k.core.open(k.hash, rec.Result)
	if err == nil && what != failure {
		err = fmt.Errorf("%w: it holds something else than an error", ErrCorrupt)
	}
	if err != nil {
		return k.noResult(err)
	}
	return &FailedError{Guard: k.core.policy.Name, Key: k.hash, Text: string(text), Left: rec.Left}
}
