package interlock

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/trace"
)

// A Trace receives the events of locks. Nil functions are skipped. Renewals, and losses
// before the release, are reported one after another in a goroutine of the client, so
// that a slow function delays no renewal. The other events are reported in the goroutine
// of the caller and delay it. A function must not acquire locks of the same client. Its
// panics are recovered, and the first one is logged to the default logger of log/slog.
//
// It is a struct of functions, so that adding an event breaks no code.
type Trace struct {
	Waiting       func(Waiting)                  // a lock is held, and the caller begins to wait
	Acquired      func(Acquired)                 // a lock was acquired
	Holding       func(Acquired) context.Context // called before Acquired; returns the context of the work under the lock
	Contended     func(Contended)                // a caller gave up on a held lock
	Failed        func(Failed)                   // the engine failed
	Renewed       func(Renewed)                  // a renewal succeeded, or failed and will be retried
	Released      func(Released)                 // a lock was released or handed over
	ReleaseFailed func(ReleaseFailed)            // a release failed; the lease will expire
	Lost          func(Lost)                     // a lock was lost before its release
	CleanedUp     func(CleanedUp)                // an acquisition without an answer was undone
	Degraded      func(Degraded)                 // work of a guard runs unguarded, or guarded by this process alone
	Warned        func(Warned)                   // a key or a setting works, but is probably a mistake
}

// Waiting is reported when a lock is held and the caller begins to wait.
type Waiting struct {
	Name   string // the business name; see [WithName]
	Key    string
	Kind   Kind
	Holder string        // the current holder
	Ahead  int           // waiters before this one, if the kind has a queue
	Left   time.Duration // time left of the holder's lease; zero if unknown
}

// Acquired is reported when a lock was acquired.
type Acquired struct {
	Context    context.Context // of the caller
	Name       string          // the business name; see [WithName]
	Key        string
	Kind       Kind
	Holder     string
	Fence      uint64
	Lease      time.Duration
	Waited     time.Duration
	Queued     time.Duration // the part of Waited after the lock was found held
	Tries      int           // requests sent to the engine; 0 after a handover
	HandedOver bool          // received from another holder of this process
	Local      bool          // valid in this process only: the engine has degraded
}

// context and with let each Holding function start from the context that the one before
// it returned.
func (e Acquired) context() context.Context { return e.Context }

func (e Acquired) with(ctx context.Context) Acquired {
	e.Context = ctx
	return e
}

// Contended is reported when a caller gave up on a held lock.
type Contended struct {
	Context context.Context // of the caller
	Name    string          // the business name; see [WithName]
	Key     string
	Kind    Kind
	Holder  string        // the current holder, if known
	Ahead   int           // waiters before this one, if the kind has a queue
	Left    time.Duration // time left of the holder's lease; zero if unknown
	Waited  time.Duration
	Err     error // why the wait ended; nil after one attempt
}

// Result returns the outcome in one word: "busy" after one attempt, "timeout" if the time
// for the wait was over, or "cancelled".
func (e Contended) Result() string {
	switch {
	case e.Err == nil:
		return "busy"
	case errors.Is(e.Err, errWaited), errors.Is(e.Err, context.DeadlineExceeded):
		return "timeout"
	}
	return "cancelled"
}

// Failed is reported when the engine failed.
type Failed struct {
	Context context.Context // of the caller
	Name    string          // the business name; see [WithName]
	Kind    Kind
	Key     string
	Waited  time.Duration
	Guard   bool // a call of a guard; the guard's own trace reports it, too
	Err     error
}

// Renewed is reported when a renewal succeeded or failed.
type Renewed struct {
	Name   string // the business name; see [WithName]
	Kind   Kind
	Key    string
	Holder string
	Err    error // the renewal is retried until the lease expires
}

// Released is reported when a lock was released.
type Released struct {
	Context    context.Context // of the caller, or the one that Holding returned
	Name       string          // the business name; see [WithName]
	Key        string
	Kind       Kind
	Holder     string
	Fence      uint64
	Held       time.Duration
	HandedOver bool // to another holder of this process
}

// ReleaseFailed is reported when a release failed. The lease will expire.
type ReleaseFailed struct {
	Context context.Context // of the caller, or the one that Holding returned
	Name    string          // the business name; see [WithName]
	Kind    Kind
	Key     string
	Holder  string
	Held    time.Duration
	Err     error
}

// Lost is reported when a lock was lost before its release.
type Lost struct {
	Context   context.Context // of the caller, or the one that Holding returned
	Name      string          // the business name; see [WithName]
	Key       string
	Kind      Kind
	Holder    string
	Fence     uint64
	Held      time.Duration
	AtRelease bool  // the engine refused the release, because the caller was no longer the holder
	Guard     bool  // a claim of a guard; the guard's own trace reports it, too
	Err       error // see [LostError]
}

