// Package torture proves what needs more than one part of Interlock: many
// processes on a real Redis, and every row of the fault matrix. It holds tests
// only, and nobody imports it.
package torture
