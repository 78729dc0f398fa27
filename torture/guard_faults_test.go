package torture

import (
	"fmt"
	"testing"
	"time"
)

// TestGuardFaults proves the column "guard" of the fault matrix on a standalone
// Redis, and prints a line for each row. HTTP answers of the matrix are errors
// here: 503 a *guard.DownError, 409 a *guard.DuplicateError, 422 a
// *guard.MismatchError, and unknown a *guard.UnknownError.
//
// Missing are the rows that a guard has no answer of its own for (3, 13, 22, 36,
// 37, 40 to 42: locks, servers with a front, quorums) and those that need more
// than one Redis (15 to 20).
func TestGuardFaults(t *testing.T) {
	var rows []row
	for _, group := range [][]row{
		guardReplyRows, guardDownRows(), guardServerRows, guardMemoryRows, guardClockRows, guardProcessRows, guardDuplicateRows,
	} {
		rows = append(rows, group...)
	}
	for _, r := range rows {
		t.Run(fmt.Sprintf("%02d %s", r.number, r.fault), func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			r.prove(t)
			if !t.Failed() {
				fmt.Printf("guard %02d  %-46s %s (%v)\n", r.number, r.fault, r.answer, time.Since(start).Round(time.Millisecond))
			}
		})
	}
}
