// Package standby combines two engines with an operator's switch between them.
//
//	e, err := standby.New(ctx, primary, secondary)
//	client := interlock.New(e)
//	…
//	report, err := e.Switch(ctx, standby.Standby) // or: interlock switch --to standby
//
// All processes use one side at a time, the active one. A switch record on both
// engines names the active side, and every process reads the record continually. A
// process that has not read it for [MaxRecordAge] is granted nothing. After a switch nothing is
// granted until every earlier lease has expired. This freeze lasts for the
// longest lease that was requested, at most [LongestLease], plus [MaxRecordAge] and a margin.
//
// So no lock has holders on both sides, provided that the record on the old side can be
// written. If it cannot, Switch fails, unless it is called with [Force].
//
// The last resort is [Local]: every process uses an embedded engine of its own.
//
// # Limits
//
// After a switch with [Force] or by [Automatic], a process that reaches only the
// old side may still be granted locks there, so a lock may have two holders. On
// [Local], every process has its own locks, so each may have one holder per
// process. Such grants are marked as local.
//
// A switch copies no locks: holders lose them at their next renewal or before, with
// [engine.ErrSwitched] as the reason. Latches start again. Records of guards are
// looked up on the other side while it can be reached; [Stats] counts the claims for which
// it could not be reached. Fences rise across a switch if the new side's clock is not
// behind by more than the freeze. A process that starts during the freeze relies on
// the clock of the new side; if that clock is set forward, the process does not wait
// long enough.
//
// An engine that loses its data may lose the record; then the other side's record
// counts. A side without a record grants locks only to processes that have read the
// other side, so the very first process must reach both engines. If a failover restores an
// old record, a process that reaches only that side follows the old record.
package standby
