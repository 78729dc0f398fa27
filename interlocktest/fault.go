package interlocktest

import (
	"time"

	"github.com/interlock-go/interlock/engine/enginetest"
)

// An Op is something that an engine does, and in which it can be made to fail.
type Op = enginetest.Op

// What can be made to fail.
const (
	Acquire    = enginetest.OpAcquire    // to take a lock
	Renew      = enginetest.OpRenew      // to renew the lease of a lock
	Release    = enginetest.OpRelease    // to give a lock up
	Claim      = enginetest.OpClaim      // to claim a key of a guard
	RenewClaim = enginetest.OpClaimRenew // to renew a claim
	Settle     = enginetest.OpSettle     // to settle a claim
	Lookup     = enginetest.OpLookup     // to look a record up
)

// everything is what Fail and Stall concern if nothing is named.
var everything = []Op{
	Acquire, Renew, Release, enginetest.OpAbandon, Claim, RenewClaim, Settle, Lookup,
	enginetest.OpCountDown, enginetest.OpInspect, enginetest.OpForceRelease, enginetest.OpRegister,
	enginetest.OpRaise, enginetest.OpIncarnation, enginetest.OpNote, enginetest.OpProbe, enginetest.OpErase,
}

// Fail makes the engine refuse, as one does that cannot be reached: the given ops,
// or all. It lasts until [World.Heal].
func (w *World) Fail(ops ...Op) { w.inject(enginetest.Fault{Do: enginetest.Refuse}, ops) }

// Stall makes the engine hang, as one does that is paused: nothing happens, and no
// answer comes until the caller gives up. It lasts until [World.Heal].
func (w *World) Stall(ops ...Op) { w.inject(enginetest.Fault{Do: enginetest.Hang}, ops) }

// LoseReply lets the next so many calls of op happen, and their answers get lost.
func (w *World) LoseReply(op Op, times int) {
	w.inject(enginetest.Fault{Do: enginetest.LoseReply, Times: times}, []Op{op})
}

// Delay lets the next so many calls of op happen late, even if their callers have
// given up by then.
func (w *World) Delay(op Op, by time.Duration, times int) {
	w.inject(enginetest.Fault{Do: enginetest.Delay, After: by, Times: times}, []Op{op})
}

// Duplicate lets the next so many calls of op happen twice.
func (w *World) Duplicate(op Op, times int) {
	w.inject(enginetest.Fault{Do: enginetest.Duplicate, Times: times}, []Op{op})
}

// Mute drops wake-ups, so that who waits has to find out by asking. It lasts until
// [World.Heal].
func (w *World) Mute() {
	w.inject(enginetest.Fault{Do: enginetest.Mute}, []Op{enginetest.OpNotify})
}

// Heal ends all that goes wrong.
func (w *World) Heal() { w.faulty.Heal() }

// Forget lets all leases and records run out at once, as a server does that comes
// back empty: whoever held something learns of it at the next renewal.
func (w *World) Forget() { w.memory.Step(forever) }

const forever = 10 * 365 * 24 * time.Hour

// Calls returns how often the engine was asked to do one of the given ops, or
// anything if none is given.
func (w *World) Calls(ops ...Op) int { return w.faulty.Calls(ops...) }

// Fired returns how often one of the given ops went wrong, or any if none is
// given. A test of a fault that never happened proves nothing.
func (w *World) Fired(ops ...Op) int { return w.faulty.Fired(ops...) }

func (w *World) inject(f enginetest.Fault, ops []Op) {
	if len(ops) == 0 {
		ops = everything
	}
	for _, f.Op = range ops {
		w.faulty.Inject(f)
	}
}