// Reason returns the reason in one word: "expired", "max-hold", "revoked", "closed",
// "switched", or "not-holder" if the engine no longer knew the hold.
func (e Lost) Reason() string { return lossReason(e.Err) }

// CleanedUp is reported when an acquisition without an answer was undone.
type CleanedUp struct {
	Name   string // the business name; see [WithName]
	Kind   Kind
	Key    string
	Holder string
	Found  bool  // the lock had been granted
	Err    error // the clean-up failed; the lease will expire
}

// Warned is reported for a key or a setting that works but is probably a mistake. Keys with
// the same first part are reported once, and so is each setting.
type Warned struct {
	Key     string // the key, or the name of a guard; empty for a setting of the client
	Problem string
}

// and returns a trace that calls t and then u, and recovers the panics of u. Either may be
// nil. Panics of t are recovered already, because and made t.
func (t *Trace) and(u *Trace) *Trace {
	switch {
	case u == nil:
		return t
	case t == nil:
		t = new(Trace)
	}
	return &Trace{
		Waiting:       trace.Both(t.Waiting, u.Waiting),
		Acquired:      trace.Both(t.Acquired, u.Acquired),
		Holding:       trace.Chain(t.Holding, u.Holding, Acquired.context, Acquired.with),
		Contended:     trace.Both(t.Contended, u.Contended),
		Failed:        trace.Both(t.Failed, u.Failed),
		Renewed:       trace.Both(t.Renewed, u.Renewed),
		Released:      trace.Both(t.Released, u.Released),
		ReleaseFailed: trace.Both(t.ReleaseFailed, u.ReleaseFailed),
		Lost:          trace.Both(t.Lost, u.Lost),
		CleanedUp:     trace.Both(t.CleanedUp, u.CleanedUp),
		Degraded:      trace.Both(t.Degraded, u.Degraded),
		Warned:        trace.Both(t.Warned, u.Warned),
	}
}

// Degraded is reported when work of a guard runs with less protection than usual, because
// the engine is down and the guard's policy allows it.
type Degraded struct {
	Name  string // the name of the guard
	Key   string // the key as the engine stores it
	Local bool   // only this process guards the work; otherwise nothing does
	Err   error  // why the engine is down, if known
}

// ReportDegraded counts a degraded run and reports it to the client's trace. Package guard
// calls it.
func (c *Client) ReportDegraded(e Degraded) {
	if e.Local {
		c.core.guardStats.local.Add(1)
	} else {
		c.core.guardStats.unguarded.Add(1)
	}
	if t := c.opts.trace; t != nil && t.Degraded != nil {
		t.Degraded(e)
	}
}

// ReportFailed counts a failure of the engine and reports it to the client's trace.
// Directives call it for their guards.
func (c *Client) ReportFailed(e Failed) {
	c.core.guardStats.failed.Add(1)
	e.Guard = true
	if t := c.opts.trace; t != nil && t.Failed != nil {
		t.Failed(e)
	}
}

// ReportLost counts a lost claim and reports it to the client's trace. Directives call it
// for their guards.
func (c *Client) ReportLost(e Lost) {
	c.core.guardStats.countLost(e.Err)
	e.Guard = true
	if t := c.opts.trace; t != nil && t.Lost != nil {
		t.Lost(e)
	}
}

// Log returns a [Trace] that logs the life of every lock. Keys are logged in plain
// text, holders as 16 hex digits. Routine events have level debug; events that
// an operator should look at have level warn or error. Lines of a disabled level cost
// almost nothing.
//
// Package observe/logs adds levels that can change while the program runs, and the log of
// guards and engines.
func Log(logger *slog.Logger) *Trace {
	l := lockLog{logger, &trace.Sample[string]{PerSecond: 1}}
	return &Trace{
		Waiting:       l.waiting,
		Acquired:      l.acquired,
		Contended:     l.contended,
		Failed:        l.failed,
		Renewed:       l.renewed,
		Released:      l.released,
		ReleaseFailed: l.releaseFailed,
		Lost:          l.lost,
		CleanedUp:     l.cleanedUp,
		Degraded:      l.degraded,
		Warned:        l.warned,
	}
}

// A lockLog writes the lines of Log.
type lockLog struct {
	*slog.Logger
	sample *trace.Sample[string] // of degraded runs, by guard
}

// off reports whether a level is disabled. It comes first, because attributes cost time.
func (l lockLog) off(level slog.Level) bool { return !l.Enabled(context.Background(), level) }

// write logs an event of one lock. Handlers find the values of the caller's context, such
// as a trace id. Some drop lines of a context that is done, so the end of ctx is hidden.
func (l lockLog) write(ctx context.Context, level slog.Level, text, name string, kind Kind, key string, attrs ...slog.Attr) {
	if ctx == nil {
		ctx = context.Background()
	}
	all := append(make([]slog.Attr, 0, len(attrs)+3), slog.String("name", name), slog.String("kind", kind.String()), slog.String("key", key))
	l.LogAttrs(context.WithoutCancel(ctx), level, text, append(all, attrs...)...)
}

