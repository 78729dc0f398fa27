package enginetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// An Op is something that an engine does, and in which it can fail.
type Op string

// What can fail. OpNotify is the arrival of one wake-up.
const (
	OpAcquire Op = "acquire"
	OpRenew   Op = "renew"
	OpRelease Op = "release"
	OpAbandon Op = "abandon"
	OpNotify  Op = "notify"

	OpCountDown    Op = "count down"
	OpInspect      Op = "inspect" // to list locks, or look at one or at clients
	OpForceRelease Op = "force-release"
	OpRegister     Op = "register"

	OpRaise       Op = "raise"
	OpIncarnation Op = "incarnation"

	OpClaim      Op = "claim"
	OpClaimRenew Op = "renew-claim"
	OpSettle     Op = "settle" // or abandon a claim
	OpLookup     Op = "lookup" // a record, or list some
	OpErase      Op = "erase"

	OpNote  Op = "note"  // to read or write one; its name is the key
	OpProbe Op = "probe" // to ask how the engine is
)

// A AuditEntry is a way to fail.
type Action string

// What a [Faulty] does to a call, or to a wake-up.
const (
	// Refuse lets nothing happen. The caller gets Fault.Err.
	Refuse Action = "refuse"

	// LoseReply lets the call happen. The caller gets [engine.ErrUnknown].
	LoseReply Action = "lose-reply"

	// Delay lets the call, or the wake-up, happen after Fault.After, even if
	// its caller has given up meanwhile. One that has gets [engine.ErrUnknown].
	Delay Action = "delay"

	// Duplicate lets the call happen twice. The caller gets the second answer.
	Duplicate Action = "duplicate"

	// Hang lets nothing happen. The caller gets [engine.ErrUnknown], but only
	// when its context is done or the engine is healed.
	Hang Action = "hang"

	// Mute drops a wake-up.
	Mute Action = "mute"
)

// A Fault is what is to go wrong.
type Fault struct {
	Op Op
	Do Action

	// Times is how often it goes wrong. Zero means until [Faulty.Heal].
	Times int

	// After is how long a Delay takes.
	After time.Duration

	// Err is what a Refuse answers. Nil means [engine.ErrUnavailable].
	Err error

	// Key restricts the fault to calls that concern this key. Empty means all.
	Key string
}

// check panics if the fault cannot happen, since a test that waits for it would
// prove nothing.
func (f Fault) check() {
	calls := []Action{Refuse, LoseReply, Delay, Duplicate, Hang}
	wakeUps := []Action{Mute, Delay}
	possible := map[Op][]Action{
		OpAcquire: calls, OpRenew: calls, OpRelease: calls, OpAbandon: calls, OpNotify: wakeUps,
		OpCountDown: calls, OpInspect: calls, OpForceRelease: calls, OpRegister: calls,
		OpRaise: calls, OpIncarnation: calls,
		OpClaim: calls, OpClaimRenew: calls, OpSettle: calls, OpLookup: calls, OpErase: calls,
		OpNote: calls, OpProbe: calls,
	}
	if !slices.Contains(possible[f.Op], f.Do) {
		panic(fmt.Sprintf("enginetest: %q cannot happen to %q: choose one of %q", f.Do, f.Op, possible[f.Op]))
	}
	if f.Do == Delay && f.After <= 0 {
		panic("enginetest: a Delay takes no time: set its After")
	}
}

// concerns reports whether the fault is meant for a call of op for these keys.
func (f Fault) concerns(op Op, keys []string) bool {
	return f.Op == op && (f.Key == "" || slices.Contains(keys, f.Key))
}

// error is what the caller is told in place of an answer.
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
