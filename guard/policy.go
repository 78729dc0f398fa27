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

// A Policy says what a [Guard] does. Its fields have the same names in a
// directive and in a rule file. A field that is zero has its default.
type Policy struct {
	// Name keeps the keys of one guard apart from those of others, and is how
	// logs and metrics call it. It is required.
	Name string

	// Scope is what of a [Key] makes two calls the same. The default is PerUser.
	Scope Scope

	// After is what is left when the work was done. The default is Keep.
	After After

	// Window is how long repeats are refused, from the start, if After is Window.
	Window time.Duration

	// Retain is how long a result is kept, and for how long an unknown outcome is
	// remembered: after that the work may be done again. The default is 5 minutes,
	// or a day if OnUnknown is Hold or Resolve.
	Retain time.Duration

	// Lease is how long a claim survives whoever has it. It is renewed, three
	// times a lease, while the work runs. The default is 30 seconds.
	Lease time.Duration

	// MaxHold bounds how long it is renewed. Work that takes longer loses its
	// claim. The default is 15 minutes.
	MaxHold time.Duration

	// OnDuplicate is what a caller gets for whom somebody else was first. The
	// default is Replay if After is Keep, and otherwise Refuse.
	OnDuplicate OnDuplicate

	// Wait bounds how long a duplicate waits if OnDuplicate is Wait. The default
	// is 3 seconds.
	Wait time.Duration

	// OnError is what is left when the work returned an error: Free, which is the
	// default, or Keep, so that duplicates get the error.
	OnError After

	// OnUnknown is what happens if nobody knows what became of the work. The
	// default is Rerun.
	OnUnknown OnUnknown

	// OnDown is what happens if the engine cannot be asked. The default is Closed.
	OnDown OnDown

	// Local is how long the in-process level answers by itself what it knows. The
	// default is 500 ms. It counts for engines elsewhere: one in this process is asked
	// each time, unless OnDown is Local.
	LocalCache time.Duration

	// Message is what a person is told whose duplicate was refused, by language.
	// The default is [DefaultMessage].
	Message Message

	// Status is the HTTP status of that refusal. The default is 409, or 429
	// unless After is Keep.
	Status int
}

// A Scope is what makes two calls the same.
type Scope string

// The scopes.
const (
	PerUser  Scope = "user+key"       // the same user and key
	Global   Scope = "key"            // the same key, whoever the user is
	PerRoute Scope = "user+route+key" // the same user, route and key
)

// An After is what is left when the work is over.
type After string

// What is left.
const (
	Free   After = "free"   // nothing: the next call runs
	Window After = "window" // repeats are refused until Policy.Window after the start
	Keep   After = "keep"   // the result, for Policy.Retain
)

// An OnDuplicate is what a caller gets for whom somebody else was first.
type OnDuplicate string

// What a duplicate gets.
const (
	Refuse OnDuplicate = "refuse" // a *DuplicateError
	Replay OnDuplicate = "replay" // a *DuplicateError while the work runs, and its result afterwards
	Wait   OnDuplicate = "wait"   // the result, waiting for it if need be; if none is kept, its own turn, or a refusal while the window lasts
)

// An OnUnknown is what happens if nobody knows what became of the work: it
// panicked, ran out of time, lost its claim, or died with its process.
type OnUnknown string

// What happens then.
const (
	Rerun   OnUnknown = "rerun"   // the next call runs: the work may happen twice
	Hold    OnUnknown = "hold"    // an *UnknownError for everybody, for Policy.Retain, or until Guard.Resolve or Guard.Forget
	Resolve OnUnknown = "resolve" // the next call asks the [Resolver] first
)

// An OnDown is what happens if the engine cannot be asked.
type OnDown string

// What happens then.
const (
	Closed OnDown = "closed" // a *DownError: nothing runs
	Open   OnDown = "open"   // the work runs unguarded
	Local  OnDown = "local"  // this process guards by itself, and others do not know
)

// The defaults of a [Policy].
const (
	DefaultRetain     = 5 * time.Minute
	DefaultHoldRetain = 24 * time.Hour // Retain with Hold or Resolve
	DefaultLease      = 30 * time.Second
	DefaultMaxHold    = 15 * time.Minute
	DefaultWait       = 3 * time.Second
	DefaultLocalCache = 500 * time.Millisecond

	shortest = 10 * time.Millisecond // less than that is over before a reply is back
	longest  = 365 * 24 * time.Hour  // more than that is a slip of the unit
	mostName = 64                    // bytes of Policy.Name
)

// ErrPolicy means that a [Policy] cannot be meant.
var ErrPolicy = errors.New("guard: bad policy")

