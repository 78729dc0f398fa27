package rule

import (
	"time"

	"github.com/interlock-go/interlock/guard"
)

// A Rule is a lock, a guard or a quota as data. A zero field means the default. Rules can be
// compared with ==.
type Rule struct {
	Verb Verb

	// Name is the prefix of the keys of the rule: a key is name:key. Rules with the
	// same name exclude each other. Default in a directive: the function's name.
	Name string

	// Key identifies the locked object: up to 4 Go expressions separated by commas
	// in a directive, a [Template] in a file. A lock without a key is one lock for
	// all calls.
	Key string

	// When is a boolean Go expression. If it is false, the work runs without the rule.
	When string

	// Ctx is a Go expression for the context, if no parameter is a context.
	Ctx string

	// Kind is the kind of a lock. Default: Reentrant.
	Kind Kind

	// Wait bounds the wait for a lock; [Try] means one attempt. Default: 5s. For a
	// guard it bounds the wait of a duplicate if OnDuplicate is Wait. Default: 3s. For a
	// quota it bounds the wait for a unit. Default: none.
	Wait time.Duration

	// Lease is how long a lock or claim outlives a holder that crashes. A lock with a
	// Lease is not renewed. A lock without one is renewed while the work runs, and so
	// is any claim.
	Lease time.Duration

	// MaxHold bounds how long a lock or claim is renewed. Default: no limit for a lock,
	// 15m for a claim.
	MaxHold time.Duration

	// OnTimeout is what happens if a lock is not acquired in time, or if no unit of a
	// quota is left; for a quota, the option is on-limit. Default: Error.
	OnTimeout OnTimeout

	// Fallback is the Go expression of OnTimeout Call: a function with the same
	// parameters and results as the one with the directive.
	Fallback string

	// Rate is the number of executions per window that a quota allows, and Zone the time
	// zone in which calendar windows begin. Default: UTC.
	Rate Rate
	Zone string

	// The fields of a guard, as in [guard.Policy]. For a quota, OnError Free means that an
	// execution that fails gives its unit back.
	After      guard.After
	Window     time.Duration // implies After: window
	Retain     time.Duration
	Scope      guard.Scope
	OnError    guard.After
	OnUnknown  guard.OnUnknown
	OnDown     guard.OnDown
	LocalCache time.Duration
	Status     int

	// OnDuplicate is what a duplicate gets: as in guard.Policy, or Skip.
	OnDuplicate guard.OnDuplicate

	// Message is the refusal message for people, in every language without a message
	// below.
	Message   string
	MessageEN string // in English
	MessageZH string // in Chinese
}

// A Verb is the action of a rule.
type Verb string

// The verbs.
const (
	Lock   Verb = "lock"   // one call at a time
	Once   Verb = "once"   // one run per key; repeated calls get its result
	Submit Verb = "submit" // one run per key within 5s, as [guard.Form]
	Limit  Verb = "limit"  // as many runs per key and window as the rate allows
)

// Guards reports whether a rule with the verb is a guard, which stores records.
func (v Verb) Guards() bool { return v == Once || v == Submit }

// A Kind is a kind of lock.
type Kind string

// The kinds.
const (
	Reentrant Kind = "reentrant" // a call with the context of the hold may lock again
	Plain     Kind = "plain"     // the holder may not lock again
	Fair      Kind = "fair"      // reentrant, and granted in order of arrival
	Read      Kind = "read"      // shared with other readers
	Write     Kind = "write"     // excludes readers and other writers
)

// An OnTimeout is what happens if a lock is not acquired in time, or if no unit of a quota
// is left.
type OnTimeout string

// The values of OnTimeout.
const (
	Error OnTimeout = "error" // the function returns an error
	Zero  OnTimeout = "skip"  // the function returns zero values and no error
	Panic OnTimeout = "panic" // the function panics
	Call  OnTimeout = "call"  // the Fallback is called instead
)

// Skip makes a duplicate return zero values and no error.
const Skip guard.OnDuplicate = "skip"

// Try is a Wait that makes one attempt.
const Try time.Duration = -1

// The defaults of a [Rule], besides those of [guard.Policy].
const (
	DefaultWait   = 5 * time.Second // of a lock
	DefaultWindow = 5 * time.Second // of the verb submit
)
