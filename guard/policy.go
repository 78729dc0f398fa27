package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Policy configures a [Guard]. Its fields have the same names in directives and
// rule files. A zero field gets its default.
type Policy struct {
	// Name separates the guard's keys from those of others, and identifies the guard
	// in logs and metrics. Required.
	Name string

	// Scope decides which parts of a [Key] make two calls duplicates. Default: PerUser.
	Scope Scope

	// After is what remains when the work is done. Default: Keep.
	After After

	// Window is how long repeats are refused, counted from the start, if After is
	// Window.
	Window time.Duration

	// Retain is how long a result or an unknown outcome is kept. Afterwards the work
	// may run again. Default: 24h.
	Retain time.Duration

	// Lease is how long a claim outlives a process that dies. While the work runs, it
	// is renewed three times per lease. Default: 30s.
	Lease time.Duration

	// MaxHold bounds how long a claim is renewed. Work that takes longer loses its
	// claim. Default: 15m.
	MaxHold time.Duration

	// OnDuplicate is what a duplicate gets. Default: Replay if After is Keep, and
	// otherwise Refuse.
	OnDuplicate OnDuplicate

	// Wait bounds how long a duplicate waits if OnDuplicate is Wait. Default: 3s.
	Wait time.Duration

	// OnError is what remains when the work returns an error: Free, so that the next
	// call runs, or Keep, so that duplicates get the error. Default: Free.
	OnError After

	// OnUnknown is what happens after an unknown outcome. Default: Hold.
	OnUnknown OnUnknown

	// Classify returns the class of the work's errors, for instance those of a database
	// driver. If it returns "" or is nil, the function [Classify] decides. [NotExecuted]
	// and [OutcomeUnknown] win over both. Default: nil.
	Classify func(error) ErrorClass `json:"-"`

	// OnDown is what happens while the engine is down. Default: Closed.
	OnDown OnDown

	// LocalCache is how long this process reuses an engine's answer. An in-process
	// engine is asked every time, unless OnDown is Local. Default: 500ms.
	LocalCache time.Duration

	// Message is the text for a user whose duplicate was refused, by language.
	// Default: [DefaultMessage], or [DoneMessage] once the work is done.
	Message Message

	// Status is the HTTP status of that refusal. Default: 409 if After is Keep, and
	// otherwise 429.
	Status int
}

// A Scope decides which calls are duplicates.
type Scope string

// The scopes.
const (
	PerUser  Scope = "user+key"       // the same user and key
	Global   Scope = "key"            // the same key, of any user
	PerRoute Scope = "user+route+key" // the same user, route and key
)

// An After is what remains when the work is done.
type After string

// The values of After and OnError.
const (
	Free   After = "free"   // nothing: the next call runs
	Window After = "window" // repeats are refused until Policy.Window after the start
	Keep   After = "keep"   // the result, for Policy.Retain
)

// An OnDuplicate is what a duplicate gets.
type OnDuplicate string

// The values of OnDuplicate.
const (
	Refuse OnDuplicate = "refuse" // a *DuplicateError
	Replay OnDuplicate = "replay" // a *DuplicateError while the work runs, and its result afterwards
	Wait   OnDuplicate = "wait"   // the result, after waiting for it; if no result is kept, the duplicate runs, or is refused within the window
)

// An OnUnknown is what happens after an unknown outcome: the work panicked, timed out,
// got a transport error ([Classify]), lost its claim, or died with its process.
type OnUnknown string

// The values of OnUnknown.
const (
	Rerun   OnUnknown = "rerun"   // the next call runs, so the work may happen twice; an outcome that another guard holds stays held
	Hold    OnUnknown = "hold"    // every call gets an *UnknownError, for Policy.Retain or until Guard.Resolve or Guard.Forget
	Resolve OnUnknown = "resolve" // the next call calls the [Resolver] first
)

// An OnDown is what happens while the engine is down.
type OnDown string

// The values of OnDown.
const (
	Closed OnDown = "closed" // a *DownError: nothing runs
	Open   OnDown = "open"   // the work runs unguarded
	Local  OnDown = "local"  // each process guards its own calls, without the others
)

// The defaults of a [Policy].
const (
	DefaultRetain     = 24 * time.Hour
	DefaultLease      = 30 * time.Second
	DefaultMaxHold    = 15 * time.Minute
	DefaultWait       = 3 * time.Second
	DefaultLocalCache = 500 * time.Millisecond

	minDuration = 10 * time.Millisecond // a shorter lease expires before the reply arrives
	maxDuration = 365 * 24 * time.Hour  // a longer duration is probably a wrong unit
	maxName     = 64                    // bytes of Policy.Name
)

// ErrPolicy means that a [Policy] is invalid.
var ErrPolicy = errors.New("guard: invalid policy")

