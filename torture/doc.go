// Package torture proves what needs more than one part of Interlock: many
// processes on a real Redis, every row of the fault matrix, and that what engines
// answer with replies lost can have happened in some order. It holds tests only
// and is never imported.
package torture
