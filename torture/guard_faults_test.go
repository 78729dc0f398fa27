package torture

import (
	"fmt"
	"testing"
	"time"
)

// TestGuardFaults proves the column "guard" of the fault matrix on a standalone Redis. It
// prints a line for each row. The matrix lists HTTP statuses, which are errors here: 503
// is a *guard.DownError, 409 a *guard.DuplicateError, 422 a *guard.MismatchError, and
// unknown a *guard.UnknownError.
//
// It omits the rows that do not concern guards (3, 13, 22, 36, 37, 40 to 42: locks,
// servers behind a proxy, quorums) and those that need several servers (15 to 20).
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
				fmt.Printf("guard %02d  %-46s %s (%v)\n", r.number, r.fault, r.result, time.Since(start).Round(time.Millisecond))
			}
		})
	}
}
