package interlocktest

import (
	"time"

	"github.com/interlock-go/interlock/engine/enginetest"
)

// An Op is an operation of the engine.
type Op = enginetest.Op

// The operations that can fail on command.
const (
	Acquire    = enginetest.OpAcquire    // acquire a lock
	Renew      = enginetest.OpRenew      // renew the lease of a lock
	Release    = enginetest.OpRelease    // release a lock
	Claim      = enginetest.OpClaim      // claim a key of a guard
	RenewClaim = enginetest.OpClaimRenew // renew a claim
	Settle     = enginetest.OpSettle     // settle a claim
	Lookup     = enginetest.OpLookup     // look up a record
	Take       = enginetest.OpTake       // take a unit of a quota
	Return     = enginetest.OpReturn     // give a unit of a quota back
)

// everything lists the ops that Fail and Stall affect if called without ops.
var everything = []Op{
	Acquire, Renew, Release, enginetest.OpAbandon, Claim, RenewClaim, Settle, Lookup, Take, Return,
	enginetest.OpCountDown, enginetest.OpInspect, enginetest.OpForceRelease, enginetest.OpRegister,
	enginetest.OpRaise, enginetest.OpIncarnation, enginetest.OpNote, enginetest.OpProbe, enginetest.OpErase,
}

// Fail makes the given ops fail as if the engine were unreachable. Without ops, all ops
// fail. It lasts until [World.Heal].
func (w *World) Fail(ops ...Op) { w.inject(enginetest.Fault{Do: enginetest.Refuse}, ops) }

// Stall makes the given ops hang as if the engine were paused: they have no effect and
// get no reply. Without ops, all ops hang. It lasts until [World.Heal].
func (w *World) Stall(ops ...Op) { w.inject(enginetest.Fault{Do: enginetest.Hang}, ops) }

// LoseReply executes the next calls of op and loses their replies.
func (w *World) LoseReply(op Op, times int) {
	w.inject(enginetest.Fault{Do: enginetest.LoseReply, Times: times}, []Op{op})
}

// Delay executes the next calls of op after d, even if their callers have given up by
// then.
func (w *World) Delay(op Op, d time.Duration, times int) {
	w.inject(enginetest.Fault{Do: enginetest.Delay, After: d, Times: times}, []Op{op})
}

// Duplicate executes the next calls of op twice.
func (w *World) Duplicate(op Op, times int) {
	w.inject(enginetest.Fault{Do: enginetest.Duplicate, Times: times}, []Op{op})
}

// Mute drops notifications, so that waiters depend on polling. It lasts until
// [World.Heal].
func (w *World) Mute() {
	w.inject(enginetest.Fault{Do: enginetest.Mute}, []Op{enginetest.OpNotify})
}

// Heal ends all faults.
func (w *World) Heal() { w.faulty.Heal() }

// Forget expires all leases and records at once, like a server that restarts empty.
// Holders learn of it at their next renewal.
func (w *World) Forget() { w.memory.Step(forever) }

const forever = 10 * 365 * 24 * time.Hour

// Calls returns how many calls of the given ops the engine received. Without ops, it
// counts all calls.
func (w *World) Calls(ops ...Op) int { return w.faulty.Calls(ops...) }

// Fired returns how many calls of the given ops were hit by a fault. Without ops, it counts
// all such calls. Check it: a fault that never fired proves nothing.
func (w *World) Fired(ops ...Op) int { return w.faulty.Fired(ops...) }

func (w *World) inject(f enginetest.Fault, ops []Op) {
	if len(ops) == 0 {
		ops = everything
	}
	for _, f.Op = range ops {
		w.faulty.Inject(f)
	}
}
