package rule

import (
	"time"

	"github.com/interlock-go/interlock/guard"
)

// A Rule is a lock or a guard, written down. A field that is zero has its default.
// Rules can be compared with ==.
type Rule struct {
	Verb Verb

	// Name keeps the keys of one rule apart from those of others: a key is
	// name:key. Rules of the same name exclude each other. In a directive the
	// default is the name of the function.
	Name string

	// Key tells one thing from another: up to 4 Go expressions with commas
	// between them in a directive, a [Template] in a file. A lock without one is
	// one lock for all.
	Key string

	// When is a Go expression. If it is false, the work runs as if there were no
	// rule.
	When string

	// Ctx is a Go expression for the context, where no parameter is one.
	Ctx string

	// Kind is the kind of a lock. The default is Reentrant.
	Kind Kind

	// Wait is how long a lock is waited for; the default is 5 seconds, and [Try]
	// is one attempt. For a guard it is how long a duplicate waits if OnDuplicate
	// is Wait; the default is 3 seconds.
	Wait time.Duration

	// Lease is how long a lock or claim survives whoever has it. A lock with a
	// lease is not renewed; without one it is, for as long as the work runs. A
	// claim always is.
	Lease time.Duration

	// MaxHold bounds how long a lock or claim is renewed.
	MaxHold time.Duration

	// OnTimeout is what happens if a lock is not to be had in time. The default is
	// Error.
	OnTimeout OnTimeout

	// Fallback is the Go expression of OnTimeout Call: a function that takes and
	// returns what the one with the directive does.
	Fallback string

	// What a guard does, as in [guard.Policy].
	After      guard.After
	Window     time.Duration // implies After window
	Retain     time.Duration
	Scope      guard.Scope
	OnError    guard.After
	OnUnknown  guard.OnUnknown
	OnDown     guard.OnDown
	LocalCache time.Duration
	Status     int

	// OnDuplicate is what a duplicate gets: as in guard.Policy, or Skip.
	OnDuplicate guard.OnDuplicate

	// Message is what a person is told who was refused, in every language that has
	// no message of its own below.
	Message   string
	MessageEN string // in English
	MessageZH string // in Chinese
}

// A Verb is what a rule does.
type Verb string

// The verbs.
const (
	Lock   Verb = "lock"   // one at a time
	Once   Verb = "once"   // once, and its result for everybody who asks again
	Submit Verb = "submit" // not again within 5 seconds, as [guard.Form]
)

// A Kind is a kind of lock.
type Kind string

// The kinds.
const (
	Reentrant Kind = "reentrant" // whoever has the context of a hold may enter again
	Plain     Kind = "plain"     // who holds it may not take it again
	Fair      Kind = "fair"      // reentrant, and first come first served
	Read      Kind = "read"      // many of these at a time
	Write     Kind = "write"     // or one of these
)

// An OnTimeout is what happens if a lock is not to be had in time.
type OnTimeout string

// What happens then.
const (
	Error OnTimeout = "error" // the function returns it
	Zero  OnTimeout = "skip"  // the function returns zero values, and no error
	Panic OnTimeout = "panic" // it panics with it
	Call  OnTimeout = "call"  // another function is called in its place
)

// Skip makes a duplicate get zero values, and no error.
const Skip guard.OnDuplicate = "skip"

// Try is a Wait that makes one attempt.
const Try time.Duration = -1

// The defaults of a [Rule], besides those of [guard.Policy].
const (
	DefaultWait   = 5 * time.Second // of a lock
	DefaultWindow = 5 * time.Second // of the verb submit
)
