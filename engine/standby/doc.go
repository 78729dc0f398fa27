// Package standby makes one engine of two, with an operator's switch between them.
//
//	e, err := standby.New(ctx, primary, secondary)
//	client := interlock.New(e)
//	…
//	report, err := e.Switch(ctx, standby.Standby) // or: interlock switch --to standby
//
// All processes use one of the two at a time. Which one is written down in a note
// that both engines keep, and that every process reads again and again. A process
// that has not read it for View grants nothing. After a switch nobody is granted
// anything until whatever was granted before is over: that is the quiet time,
// [LongestLease] and [View] and a little more.
//
// So two holders never have the same lock, one on each side: as long as the side
// that is left can be told of it. If it cannot, Switch refuses, unless it is told
// to [Force].
//
// The last resort is [Local]: every process by itself, in memory.
//
// # What is not promised
//
// After a switch that was forced, or made by [Automatic], a process that reaches
// only the side that was left may still be granted locks there: then two have one.
// With [Local] every process has its own locks, and nobody keeps those of two
// apart. Grants are marked so.
//
// Locks are not copied: who holds one is told that it is lost, at its next renewal
// or before, with [engine.ErrSwitched] as the reason. Latches begin anew. What
// became of work is looked up on the other side as long as that can be reached;
// what cannot be asked is counted in [Stats]. Fences rise over a switch if the
// clock of the new side is not behind that of the old one by more than the quiet
// time. A process that starts in the quiet time goes by the clock of the new side:
// if that is set forward meanwhile, it does not wait long enough.
//
// An engine that forgets its data, or a part of it in a failover, may forget the
// note: then what the other one says counts. A process that has never read the other
// one is granted nothing by a side without a note; so the first of all needs both. But
// if a failover brings an old note back, who reaches only that side believes it.
package standby
