// Package torture tests several parts of Interlock together: many processes on a real
// Redis, every row of the fault matrix, and the linearizability of engines that lose
// replies. It contains tests only and is never imported.
package torture
