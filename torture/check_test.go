package torture

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// TestCheckCost prints what a check adds to an operation (P9: less than 10 ms), on
// a Redis of its own on the same machine. A figure is no promise: nothing is
// asserted but that all of it happened.
func TestCheckCost(t *testing.T) {
	const checks = 2000
	p := newPost(t, guard.Policy{Name: "cost"})
	p.know(p.guard)
	p.know(p.other)
	for _, c := range []struct {
		what string
		do   func(i int)
	}{
		{"claim and settle", func(i int) { p.do(p.guard, guard.Of("ada", fmt.Sprint(i))) }},
		{"replay from another process", func(i int) { p.do(p.other, guard.Of("ada", fmt.Sprint(i))) }},
		{"replay in the same process", func(int) { p.do(p.other, guard.Of("ada", fmt.Sprint(checks-1))) }},
	} {
		took := make([]time.Duration, checks)
		for i := range took {
			start := time.Now()
			c.do(i)
			took[i] = time.Since(start)
		}
		slices.Sort(took)
		fmt.Printf("P9: %-28s median %v, P99 %v, of %d\n", c.what,
			took[checks/2].Round(time.Microsecond), took[checks*99/100].Round(time.Microsecond), checks)
	}
	p.wantRuns(checks)
}
