package enginetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// An Op is an operation of an engine that can be made to fail.
type Op string

// The operations. OpNotify is the arrival of one notification.
const (
	OpAcquire Op = "acquire"
	OpRenew   Op = "renew"
	OpRelease Op = "release"
	OpAbandon Op = "abandon"
	OpNotify  Op = "notify"

	OpCountDown    Op = "count down"
	OpInspect      Op = "inspect" // list locks, inspect one, or list clients
	OpForceRelease Op = "force-release"
	OpRegister     Op = "register"

	OpRaise       Op = "raise"
	OpIncarnation Op = "incarnation"

	OpClaim      Op = "claim"
	OpClaimRenew Op = "renew-claim"
	OpSettle     Op = "settle" // or abandon a claim
	OpLookup     Op = "lookup" // or list records
	OpErase      Op = "erase"

	OpTake   Op = "take"   // a unit of a quota
	OpReturn Op = "return" // a unit of a quota

	OpNote  Op = "note"  // read or write a note; its name is the key
	OpProbe Op = "probe" // ask for the health of the engine
)

// An Action is a way to fail.
type Action string

// The actions of a [Faulty] on a call or a notification.
const (
	// Refuse does not make the call. The caller gets Fault.Err.
	Refuse Action = "refuse"

	// LoseReply makes the call. The caller gets [engine.ErrUnknown].
	LoseReply Action = "lose-reply"

	// Delay delivers the call or the notification after Fault.After, even if its
	// caller has given up. Such a caller gets [engine.ErrUnknown].
	Delay Action = "delay"

	// Duplicate makes the call twice. The caller gets the second answer.
	Duplicate Action = "duplicate"

	// Hang does not make the call. The caller gets [engine.ErrUnknown] when its
	// context is done or the engine is healed.
	Hang Action = "hang"

	// Mute drops a notification.
	Mute Action = "mute"
)

// A Fault is a failure to inject.
type Fault struct {
	Op Op
	Do Action

	// Times is how often it happens. Zero means until [Faulty.Heal].
	Times int

	// After is the duration of a Delay.
	After time.Duration

	// Err is the error of a Refuse. Nil means [engine.ErrUnavailable].
	Err error

	// Key restricts the fault to calls for this key. Empty means all.
	Key string
}

// check panics on a fault that cannot happen: a test with it would prove nothing.
func (f Fault) check() {
	calls := []Action{Refuse, LoseReply, Delay, Duplicate, Hang}
	wakeUps := []Action{Mute, Delay}
	possible := map[Op][]Action{
		OpAcquire: calls, OpRenew: calls, OpRelease: calls, OpAbandon: calls, OpNotify: wakeUps,
		OpCountDown: calls, OpInspect: calls, OpForceRelease: calls, OpRegister: calls,
		OpRaise: calls, OpIncarnation: calls,
		OpClaim: calls, OpClaimRenew: calls, OpSettle: calls, OpLookup: calls, OpErase: calls,
		OpTake: calls, OpReturn: calls, OpNote: calls, OpProbe: calls,
	}
	if !slices.Contains(possible[f.Op], f.Do) {
		panic(fmt.Sprintf("enginetest: %q cannot happen to %q: choose one of %q", f.Do, f.Op, possible[f.Op]))
	}
	if f.Do == Delay && f.After <= 0 {
		panic("enginetest: a Delay takes no time: set its After")
	}
}

// concerns reports whether the fault applies to a call of op for these keys.
func (f Fault) concerns(op Op, keys []string) bool {
	return f.Op == op && (f.Key == "" || slices.Contains(keys, f.Key))
}

// error returns the error that the caller gets.
func (f Fault) error(cause error) error {
	switch {
	case f.Do == Refuse && f.Err != nil:
		return f.Err
	case f.Do == Refuse:
		return fmt.Errorf("enginetest: %s was refused on purpose: %w", f.Op, engine.ErrUnavailable)
	case cause != nil:
		return fmt.Errorf("enginetest: no answer to %s on purpose: %w: %w", f.Op, engine.ErrUnknown, cause)
	}
	return fmt.Errorf("enginetest: no answer to %s on purpose: %w", f.Op, engine.ErrUnknown)
}
