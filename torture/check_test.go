package torture

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// TestCheckCost prints how long a guarded call takes on a local Redis. The work returns at
// once, so the whole duration is the cost of the guard (requirement P9: less than 10 ms). The figures
// depend on the machine, so the test asserts only that the work ran once for each key.
func TestCheckCost(t *testing.T) {
	const calls = 2000
	f := newGuardFixture(t, guard.Policy{Name: "cost"})
	f.warmUp(f.guard)
	f.warmUp(f.other)
	for _, c := range []struct {
		name string
		run  func(i int)
	}{
		{"claim and settle", func(i int) { f.do(f.guard, guard.Of("ada", fmt.Sprint(i))) }},
		{"first replay in a process", func(i int) { f.do(f.other, guard.Of("ada", fmt.Sprint(i))) }},
		// The same key again: the process mostly replays from its own cache.
		{"repeated replay in a process", func(int) { f.do(f.other, guard.Of("ada", fmt.Sprint(calls-1))) }},
	} {
		took := make([]time.Duration, calls)
		for i := range took {
			start := time.Now()
			c.run(i)
			took[i] = time.Since(start)
		}
		slices.Sort(took)
		fmt.Printf("P9: %-28s median %v, P99 %v, of %d\n", c.name,
			took[calls/2].Round(time.Microsecond), took[calls*99/100].Round(time.Microsecond), calls)
	}
	f.wantRuns(calls)
}
