package torture

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
)

// maxIdle is how long dead waiters may keep a lock idle. Their queue positions expire
// after five seconds.
const maxIdle = 6 * time.Second

// TestFair queues 200 waiters from four processes on a real Redis. They must get the
// lock in the order of the engine's queue (requirement T1).
func TestFair(t *testing.T) {
	runs := 10
	if testing.Short() {
		runs = 3
	}
	const processes, each = 4, 50
	f := newFixture(t)
	for run := range runs {
		t.Run(fmt.Sprint("run ", run+1), func(t *testing.T) {
			q := f.newQueue(t, job{Do: "queue", Key: fmt.Sprint("fair:", run), Kind: interlock.KindFair, Hold: time.Millisecond})
			for i := range processes {
				q.addWaiters(t, q.start(t, fmt.Sprint(i)), each)
			}
			q.recordQueue(q.waitFor(t, processes*each))
			q.release(t)
			report := q.checkServed(t)
			fmt.Printf("fair: run %d: %v\n", run+1, report)
			if want := processes*each + 1; report.Grants != want {
				t.Errorf("%d grants, want %d", report.Grants, want)
			}
		})
	}
	t.Run("every third waiter is killed", killEveryThirdWaiter)
}

// killEveryThirdWaiter kills a process that owns every third position in the queue.
func killEveryThirdWaiter(t *testing.T) {
	const waiters = 200
	f := newFixture(t)
	q := f.newQueue(t, job{Do: "queue", Key: "fair:killed", Kind: interlock.KindFair, Hold: time.Millisecond})
	doomed := q.start(t, "doomed")
	living := []*worker{q.start(t, "0"), q.start(t, "1"), q.start(t, "2")}
	killed := 0
	for i := range waiters {
		w := living[i%len(living)]
		if i%3 == 2 {
			w = doomed
			killed++
		}
		q.addWaiters(t, w, 1)
		q.waitFor(t, i+1)
	}
	q.recordQueue(q.waitFor(t, waiters))
	q.kill(doomed)
	q.waitFor(t, waiters) // the killed waiters have not expired yet
	q.release(t)
	report := q.checkServed(t)
	fmt.Printf("fair: every third killed: %v\n", report)
	if want := waiters - killed + 1; report.Grants != want {
		t.Errorf("%d grants, want %d", report.Grants, want)
	}
	if report.Gap > maxIdle {
		t.Errorf("the lock was idle for %v, want at most %v", report.Gap, maxIdle)
	}
}
