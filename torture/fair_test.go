package torture

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
)

// gap is how long a lock may lie idle because of waiters that died: their places
// are kept for five seconds.
const gap = 6 * time.Second

// TestFair has 200 waiters of four processes in line on a real Redis, and demands
// that they get the lock in the order in which the engine has them (T1).
func TestFair(t *testing.T) {
	runs := 10
	if testing.Short() {
		runs = 3
	}
	const processes, each = 4, 50
	p := newPlace(t)
	for run := range runs {
		t.Run(fmt.Sprint("run ", run+1), func(t *testing.T) {
			q := p.newQueue(t, job{Do: "queue", Key: fmt.Sprint("fair:", run), Kind: interlock.KindFair, Hold: time.Millisecond})
			for i := range processes {
				q.ask(t, q.start(t, fmt.Sprint(i)), each)
			}
			q.note(q.line(t, processes*each))
			q.open(t)
			report := q.served(t)
			fmt.Printf("fair: run %d: %v\n", run+1, report)
			if want := processes*each + 1; report.Grants != want {
				t.Errorf("%d grants, want %d", report.Grants, want)
			}
		})
	}
	t.Run("every third waiter is killed", everyThird)
}

// everyThird kills a process that has every third place in line.
func everyThird(t *testing.T) {
	const waiters = 200
	p := newPlace(t)
	q := p.newQueue(t, job{Do: "queue", Key: "fair:killed", Kind: interlock.KindFair, Hold: time.Millisecond})
	doomed := q.start(t, "doomed")
	living := []*worker{q.start(t, "0"), q.start(t, "1"), q.start(t, "2")}
	killed := 0
	for i := range waiters {
		w := living[i%len(living)]
		if i%3 == 2 {
			w = doomed
			killed++
		}
		q.ask(t, w, 1)
		q.line(t, i+1)
	}
	q.note(q.line(t, waiters))
	q.kill(doomed)
	q.line(t, waiters) // the dead are not known yet
	q.open(t)
	report := q.served(t)
	fmt.Printf("fair: every third killed: %v\n", report)
	if want := waiters - killed + 1; report.Grants != want {
		t.Errorf("%d grants, want %d", report.Grants, want)
	}
	if report.Gap > gap {
		t.Errorf("the lock lay idle for %v", report.Gap)
	}
}
