package torture

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// TestCheckCost prints how long a check takes on a local Redis (P9: less than 10 ms).
// The figures depend on the machine, so the test asserts only that every check ran.
func TestCheckCost(t *testing.T) {
	const checks = 2000
	f := newGuardFixture(t, guard.Policy{Name: "cost"})
	f.warmUp(f.guard)
	f.warmUp(f.other)
	for _, c := range []struct {
		name string
		run  func(i int)
	}{
		{"claim and settle", func(i int) { f.do(f.guard, guard.Of("ada", fmt.Sprint(i))) }},
		{"replay to another process", func(i int) { f.do(f.other, guard.Of("ada", fmt.Sprint(i))) }},
		{"replay to the same process", func(int) { f.do(f.other, guard.Of("ada", fmt.Sprint(checks-1))) }},
	} {
		took := make([]time.Duration, checks)
		for i := range took {
			start := time.Now()
			c.run(i)
			took[i] = time.Since(start)
		}
		slices.Sort(took)
		fmt.Printf("P9: %-28s median %v, P99 %v, of %d\n", c.name,
			took[checks/2].Round(time.Microsecond), took[checks*99/100].Round(time.Microsecond), checks)
	}
	f.wantRuns(checks)
}