// WithDefaults returns p with every default filled in.
func (p Policy) WithDefaults() Policy {
	fill(&p.Scope, PerUser)
	fill(&p.After, Keep)
	fill(&p.OnUnknown, Rerun)
	if p.OnUnknown == Rerun {
		fill(&p.Retain, DefaultRetain)
	} else {
		fill(&p.Retain, DefaultHoldRetain)
	}
	fill(&p.Lease, DefaultLease)
	fill(&p.MaxHold, max(DefaultMaxHold, p.Lease))
	fill(&p.Wait, DefaultWait)
	fill(&p.OnError, Free)
	fill(&p.OnDown, Closed)
	fill(&p.LocalCache, DefaultLocalCache)
	if p.After == Keep {
		fill(&p.OnDuplicate, Replay)
		fill(&p.Status, 409)
	} else {
		fill(&p.OnDuplicate, Refuse)
		fill(&p.Status, 429)
	}
	if p.Message == nil {
		p.Message = DefaultMessage()
	}
	return p
}

func fill[V comparable](field *V, value V) {
	var zero V
	if *field == zero {
		*field = value
	}
}

// Check tells what is wrong with p, all of it, or returns nil. Such an error
// matches [ErrPolicy].
func (p Policy) Check() error {
	full := p.WithDefaults()
	err := errors.Join(append(full.checkWords(), full.checkTimes(p)...)...)
	if err != nil {
		return fmt.Errorf("%w %q: %w", ErrPolicy, p.Name, err)
	}
	return nil
}

// checkWords checks what is chosen from a list, and what goes together.
func (p Policy) checkWords() []error {
	errs := []error{
		oneOf("Scope", p.Scope, PerUser, Global, PerRoute),
		oneOf("After", p.After, Free, Window, Keep),
		oneOf("OnDuplicate", p.OnDuplicate, Refuse, Replay, Wait),
		oneOf("OnError", p.OnError, Free, Keep),
		oneOf("OnUnknown", p.OnUnknown, Rerun, Hold, Resolve),
		oneOf("OnDown", p.OnDown, Closed, Open, Local),
	}
	if p.Name == "" || len(p.Name) > mostName {
		errs = append(errs, wrong("Name", "has %d bytes: give it 1 to %d, such as %q", len(p.Name), mostName, "order"))
	}
	if !utf8.ValidString(p.Name) || strings.ContainsFunc(p.Name, unicode.IsControl) {
		errs = append(errs, wrong("Name", "%q has characters that cannot be read; use letters", p.Name))
	}
	if p.OnDuplicate == Replay && p.After != Keep {
		errs = append(errs, wrong("OnDuplicate", "%q needs After %q: nothing else keeps a result", Replay, Keep))
	}
	if p.After == Window && p.OnError == Keep {
		errs = append(errs, wrong("OnError", "%q does not go with After %q: there is no result to keep beside the window", Keep, Window))
	}
	if p.Status < 400 || p.Status > 599 {
		errs = append(errs, wrong("Status", "%d is no refusal: choose one from 400 to 599", p.Status))
	}
	return errs
}

// checkTimes checks the durations: of p with its defaults, and as it was given.
func (p Policy) checkTimes(given Policy) []error {
	errs := []error{
		within("Retain", p.Retain, shortest),
		within("Lease", p.Lease, shortest),
		within("MaxHold", p.MaxHold, shortest),
		within("Wait", p.Wait, time.Millisecond),
		within("Local", p.LocalCache, time.Millisecond),
	}
	switch {
	case p.After == Window:
		errs = append(errs, within("Window", p.Window, shortest))
	case given.Window != 0:
		errs = append(errs, wrong("Window", "%v needs After %q: without it nothing is refused that long; set it to zero", given.Window, Window))
	}
	if given.Wait != 0 && p.OnDuplicate != Wait {
		errs = append(errs, wrong("Wait", "%v needs OnDuplicate %q: without it nobody waits", given.Wait, Wait))
	}
	if p.MaxHold < p.Lease {
		errs = append(errs, wrong("MaxHold", "%v is less than one Lease of %v: shorten the lease", p.MaxHold, p.Lease))
	}
	return errs
}

func oneOf[V ~string](field string, value V, words ...V) error {
	if slices.Contains(words, value) {
		return nil
	}
	return wrong(field, "%q: choose one of %q", value, words)
}

func within(field string, d, least time.Duration) error {
	if d < least || d > longest {
		return wrong(field, "%v: must be from %v to %v", d, least, longest)
	}
	return nil
}

// wrong says what is wrong with a field.
func wrong(field, format string, args ...any) error {
	return fmt.Errorf("%s %s", field, fmt.Sprintf(format, args...))
}