// WithDefaults returns p with every default filled in.
func (p Policy) WithDefaults() Policy {
	setDefault(&p.Scope, PerUser)
	setDefault(&p.After, Keep)
	setDefault(&p.OnUnknown, Hold)
	setDefault(&p.Retain, DefaultRetain)
	setDefault(&p.Lease, DefaultLease)
	setDefault(&p.MaxHold, max(DefaultMaxHold, p.Lease))
	setDefault(&p.Wait, DefaultWait)
	setDefault(&p.OnError, Free)
	setDefault(&p.OnDown, Closed)
	setDefault(&p.LocalCache, DefaultLocalCache)
	if p.After == Keep {
		setDefault(&p.OnDuplicate, Replay)
		setDefault(&p.Status, 409)
	} else {
		setDefault(&p.OnDuplicate, Refuse)
		setDefault(&p.Status, 429)
	}
	if p.Message == nil {
		p.Message = DefaultMessage()
	}
	return p
}

func setDefault[V comparable](field *V, value V) {
	var zero V
	if *field == zero {
		*field = value
	}
}

// Check returns an error that lists every mistake in p, or nil. The error matches
// [ErrPolicy].
func (p Policy) Check() error {
	full := p.WithDefaults()
	err := errors.Join(append(full.checkChoices(), full.checkDurations(p)...)...)
	if err != nil {
		return fmt.Errorf("%w %q: %w", ErrPolicy, p.Name, err)
	}
	return nil
}

// checkChoices checks the enumerations, the name, and which fields go together.
func (p Policy) checkChoices() []error {
	errs := []error{
		oneOf("Scope", p.Scope, PerUser, Global, PerRoute),
		oneOf("After", p.After, Free, Window, Keep),
		oneOf("OnDuplicate", p.OnDuplicate, Refuse, Replay, Wait),
		oneOf("OnError", p.OnError, Free, Keep),
		oneOf("OnUnknown", p.OnUnknown, Rerun, Hold, Resolve),
		oneOf("OnDown", p.OnDown, Closed, Open, Local),
	}
	if p.Name == "" || len(p.Name) > maxName {
		errs = append(errs, fieldError("Name", "has %d bytes: use 1 to %d, such as %q", len(p.Name), maxName, "order"))
	}
	if !utf8.ValidString(p.Name) || strings.ContainsFunc(p.Name, unicode.IsControl) {
		errs = append(errs, fieldError("Name", "%q has control characters or is not UTF-8; use letters", p.Name))
	}
	if p.OnDuplicate == Replay && p.After != Keep {
		errs = append(errs, fieldError("OnDuplicate", "%q needs After %q: no other After keeps a result", Replay, Keep))
	}
	if p.After == Window && p.OnError == Keep {
		errs = append(errs, fieldError("OnError", "%q cannot be combined with After %q: a window keeps no result", Keep, Window))
	}
	if p.Status < 400 || p.Status > 599 {
		errs = append(errs, fieldError("Status", "%d is not an error status: choose one from 400 to 599", p.Status))
	}
	return errs
}

// checkDurations checks the durations of p. given is p before the defaults.
func (p Policy) checkDurations(given Policy) []error {
	errs := []error{
		checkRange("Retain", p.Retain, minDuration),
		checkRange("Lease", p.Lease, minDuration),
		checkRange("MaxHold", p.MaxHold, minDuration),
		checkRange("Wait", p.Wait, time.Millisecond),
		checkRange("LocalCache", p.LocalCache, time.Millisecond),
	}
	switch {
	case p.After == Window:
		errs = append(errs, checkRange("Window", p.Window, minDuration))
	case given.Window != 0:
		errs = append(errs, fieldError("Window", "%v needs After %q: no other After has a window; set Window to zero", given.Window, Window))
	}
	if given.Wait != 0 && p.OnDuplicate != Wait {
		errs = append(errs, fieldError("Wait", "%v needs OnDuplicate %q: otherwise duplicates do not wait", given.Wait, Wait))
	}
	if p.MaxHold < p.Lease {
		errs = append(errs, fieldError("MaxHold", "%v is shorter than one Lease of %v: shorten the lease", p.MaxHold, p.Lease))
	}
	return errs
}

func oneOf[V ~string](field string, value V, choices ...V) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return fieldError(field, "%q: choose one of %q", value, choices)
}

func checkRange(field string, d, least time.Duration) error {
	if d < least || d > maxDuration {
		return fieldError(field, "%v: must be from %v to %v", d, least, maxDuration)
	}
	return nil
}

func fieldError(field, format string, args ...any) error {
	return fmt.Errorf("%s %s", field, fmt.Sprintf(format, args...))
}