func (l lockLog) waiting(e Waiting) {
	if l.off(slog.LevelDebug) {
		return
	}
	l.write(context.Background(), slog.LevelDebug, "lock: waiting", e.Name, e.Kind, e.Key, holder("held_by", e.Holder), slog.Duration("left", e.Left), slog.Int("ahead", e.Ahead))
}

func (l lockLog) acquired(e Acquired) {
	if l.off(slog.LevelDebug) {
		return
	}
	l.write(e.Context, slog.LevelDebug, "lock: acquired", e.Name, e.Kind, e.Key, holder("holder", e.Holder), slog.Duration("lease", e.Lease),
		slog.Uint64("fence", e.Fence), slog.Duration("waited", e.Waited), slog.Bool("handed_over", e.HandedOver))
}

func (l lockLog) contended(e Contended) {
	if l.off(slog.LevelInfo) {
		return
	}
	l.write(e.Context, slog.LevelInfo, "lock: not acquired", e.Name, e.Kind, e.Key, holder("held_by", e.Holder), slog.Duration("left", e.Left),
		slog.Duration("waited", e.Waited), slog.String("reason", e.Result()))
}

func (l lockLog) failed(e Failed) {
	if l.off(slog.LevelError) {
		return
	}
	l.write(e.Context, slog.LevelError, "lock: engine failed", e.Name, e.Kind, e.Key, slog.Duration("waited", e.Waited), slog.Any("err", e.Err))
}

func (l lockLog) renewed(e Renewed) {
	switch {
	case e.Err != nil && !l.off(slog.LevelWarn):
		l.write(context.Background(), slog.LevelWarn, "lock: renewal failed, retrying", e.Name, e.Kind, e.Key, holder("holder", e.Holder), slog.Any("err", e.Err))
	case e.Err == nil && !l.off(slog.LevelDebug):
		l.write(context.Background(), slog.LevelDebug, "lock: renewed", e.Name, e.Kind, e.Key, holder("holder", e.Holder))
	}
}

func (l lockLog) released(e Released) {
	if l.off(slog.LevelDebug) {
		return
	}
	l.write(e.Context, slog.LevelDebug, "lock: released", e.Name, e.Kind, e.Key, holder("holder", e.Holder), slog.Uint64("fence", e.Fence),
		slog.Duration("held", e.Held), slog.Bool("handed_over", e.HandedOver))
}

func (l lockLog) releaseFailed(e ReleaseFailed) {
	if l.off(slog.LevelWarn) {
		return
	}
	l.write(e.Context, slog.LevelWarn, "lock: release failed", e.Name, e.Kind, e.Key, holder("holder", e.Holder), slog.Duration("held", e.Held), slog.Any("err", e.Err))
}

func (l lockLog) lost(e Lost) {
	if l.off(slog.LevelError) {
		return
	}
	text := "lock: lost"
	if e.AtRelease {
		text = "lock: release refused"
	}
	l.write(e.Context, slog.LevelError, text, e.Name, e.Kind, e.Key, holder("holder", e.Holder), slog.Uint64("fence", e.Fence),
		slog.Duration("held", e.Held.Round(time.Millisecond)), slog.String("reason", e.Reason()), slog.Any("err", e.Err))
}

func (l lockLog) cleanedUp(e CleanedUp) {
	switch {
	case e.Err != nil && !l.off(slog.LevelWarn):
		l.write(context.Background(), slog.LevelWarn, "lock: clean-up failed, the lease will expire", e.Name, e.Kind, e.Key, holder("holder", e.Holder), slog.Any("err", e.Err))
	case e.Err == nil && !l.off(slog.LevelInfo):
		l.write(context.Background(), slog.LevelInfo, "lock: cleaned up", e.Name, e.Kind, e.Key, holder("holder", e.Holder), slog.Bool("was_granted", e.Found))
	}
}

// degraded logs one line per second and guard, with the number of lines left out.
func (l lockLog) degraded(e Degraded) {
	if l.off(slog.LevelWarn) {
		return
	}
	skipped, ok := l.sample.Allow(e.Name)
	if !ok {
		return
	}
	text := "guard: engine down, running unguarded"
	if e.Local {
		text = "guard: engine down, guarded by this process alone"
	}
	l.LogAttrs(context.Background(), slog.LevelWarn, text, slog.String("name", e.Name), slog.String("key", e.Key), slog.Any("err", e.Err), slog.Int("skipped", skipped))
}

func (l lockLog) warned(e Warned) {
	if e.Key == "" {
		l.Warn("lock: " + e.Problem)
		return
	}
	l.Warn("lock: "+e.Problem, "key", e.Key)
}

// holder returns an attribute with the hash of a holder id. The id is a secret.
func holder(name, id string) slog.Attr { return slog.String(name, engine.ShortHolder(id)) }
